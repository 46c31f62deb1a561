// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/eventually.hpp"
#include "support/two_engines.hpp"

#include <gtest/gtest.h>

#include <barrier>

/// Two instances, one lock service in front, one record table behind: what every such service must leave true.
namespace nebis::test {

/// `Service` has the server's kill, start, pause and resume, `keys()` (locks that stand), and `gate()` as in
/// production.
template <class Service>
class LockEngine : public testing::Test {
protected:
    bool is_used() const {
        return eventually([&] { return service.keys() > 0; });
    }

    void of_two_at_once_one_runs_and_the_other_is_held_off_by_the_lock() {
        std::atomic<int> runs{0};
        const Handler other([&](const Request&, Execution&) { return ++runs, Response{201, {}, "other", false}; });
        const Answer first = engines.at_one("k", Handler([&](const Request&, Execution&) {
                                                ++runs;
                                                EXPECT_EQ(service.keys(), 1)
                                                    << "the lock stands while the handler runs";
                                                EXPECT_EQ(engines.at_two("k", other).outcome, Outcome::in_progress);
                                                return Response{201, {}, "made", false};
                                            }));
        EXPECT_EQ(first.outcome, Outcome::fresh);
        EXPECT_TRUE(eventually([&] { return service.keys() == 0; })) << "and is left";
        const Answer again = engines.at_two("k", other);
        EXPECT_EQ(again.outcome, Outcome::replayed);
        EXPECT_EQ(again.response.body, "made");
        EXPECT_EQ(runs, 1);
    }

    void races_on_one_key_have_one_effect() {
        for (int round = 0; round < 30; ++round) {
            const std::string key = "k" + std::to_string(round);
            std::atomic<int> runs{0};
            const Handler handler([&](const Request&, Execution&) { return ++runs, Response{201, {}, "made", false}; });
            std::barrier start(2);
            std::thread other([&] {
                start.arrive_and_wait();
                (void)engines.at_two(key, handler);
            });
            start.arrive_and_wait();
            (void)engines.at_one(key, handler);
            other.join();
            EXPECT_EQ(engines.at_one(key, handler).response.body, "made");
            EXPECT_EQ(runs, 1) << key;
        }
    }

    void one_that_dies_and_hangs_under_load_doubles_nothing_and_blocks_nobody() {
        Rush rush(engines);
        for (int round = 0; round < 2; ++round) {
            ASSERT_TRUE(is_used()) << "round " << round;
            ASSERT_TRUE(rush.answers(50));
            service.kill();
            EXPECT_TRUE(rush.answers(100)) << "killed";
            service.start();
            ASSERT_TRUE(is_used());
            service.pause();
            EXPECT_TRUE(rush.answers(100)) << "paused";
            service.resume();
        }
        rush.stop();
        EXPECT_EQ(rush.doubled(), 0);
        EXPECT_EQ(rush.lost(), 0) << "fail-open: the table does the work";
        EXPECT_GT(rush.run(), 100);
        // The budget is three seconds, of which the lock service has a quarter of a second at most.
        EXPECT_LT(rush.slowest(), std::chrono::seconds(10));
        RecordProperty("slowest_millis", std::to_string(rush.slowest().count()));
    }

    void one_that_is_down_at_the_start_stops_nobody() {
        service.kill();
        const TwoEngines late([this] { return service.gate(); });
        std::atomic<int> runs{0};
        const Handler handler([&](const Request&, Execution&) { return ++runs, Response{201, {}, "made", false}; });
        const auto started = std::chrono::steady_clock::now();
        for (int i = 0; i < 20; ++i) {
            const std::string key = "k" + std::to_string(i);
            EXPECT_EQ(late.at_one(key, handler).outcome, Outcome::fresh);
            EXPECT_EQ(late.at_two(key, handler).outcome, Outcome::replayed);
        }
        EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
        EXPECT_EQ(runs, 20);
        service.start();
        EXPECT_TRUE(eventually([&] {
            bool stood = false;
            (void)late.at_one("later" + std::to_string(++runs), Handler([&](const Request&, Execution&) {
                                  stood = service.keys() > 0;
                                  return Response{201, {}, "made", false};
                              }));
            return stood;
        })) << "and is used when it is back";
    }

    Service service;
    TwoEngines engines{[this] { return service.gate(); }};
};

}  // namespace nebis::test
