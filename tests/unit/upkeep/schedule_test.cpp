// SPDX-License-Identifier: Apache-2.0
#include "upkeep/cleanup.hpp"
#include "upkeep/recovery.hpp"

#include <gtest/gtest.h>

/// When recovery (S20) and clean-up (S21) are due; no thread, no clock, no store.
namespace nebis::upkeep {
namespace {

TEST(RecoverySchedule, the_first_pass_comes_one_interval_after_the_start) {
    const Recovery recovery({.interval = 1'000}, 5'000);
    EXPECT_FALSE(recovery.due(5'999));
    EXPECT_TRUE(recovery.due(6'000));
}

TEST(RecoverySchedule, a_full_bite_is_followed_by_another_soon_a_short_one_after_the_interval) {
    Recovery recovery({.interval = 1'000, .batch = 10, .pause = 50}, 0);
    recovery.passed(1'000, 10);
    EXPECT_EQ(recovery.next(), 1'050);
    recovery.passed(1'050, 9);
    EXPECT_EQ(recovery.next(), 2'050);
}

TEST(RecoverySchedule, trouble_backs_off_up_to_an_interval_and_success_forgets_it) {
    Recovery recovery({.interval = 1'000, .batch = 10, .pause = 50}, 0);
    Millis last = 0;
    for (int i = 0; i < 10; ++i) {
        recovery.postponed(0);
        EXPECT_GE(recovery.next(), last);
        EXPECT_LE(recovery.next(), 1'000);
        last = recovery.next();
    }
    EXPECT_EQ(last, 1'000);
    recovery.passed(0, 0);
    recovery.postponed(0);
    EXPECT_EQ(recovery.next(), 100);
}

constexpr Millis two_o_clock = 2 * 3'600'000;

TEST(CleanupSchedule, C53_runs_by_the_expression_but_not_right_after_the_start) {
    const auto cron = config::Cron::parse("0 0 2 * * ?").value();
    EXPECT_EQ(Cleanup({.start_grace = 60'000}, cron, 0).next(), two_o_clock);
    // started half a minute before: today's run is left out
    EXPECT_EQ(Cleanup({.start_grace = 60'000}, cron, two_o_clock - 30'000).next(), two_o_clock + 24 * 3'600'000);
}

TEST(CleanupSchedule, C50_small_batches_with_pauses_until_one_comes_back_short) {
    Cleanup cleanup({.batch = 500, .pause = 50, .retry = 5'000}, config::Cron::parse("0 0 2 * * ?").value(), 0);
    ASSERT_TRUE(cleanup.due(two_o_clock));
    cleanup.cleaned(two_o_clock, 500);
    EXPECT_EQ(cleanup.next(), two_o_clock + 50);
    cleanup.failed(two_o_clock + 50);
    EXPECT_EQ(cleanup.next(), two_o_clock + 5'050);
    cleanup.cleaned(two_o_clock + 5'050, 499);
    EXPECT_EQ(cleanup.next(), two_o_clock + 24 * 3'600'000);
}

}  // namespace
}  // namespace nebis::upkeep
