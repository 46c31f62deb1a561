// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "runtime/store_line.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace nebis::runtime {

/// Wakes duplicates that wait for an attempt of another process (S54). One thread per store, which works only while
/// somebody waits: it waits for a word of the gate or a change of the store, looks at the waiters' records in batches,
/// and wakes those whose record is no longer the attempt they wait for. A hint: the waiters' own bounded poll stands
/// behind it. **Threads**: safe.
class ChangeWatch {
public:
    using Wake = std::function<void()>;
    struct Ticket {
        std::string trace_id;
        std::uint64_t number = 0;
    };

    /// `gate` may be null.
    explicit ChangeWatch(std::shared_ptr<StoreLine> store, std::shared_ptr<Gate> gate = nullptr)
        : store_(std::move(store)), gate_(std::move(gate)) {}
    ~ChangeWatch() { stop(); }

    /// `wake` is called at most once, from the watching thread; it must not block.
    Ticket add(std::string_view trace_id, std::uint64_t version, Wake wake);
    /// False: it was called, or is being called.
    bool remove(const Ticket& ticket);
    void stop();

private:
    struct Waiter {
        std::uint64_t version = 0;  ///< of the attempt it waits for; 0: not known
        Wake wake;
    };
    using Waiters = std::multimap<std::string, std::pair<std::uint64_t, Waiter>, std::less<>>;

    void loop();
    bool wait_for_word(Deadline until);
    void look();

    const std::shared_ptr<StoreLine> store_;
    std::shared_ptr<Gate> gate_;       ///< of the thread: null once it said that it tells nobody
    std::unique_ptr<GateWatch> word_;  ///< of the thread
    Deadline next_try_{};              ///< of the thread: for a new `word_` after one failed
    std::mutex mutex_;
    std::condition_variable changed_;
    Waiters waiters_;
    std::uint64_t number_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace nebis::runtime
