// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault_proxy.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace nebis::faultproxy {

/// Counts that other threads look at and wait for.
class Tally {
public:
    template <class Step>
    Counts change(Step step) {
        const std::lock_guard lock(mutex_);
        step(counts_);
        changed_.notify_all();
        return counts_;
    }
    Counts now() const {
        const std::lock_guard lock(mutex_);
        return counts_;
    }
    bool wait_until(const std::function<bool(const Counts&)>& holds, std::chrono::milliseconds longest) const {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, longest, [&] { return holds(counts_); });
    }

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Counts counts_;
};

/// A reply that is to be lost.
struct Loss {
    std::string marker;  ///< empty: any request
    After after = After::cut;
    unsigned left = 1;               ///< requests with the marker until it is this one
    std::uint64_t last_request = 0;  ///< which was counted already
};

/// What shall happen. Belongs to the proxy's thread, but the tally.
struct Plan {
    std::array<Faults, 2> faults;
    bool black_hole = false;
    std::vector<Loss> losses;
    Tally tally;

    const Faults& of(Way way) const noexcept { return faults[static_cast<std::size_t>(way)]; }
};

}  // namespace nebis::faultproxy
