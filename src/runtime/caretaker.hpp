// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/operation_state.hpp"
#include "runtime/services.hpp"
#include "upkeep/cleanup.hpp"
#include "upkeep/recovery.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace nebis::runtime {

/// Does the scheduled recovery and clean-up of every store that the engine uses. The machines of src/upkeep say when;
/// this one goes to the stores, on a thread of its own or when ticked. **Threads**: safe.
class Caretaker {
public:
    using Clock = std::chrono::steady_clock;
    using FindOperation = std::function<std::shared_ptr<OperationState>(std::string_view name)>;
    using LongestLease = std::function<std::chrono::milliseconds(const StoreLine& store)>;

    /// `find` gives the operation of a recovered record, or null; `longest` the longest lease in use on a store.
    Caretaker(std::shared_ptr<Services> services, FindOperation find, LongestLease longest);
    ~Caretaker() { stop(); }

    void add(std::shared_ptr<StoreLine> store);
    void run_in_background();
    void stop();

    /// What is due; returns when it wants to be called again.
    Clock::time_point tick();
    /// One whole pass, whatever the schedule. How many rows.
    Result<std::size_t> recover_now();
    Result<std::size_t> clean_now();

private:
    struct Care {
        std::shared_ptr<StoreLine> store;
        upkeep::Recovery recovery;
        upkeep::Cleanup cleanup;
    };

    Result<std::size_t> recover(StoreLine& store);
    Result<std::size_t> clean(StoreLine& store);
    void decide(StoreLine& store, const Record& record);
    void loop();

    const std::shared_ptr<Services> services_;
    const FindOperation find_;
    const LongestLease longest_;
    std::mutex working_;  ///< one pass at a time
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Care>> care_;
    bool stopping_ = false;
    std::thread thread_;
};

/// `hooked`: what the coordinator says about an UNKNOWN record of its transaction. Never throws.
Resolution ask_coordinator(TransactionHooks& hooks, const Record& record);

}  // namespace nebis::runtime
