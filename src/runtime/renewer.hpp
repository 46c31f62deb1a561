// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "observe/metrics.hpp"
#include "protocol/lease_book.hpp"
#include "runtime/execution_state.hpp"
#include "runtime/gate_line.hpp"
#include "runtime/store_line.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace nebis::runtime {

/// Keeps the leases of all running attempts of this process alive: whatever is due goes out in one batch per store, and
/// to the gate. A lease that can't be renewed fires its attempt's stop token. Which and when: protocol::LeaseBook.
/// **Threads**: safe.
class Renewer {
public:
    using Clock = std::chrono::steady_clock;

    using Slot = protocol::LeaseBook::Slot;

    explicit Renewer(observe::InstanceMetrics& metrics) : metrics_(metrics) {}
    ~Renewer() { stop(); }

    /// `execution` keeps alive what `store` and `gate` (null: none) belong to.
    Slot add(std::int64_t sent, const protocol::LeaseBook::Terms& terms, std::shared_ptr<ExecutionState> execution,
             StoreLine* store, GateLine* gate);
    void remove(Slot slot);

    /// Renews what is due, waiting for the answers a bounded time. Returns when it wants to be called again.
    Clock::time_point tick();
    /// A thread of its own calls `tick`; it starts with the first lease.
    void run_in_background() { background_ = true; }
    void stop();

private:
    struct Lease {
        std::shared_ptr<ExecutionState> execution;
        StoreLine* store = nullptr;
        GateLine* gate = nullptr;
        bool in_flight = false;
        bool removed = false;  ///< its slot is kept until the answer under way has come
    };
    struct Round;
    void loop();
    void ended(std::int64_t now);

    observe::InstanceMetrics& metrics_;
    std::mutex mutex_;
    std::condition_variable changed_;
    protocol::LeaseBook book_;
    std::vector<Lease> leases_;  // by slot
    std::int64_t wakes_at_ = protocol::LeaseBook::none;
    std::int64_t added_due_ = protocol::LeaseBook::none;  // earliest of those added since the last tick began
    bool background_ = false;
    bool stopping_ = false;
    std::mutex ticking_;  // one round at a time
    std::thread thread_;
};

}  // namespace nebis::runtime
