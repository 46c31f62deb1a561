// SPDX-License-Identifier: Apache-2.0
#include "config/cron.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nebis::config {
namespace {

constexpr std::array<std::string_view, 12> month_names{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> day_names{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct FieldRule {
    std::string_view name;
    int min;
    int max;
    std::span<const std::string_view> names{};  // names[0] stands for min
    bool may_be_open = false;                   // `?`
};

Error fault(const FieldRule& rule, std::string what) {
    return {ErrorKind::rejected_input,
            "the field " + std::string(rule.name) + " " + std::move(what),
            {},
            "six fields, UTC: second minute hour day-of-month month day-of-week, such as 0 0 2 * * ?"};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const auto to = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> found;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
        const auto end = std::min(text.find_first_of(" \t", at), text.size());
        found.push_back(text.substr(at, end - at));
        at = end;
    }
    return found;
}

std::optional<int> number(const FieldRule& rule, std::string_view text) {
    const auto named = std::ranges::find_if(rule.names, [&](std::string_view name) {
        return std::ranges::equal(name, text, {}, {},
                                  [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    });
    if (named != rule.names.end()) return rule.min + static_cast<int>(named - rule.names.begin());
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || text[0] == '-' || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Calls mark(value) for each value that the field's text allows.
template <class Mark>
Result<void> read_field(const FieldRule& rule, std::string_view text, Mark mark) {
    const auto limits = " (" + std::to_string(rule.min) + " to " + std::to_string(rule.max) + ")";
    if (text == "?" && !rule.may_be_open) return fault(rule, "can't be ?; only the two day fields can");
    for (const auto item : split(text, ',')) {
        const auto slash = item.find('/');
        const auto range = item.substr(0, slash);
        int step = 1;
        if (slash != std::string_view::npos) {
            const auto given = number({.name = rule.name, .min = 1, .max = rule.max}, item.substr(slash + 1));
            if (!given || *given < 1)
                return fault(rule, "has a step that is no number from 1 on: '" + std::string(item) + "'");
            step = *given;
        }
        int from = rule.min;
        int to = rule.max;
        if (range != "*" && range != "?") {
            const auto dash = range.find('-');
            const auto first = number(rule, range.substr(0, dash));
            const auto last = dash == std::string_view::npos ? first : number(rule, range.substr(dash + 1));
            if (!first || !last) return fault(rule, "can't be '" + std::string(item) + "'" + limits);
            from = *first;
            to = dash == std::string_view::npos && slash != std::string_view::npos ? rule.max : *last;
            if (from < rule.min || *last > rule.max)
                return fault(rule, "is out of range: '" + std::string(item) + "'" + limits);
            if (from > to) return fault(rule, "has a range that runs backwards: '" + std::string(item) + "'");
        }
        for (int value = from; value <= to; value += step) mark(static_cast<std::size_t>(value));
    }
    return {};
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
    const auto fields = words(text);
    if (fields.size() != 6) {
        std::string what = "a schedule has six fields, this one has " + std::to_string(fields.size());
        if (fields.size() == 5) what += " (put the second first: '0 " + std::string(text) + "')";
        return Error(ErrorKind::rejected_input, what, {},
                     "second minute hour day-of-month month day-of-week, UTC, such as 0 0 2 * * ?");
    }
    if (fields[3] == "?" && fields[5] == "?") {
        return Error(ErrorKind::rejected_input, "only one of the two day fields can be ?", {}, "write * for every day");
    }
    Cron cron;
    const auto into = [](auto& bits) { return [&bits](std::size_t value) { bits.set(value); }; };
    std::vector<Result<void>> results;
    results.push_back(read_field({.name = "second", .min = 0, .max = 59}, fields[0], into(cron.seconds_)));
    results.push_back(read_field({.name = "minute", .min = 0, .max = 59}, fields[1], into(cron.minutes_)));
    results.push_back(read_field({.name = "hour", .min = 0, .max = 23}, fields[2], into(cron.hours_)));
    if (fields[3] == "L" || fields[3] == "l") {
        cron.last_day_ = true;
    } else {
        results.push_back(read_field({.name = "day of month", .min = 1, .max = 31, .may_be_open = true}, fields[3],
                                     into(cron.days_)));
    }
    results.push_back(
        read_field({.name = "month", .min = 1, .max = 12, .names = month_names}, fields[4], into(cron.months_)));
    results.push_back(read_field({.name = "day of week", .min = 1, .max = 7, .names = day_names, .may_be_open = true},
                                 fields[5], [&cron](std::size_t value) { cron.weekdays_.set(value - 1); }));
    for (const auto& result : results) {
        if (!result) return Error(result.error());
    }
    return cron;
}

std::optional<Cron::Seconds> Cron::next_after(Seconds time) const {
    using namespace std::chrono;
    const auto start = time + seconds{1};
    const auto first_day = floor<days>(start);
    // Every date falls on every day of the week within 40 years, the missing leap day of 2100 included.
    const auto last_day = first_day + days{40 * 366};
    for (auto day = first_day; day <= last_day; day += days{1}) {
        const year_month_day date{day};
        if (!months_.test(static_cast<unsigned>(date.month()))) {
            day = sys_days{
                year_month_day_last{date.year(), month_day_last{date.month()}}};  // skip to the end of this month
            continue;
        }
        const bool day_fits = last_day_ ? date == year_month_day_last{date.year(), month_day_last{date.month()}}
                                        : days_.test(static_cast<unsigned>(date.day()));
        if (!day_fits || !weekdays_.test(weekday{day}.c_encoding())) continue;
        const auto since = day == first_day ? start - day : seconds{0};
        const hh_mm_ss clock{since};
        for (auto hour = static_cast<std::size_t>(clock.hours().count()); hour < 24; ++hour) {
            if (!hours_.test(hour)) continue;
            const bool this_hour = hours{hour} == clock.hours();
            for (std::size_t minute = this_hour ? static_cast<std::size_t>(clock.minutes().count()) : 0; minute < 60;
                 ++minute) {
                if (!minutes_.test(minute)) continue;
                const bool this_minute = this_hour && minutes{minute} == clock.minutes();
                for (std::size_t second = this_minute ? static_cast<std::size_t>(clock.seconds().count()) : 0;
                     second < 60; ++second) {
                    if (seconds_.test(second)) return day + hours{hour} + minutes{minute} + seconds{second};
                }
            }
        }
    }
    return std::nullopt;
}

}  // namespace nebis::config
