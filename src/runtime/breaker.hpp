// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace nebis::runtime {

/// Keeps an outage from costing each request its time-out: after `failures` in a row it opens, and answers for the
/// broken part at once; after `open` one request may try again (half-open); its success closes, its failure opens once
/// more. **Threads**: safe.
class Breaker {
public:
    using Clock = std::chrono::steady_clock;
    enum class State : unsigned char { closed, open, half_open };

    Breaker(std::size_t failures, std::chrono::milliseconds open) : threshold_(failures), open_for_(open) {}

    /// May a request go through? In half-open only one may; should that one get lost, another may after `open` again.
    bool allow(Clock::time_point now) {
        if (closed_.load(std::memory_order_acquire)) return true;
        const std::lock_guard lock(mutex_);
        if (state_ == State::closed) return true;
        if (now < next_probe_) return false;
        state_ = State::half_open;
        next_probe_ = now + open_for_;
        return true;
    }

    /// True when this success ended an outage.
    bool succeeded() {
        if (closed_.load(std::memory_order_acquire) && failed_in_a_row_.load(std::memory_order_relaxed) == 0)
            return false;
        const std::lock_guard lock(mutex_);
        failed_in_a_row_.store(0, std::memory_order_relaxed);
        const bool was_away = state_ != State::closed;
        state_ = State::closed;
        closed_.store(true, std::memory_order_release);
        return was_away;
    }

    /// True when this failure opened it.
    bool failed(Clock::time_point now) {
        const std::lock_guard lock(mutex_);
        const std::size_t failed = failed_in_a_row_.load(std::memory_order_relaxed) + 1;
        failed_in_a_row_.store(failed, std::memory_order_relaxed);
        if (state_ == State::closed && failed < threshold_) return false;
        const bool opened = state_ == State::closed;
        state_ = State::open;
        closed_.store(false, std::memory_order_release);
        next_probe_ = now + open_for_;
        return opened;
    }

    State state() const {
        const std::lock_guard lock(mutex_);
        return state_;
    }

private:
    const std::size_t threshold_;
    const std::chrono::milliseconds open_for_;
    std::atomic<bool> closed_{true};  // what the healthy path reads
    std::atomic<std::size_t> failed_in_a_row_{0};
    mutable std::mutex mutex_;
    State state_ = State::closed;
    Clock::time_point next_probe_{};
};

}  // namespace nebis::runtime
