// SPDX-License-Identifier: Apache-2.0
#include "nebis/redis.hpp"
#include "support/etcd_server.hpp"
#include "support/redis_server.hpp"
#include "support/two_engines.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <functional>

// Two instances behind one gate of two parts: locks in one service, finished results in Redis.
namespace {

using namespace nebis;
using nebis::test::EtcdServer;
using nebis::test::eventually;
using nebis::test::RedisServer;
using nebis::test::Rush;
using nebis::test::Server;
using nebis::test::TwoEngines;
using nebis::test::ZookeeperServer;

/// Where the locks are: a server, what it holds, and a lock as in production.
struct LockService {
    std::shared_ptr<Server> server;
    std::function<std::int64_t()> keys;
    std::function<std::shared_ptr<Lock>()> lock;
};

LockService service_of(const std::string& kind) {
    if (kind == "etcd") {
        const auto server = std::make_shared<EtcdServer>();
        return {server, [server] { return server->keys(); },
                [server] { return etcd::lock({.addresses = server->options().addresses}).value(); }};
    }
    const auto server = std::make_shared<ZookeeperServer>();
    return {server, [server] { return server->keys(); },
            [server] { return zookeeper::lock({.addresses = server->options().addresses}).value(); }};
}

class ComposedEngine : public testing::TestWithParam<const char*> {
protected:
    std::shared_ptr<Gate> gate() const {
        redis::Options with;
        with.addresses = {results.address()};
        return compose(locks.lock(), redis::result_cache(with).value());
    }
    Handler handler() {
        return Handler([this](const Request&, Execution&) { return ++runs, Response{201, {}, "made", false}; });
    }
    bool has_results() const {
        return eventually([&] { return !results.ask({"KEYS", "idempotent:record:*"}).elements.empty(); });
    }
    bool is_hit(int times) const {
        const std::string line = R"(nebis_result_cache_total{cache="gate",result="hit"} )" + std::to_string(times);
        return engines.metrics_of_two().find(line + "\n") != std::string::npos;
    }

    const LockService locks = service_of(GetParam());
    RedisServer results;
    std::atomic<int> runs{0};
    TwoEngines engines{[this] { return gate(); }};
};

INSTANTIATE_TEST_SUITE_P(locks_in, ComposedEngine, testing::Values("etcd", "zookeeper"),
                         [](const auto& at) { return std::string(at.param); });

TEST_P(ComposedEngine, S29_a_duplicate_replays_from_Redis_and_runs_hold_the_lock) {
    const Answer first = engines.at_one("k", Handler([&](const Request&, Execution&) {
                                            EXPECT_EQ(locks.keys(), 1) << "the lock is the service's";
                                            EXPECT_EQ(engines.at_two("k", handler()).outcome, Outcome::in_progress);
                                            return Response{201, {}, "first", false};
                                        }));
    ASSERT_EQ(first.outcome, Outcome::fresh);
    ASSERT_TRUE(has_results()) << "the leave isn't waited for";
    EXPECT_TRUE(eventually([&] { return locks.keys() == 0; })) << "and is left";
    EXPECT_TRUE(is_hit(0));
    const Answer again = engines.at_two("k", handler());
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response.body, "first");
    EXPECT_TRUE(is_hit(1)) << engines.metrics_of_two();
    EXPECT_EQ(runs, 0);
}

TEST_P(ComposedEngine, without_Redis_the_lock_holds_off_and_the_store_replays) {
    results.kill();
    const Answer first = engines.at_one("k", Handler([&](const Request&, Execution&) {
                                            EXPECT_EQ(locks.keys(), 1);
                                            EXPECT_EQ(engines.at_two("k", handler()).outcome, Outcome::in_progress);
                                            return Response{201, {}, "first", false};
                                        }));
    ASSERT_EQ(first.outcome, Outcome::fresh);
    EXPECT_TRUE(eventually([&] { return locks.keys() == 0; })) << "it is left all the same";
    EXPECT_EQ(engines.at_two("k", handler()).response.body, "first");
    EXPECT_EQ(runs, 0);
}

TEST_P(ComposedEngine, without_the_lock_service_finished_answers_still_come_from_Redis) {
    ASSERT_EQ(engines.at_one("k", handler()).outcome, Outcome::fresh);
    ASSERT_TRUE(has_results());
    locks.server->kill();
    EXPECT_EQ(engines.at_two("k", handler()).outcome, Outcome::replayed);
    EXPECT_TRUE(is_hit(1)) << engines.metrics_of_two();
    EXPECT_EQ(engines.at_two("new", handler()).outcome, Outcome::fresh) << "fail-open";
    EXPECT_EQ(engines.at_one("new", handler()).outcome, Outcome::replayed);
    EXPECT_EQ(runs, 2);
}

TEST_P(ComposedEngine, S27_either_part_dying_and_hanging_under_load_doubles_nothing_and_blocks_nobody) {
    Rush rush(engines);
    ASSERT_TRUE(rush.answers(50));
    const auto spoil = [&](auto& part) {
        part.kill();
        EXPECT_TRUE(rush.answers(100)) << "killed";
        part.start();
        EXPECT_TRUE(rush.answers(50));
        part.pause();
        EXPECT_TRUE(rush.answers(100)) << "paused";
        part.resume();
        EXPECT_TRUE(rush.answers(50));
    };
    spoil(results);
    spoil(*locks.server);
    results.kill();  // empty when it is back
    results.start();
    EXPECT_TRUE(rush.answers(50));
    rush.stop();
    EXPECT_EQ(rush.doubled(), 0);
    EXPECT_EQ(rush.lost(), 0) << "fail-open: the table does the work";
    EXPECT_LT(rush.slowest(), std::chrono::seconds(10));
}

}  // namespace
