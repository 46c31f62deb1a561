// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>

namespace nebis::runtime {

inline std::int64_t millis_of(std::chrono::steady_clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// How far the store's clock is ahead of our monotonic one, from the last reply that told its time. A reply received at
/// r that says n proves that the store's clock at r is at least n; so what we compute is never later than the truth,
/// and a begin's not-after errs on the safe side. **Threads**: safe.
class StoreClock {
public:
    void heard(StoreMillis store_now, std::chrono::steady_clock::time_point received) noexcept {
        if (store_now > 0) ahead_.store(store_now - millis_of(received), std::memory_order_relaxed);
    }
    bool known() const noexcept { return ahead_.load(std::memory_order_relaxed) != unknown; }
    /// 0 while nothing was heard yet.
    StoreMillis at(std::chrono::steady_clock::time_point when) const noexcept {
        const std::int64_t ahead = ahead_.load(std::memory_order_relaxed);
        return ahead == unknown ? 0 : millis_of(when) + ahead;
    }

private:
    static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
    std::atomic<std::int64_t> ahead_{unknown};
};

}  // namespace nebis::runtime
