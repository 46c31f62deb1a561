// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace nebis::runtime {

class Sealing;

/// What an `Execution` points at. Written by the call that runs the attempt and by the renewer, read by handlers on any
/// thread.
///
/// The loss of the lease is sticky: once `lose()` was called, or the monotonic end passed and somebody saw it, nothing
/// brings it back.
struct ExecutionState {
    using Clock = std::chrono::steady_clock;

    std::string key;
    std::string trace_id;
    std::string request_id;
    std::shared_ptr<const std::string> operation;
    Owner owner;
    std::atomic<std::uint64_t> version{0};  ///< set by the runner in `claim: inside`, once the record is inserted
    std::atomic<std::uint32_t> attempt{1};

    /// Monotonic end of the lease, margin taken off. The greatest value means: no lease to lose (`claim: inside`,
    /// unprotected).
    std::atomic<Clock::rep> lease_end{std::numeric_limits<Clock::rep>::max()};

    const Sealing* sealing = nullptr;  ///< of the engine, which outlives this; what a runner writes goes through it

    bool keeps_no_answer = false;  ///< `atomic` with max-response-bytes 0: the record is a tombstone

    std::uint32_t lease_slot = 0;  ///< the renewer's own

    bool holds_lease() noexcept {
        if (lost_.load(std::memory_order_acquire)) return false;
        if (Clock::now().time_since_epoch().count() < lease_end.load(std::memory_order_acquire)) return true;
        lose();
        return false;
    }

    /// Fires the stop token, once and for good.
    void lose() noexcept {
        if (lost_.exchange(true, std::memory_order_acq_rel)) return;
        std::optional<std::stop_source> source;
        {
            const std::lock_guard lock(mutex_);
            source = stop_;
        }
        if (source) source->request_stop();
    }
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }

    /// A later end only: a renewal's reply that arrives late never shortens the lease, and nothing revives a lost one.
    void prolong(Clock::time_point end) noexcept {
        Clock::rep current = lease_end.load(std::memory_order_relaxed);
        const Clock::rep wanted = end.time_since_epoch().count();
        while (current < wanted && !lease_end.compare_exchange_weak(current, wanted, std::memory_order_acq_rel)) {}
    }

    /// Made when first asked for: most handlers never do.
    std::stop_token stop_token() {
        const std::lock_guard lock(mutex_);
        if (!stop_) {
            stop_.emplace();
            if (lost()) stop_->request_stop();
        }
        return stop_->get_token();
    }

private:
    std::atomic<bool> lost_{false};
    std::mutex mutex_;
    std::optional<std::stop_source> stop_;
};

}  // namespace nebis::runtime
