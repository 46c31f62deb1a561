// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <bitset>
#include <chrono>
#include <optional>
#include <string_view>

namespace nebis::config {

/// A schedule of six fields: second minute hour day-of-month month day-of-week; UTC, so no hour is ever missing or
/// doubled.
///
/// Each field takes `*`, `n`, `a-b`, `a,b`, `x/step` (`*/15`, `10/5`, `8-18/2`); months and days of the week take
/// English names (JAN, MON); day of month takes `?` and `L` (the last day), day of week takes `?` and counts 1–7 from
/// Sunday, as Quartz does. When both day fields are restricted, both must fit. A plain value. **Threads**: const use
/// from any thread.
class Cron {
public:
    using Seconds = std::chrono::sys_seconds;

    /// **Errors**: `rejected_input` naming the field and what it may hold.
    static Result<Cron> parse(std::string_view text);

    /// The first fitting second after `time`; empty when there is none within 40 years (30 February).
    std::optional<Seconds> next_after(Seconds time) const;

private:
    std::bitset<60> seconds_;
    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;
    std::bitset<13> months_;
    std::bitset<7> weekdays_;  // 0 is Sunday
    bool last_day_ = false;
};

}  // namespace nebis::config
