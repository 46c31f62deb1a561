// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Upkeep as machines: when is what due? They hold no thread, clock or store; the runtime ticks them.
namespace nebis::upkeep {

using Millis = std::int64_t;

/// Scheduled recovery (S20): a pass each interval, the first one interval after start-up; a pass that found as much as
/// it may take is followed by another soon, so that a large backlog is worked off in small bites; after an error it
/// waits longer, up to an interval.
class Recovery {
public:
    struct Rules {
        Millis interval = 60'000;
        std::size_t batch = 100;
        Millis pause = 100;  ///< between two bites
    };

    Recovery(const Rules& rules, Millis now) noexcept : rules_(rules), next_(now + rules.interval) {}

    bool due(Millis now) const noexcept { return now >= next_; }
    Millis next() const noexcept { return next_; }

    void passed(Millis now, std::size_t rows) noexcept {
        back_off_ = rules_.pause;
        next_ = now + (rows >= rules_.batch ? rules_.pause : rules_.interval);
    }
    /// The store is away or in its grace: nothing was recovered.
    void postponed(Millis now) noexcept {
        back_off_ = back_off_ * 2 < rules_.interval ? back_off_ * 2 : rules_.interval;
        next_ = now + back_off_;
    }

private:
    Rules rules_;
    Millis next_;
    Millis back_off_ = 100;
};

}  // namespace nebis::upkeep
