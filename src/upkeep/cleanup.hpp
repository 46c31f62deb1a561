// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/cron.hpp"
#include "upkeep/recovery.hpp"

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>

namespace nebis::upkeep {

/// Scheduled clean-up (S21) by a cron expression, in small batches with pauses, so that it never holds anybody up. A
/// run goes on until a batch comes back short. After start-up it waits a grace, so that a redelivery that was waiting
/// for the process comes first (C53). Times are wall-clock milliseconds, UTC.
class Cleanup {
public:
    struct Rules {
        std::size_t batch = 500;
        Millis pause = 50;
        Millis retry = 5'000;  ///< after an error
        Millis start_grace = 60'000;
    };

    Cleanup(const Rules& rules, config::Cron cron, Millis now)
        : rules_(rules), cron_(cron), not_before_(now + rules.start_grace) {
        plan(now);
    }

    bool due(Millis now) const noexcept { return now >= next_; }
    Millis next() const noexcept { return next_; }

    void cleaned(Millis now, std::size_t rows) {
        if (rows >= rules_.batch)
            next_ = now + rules_.pause;
        else
            plan(now);
    }
    void failed(Millis now) noexcept { next_ = now + rules_.retry; }

private:
    void plan(Millis now) {
        using namespace std::chrono;
        const auto at = cron_.next_after(
            floor<seconds>(sys_time<milliseconds>(milliseconds(now > not_before_ ? now : not_before_))));
        next_ = at ? duration_cast<milliseconds>(at->time_since_epoch()).count() : std::numeric_limits<Millis>::max();
    }

    Rules rules_;
    config::Cron cron_;
    Millis not_before_;
    Millis next_ = 0;
};

}  // namespace nebis::upkeep
