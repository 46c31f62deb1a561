// SPDX-License-Identifier: Apache-2.0
#include "config/cron.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace nebis::config {
namespace {

using namespace std::chrono;
using ::testing::HasSubstr;

sys_seconds at(int y, unsigned mo, unsigned d, int h = 0, int mi = 0, int s = 0) {
    return sys_days{year{y} / month{mo} / day{d}} + hours{h} + minutes{mi} + seconds{s};
}

std::string text(sys_seconds time) {
    const auto date = year_month_day{floor<days>(time)};
    const hh_mm_ss clock{time - floor<days>(time)};
    char out[64];
    std::snprintf(out, sizeof out, "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                  static_cast<int>(clock.seconds().count()));
    return out;
}

std::string next(const std::string& schedule, sys_seconds time) {
    const auto cron = Cron::parse(schedule);
    if (!cron) return cron.error().text();
    const auto found = cron->next_after(time);
    return found ? text(*found) : "never";
}

TEST(Cron, default_is_two_o_clock_every_night) {
    EXPECT_EQ(next("0 0 2 * * ?", at(2026, 3, 4, 1, 59, 59)), "2026-03-04 02:00:00");
    EXPECT_EQ(next("0 0 2 * * ?", at(2026, 3, 4, 2, 0, 0)), "2026-03-05 02:00:00");  // strictly after
    EXPECT_EQ(next("0 0 2 * * ?", at(2026, 12, 31, 3)), "2027-01-01 02:00:00");
}

TEST(Cron, there_is_no_daylight_saving) {
    // 2026-03-29 02:00 does not exist in Berlin, 2026-10-25 02:00 twice; UTC has both once.
    EXPECT_EQ(next("0 30 2 * * ?", at(2026, 3, 28, 3)), "2026-03-29 02:30:00");
    EXPECT_EQ(next("0 30 2 * * ?", at(2026, 10, 25, 2, 30)), "2026-10-26 02:30:00");
}

TEST(Cron, steps_lists_and_ranges) {
    EXPECT_EQ(next("*/15 * * * * ?", at(2026, 1, 1, 0, 0, 1)), "2026-01-01 00:00:15");
    EXPECT_EQ(next("0 10/20 * * * ?", at(2026, 1, 1, 0, 30)), "2026-01-01 00:50:00");
    EXPECT_EQ(next("0 0 8-18/5 * * ?", at(2026, 1, 1, 13)), "2026-01-01 18:00:00");
    EXPECT_EQ(next("5,1,3 0 0 1,15 * ?", at(2026, 1, 1, 0, 0, 3)), "2026-01-01 00:00:05");
    EXPECT_EQ(next("5,1,3 0 0 1,15 * ?", at(2026, 1, 1, 0, 0, 5)), "2026-01-15 00:00:01");
}

TEST(Cron, names_and_weekdays) {
    EXPECT_EQ(next("0 0 0 ? * MON", at(2026, 12, 2)), "2026-12-07 00:00:00");
    EXPECT_EQ(next("0 0 0 ? * 1", at(2026, 12, 2)), "2026-12-06 00:00:00");  // Quartz: 1 is Sunday
    EXPECT_EQ(next("0 0 0 ? * mon-fri", at(2026, 12, 4)), "2026-12-07 00:00:00");
    EXPECT_EQ(next("0 0 0 1 JAN,Jul ?", at(2026, 1, 1)), "2026-07-01 00:00:00");
    EXPECT_EQ(next("0 0 0 13 * FRI", at(2026, 3, 14)), "2026-11-13 00:00:00");  // both must fit
}

TEST(Cron, last_day_of_the_month) {
    EXPECT_EQ(next("0 0 0 L * ?", at(2024, 2, 1)), "2024-02-29 00:00:00");
    EXPECT_EQ(next("0 0 0 L * ?", at(2026, 2, 1)), "2026-02-28 00:00:00");
}

TEST(Cron, leap_years) {
    EXPECT_EQ(next("0 0 0 29 2 ?", at(2026, 1, 1)), "2028-02-29 00:00:00");
    EXPECT_EQ(next("0 0 0 29 2 ?", at(2096, 3, 1)), "2104-02-29 00:00:00");  // 2100 is none
    EXPECT_EQ(next("0 0 0 29 FEB SUN", at(2028, 1, 1)), "2032-02-29 00:00:00");
    EXPECT_EQ(next("0 0 0 29 FEB MON", at(2072, 3, 1)), "2112-02-29 00:00:00");  // the longest wait of the calendar
}

TEST(Cron, a_date_that_never_comes_ends_the_search) {
    const auto start = steady_clock::now();
    EXPECT_EQ(next("0 0 0 30 2 ?", at(2026, 1, 1)), "never");
    EXPECT_EQ(next("0 0 0 31 4,6,9,11 ?", at(2026, 1, 1)), "never");
    EXPECT_LT(steady_clock::now() - start, seconds{2});
}

TEST(Cron, every_result_fits_and_none_is_skipped) {
    const auto cron = Cron::parse("0/7 3,9 */5 ? JAN-MAR TUE,SAT");
    ASSERT_TRUE(cron);
    auto time = at(2026, 1, 1);
    auto found = cron->next_after(time);
    for (int i = 0; i < 500; ++i, found = cron->next_after(time)) {
        ASSERT_TRUE(found);
        ASSERT_GT(*found, time);
        const auto day = floor<days>(*found);
        const hh_mm_ss clock{*found - day};
        EXPECT_EQ(clock.seconds().count() % 7, 0);
        EXPECT_TRUE(clock.minutes().count() == 3 || clock.minutes().count() == 9);
        EXPECT_EQ(clock.hours().count() % 5, 0);
        EXPECT_LE(static_cast<unsigned>(year_month_day{day}.month()), 3u);
        EXPECT_TRUE(weekday{day} == Tuesday || weekday{day} == Saturday);
        time = *found;
    }
}

TEST(Cron, bad_schedules_are_refused_with_the_field) {
    const auto refusal = [](const std::string& schedule) {
        const auto cron = Cron::parse(schedule);
        return cron ? "taken: " + schedule : cron.error().text();
    };
    EXPECT_THAT(refusal("0 2 * * ?"), HasSubstr("'0 0 2 * * ?'"));
    EXPECT_THAT(refusal(""), HasSubstr("has 0"));
    EXPECT_THAT(refusal("0 0 2 * * ? 2026"), HasSubstr("has 7"));
    EXPECT_THAT(refusal("60 0 2 * * ?"), HasSubstr("second is out of range"));
    EXPECT_THAT(refusal("0 0 24 * * ?"), HasSubstr("hour is out of range"));
    EXPECT_THAT(refusal("0 0 0 0 * ?"), HasSubstr("day of month is out of range"));
    EXPECT_THAT(refusal("0 0 0 ? 13 *"), HasSubstr("month is out of range"));
    EXPECT_THAT(refusal("0 0 0 ? * 8"), HasSubstr("day of week is out of range"));
    EXPECT_THAT(refusal("0 0 0 ? * ?"), HasSubstr("only one of the two day fields"));
    EXPECT_THAT(refusal("? 0 0 * * ?"), HasSubstr("can't be ?"));
    EXPECT_THAT(refusal("0 0 5-3 * * ?"), HasSubstr("runs backwards"));
    EXPECT_THAT(refusal("0 */0 0 * * ?"), HasSubstr("step"));
    EXPECT_THAT(refusal("0 */x 0 * * ?"), HasSubstr("step"));
    EXPECT_THAT(refusal("0 1, 0 * * ?"), HasSubstr("minute can't be"));
    EXPECT_THAT(refusal("0 -1 0 * * ?"), HasSubstr("minute can't be"));
    EXPECT_THAT(refusal("0 1-2-3 0 * * ?"), HasSubstr("minute can't be"));
    EXPECT_THAT(refusal("0 99999999999 0 * * ?"), HasSubstr("minute can't be"));
    EXPECT_THAT(refusal("0 0 0 1 JANUARY ?"), HasSubstr("month can't be"));
}

}  // namespace
}  // namespace nebis::config
