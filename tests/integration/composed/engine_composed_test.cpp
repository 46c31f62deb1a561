// SPDX-License-Identifier: Apache-2.0
#include "support/etcd_server.hpp"
#include "support/redis_server.hpp"
#include "support/two_engines.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

// Two instances behind one gate of two parts: locks in one service, finished results in Redis.
namespace {

using namespace nebis;
using nebis::test::EtcdServer;
using nebis::test::eventually;
using nebis::test::RedisServer;
using nebis::test::Rush;
using nebis::test::TwoEngines;
using nebis::test::ZookeeperServer;

std::shared_ptr<Lock> lock_of(const EtcdServer& server) {
    etcd::Options with;
    with.addresses = server.options().addresses;
    return etcd::lock(with).value();
}

std::shared_ptr<Lock> lock_of(const ZookeeperServer& server) {
    zookeeper::Options with;
    with.addresses = server.options().addresses;
    return zookeeper::lock(with).value();
}

template <class Locks>
class ComposedEngine : public testing::Test {
protected:
    std::shared_ptr<Gate> gate() const {
        redis::Options with;
        with.addresses = {results.address()};
        return compose(lock_of(locks), redis::result_cache(with).value());
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

    Locks locks;
    RedisServer results;
    std::atomic<int> runs{0};
    TwoEngines engines{[this] { return gate(); }};
};

using Services = testing::Types<EtcdServer, ZookeeperServer>;
struct Names {
    template <class Locks>
    static std::string GetName(int) {
        return std::is_same_v<Locks, EtcdServer> ? "etcd" : "zookeeper";
    }
};
TYPED_TEST_SUITE(ComposedEngine, Services, Names);

TYPED_TEST(ComposedEngine, S29_a_duplicate_replays_from_Redis_and_runs_hold_the_lock) {
    const Answer first =
        this->engines.at_one("k", Handler([this](const Request&, Execution&) {
                                 EXPECT_EQ(this->locks.keys(), 1) << "the lock is the service's";
                                 EXPECT_EQ(this->engines.at_two("k", this->handler()).outcome, Outcome::in_progress);
                                 return Response{201, {}, "first", false};
                             }));
    ASSERT_EQ(first.outcome, Outcome::fresh);
    ASSERT_TRUE(this->has_results()) << "the leave isn't waited for";
    EXPECT_TRUE(eventually([&] { return this->locks.keys() == 0; })) << "and is left";
    EXPECT_TRUE(this->is_hit(0));
    const Answer again = this->engines.at_two("k", this->handler());
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response.body, "first");
    EXPECT_TRUE(this->is_hit(1)) << this->engines.metrics_of_two();
    EXPECT_EQ(this->runs, 0);
}

TYPED_TEST(ComposedEngine, without_Redis_the_lock_holds_off_and_the_store_replays) {
    this->results.kill();
    const Answer first =
        this->engines.at_one("k", Handler([this](const Request&, Execution&) {
                                 EXPECT_EQ(this->locks.keys(), 1);
                                 EXPECT_EQ(this->engines.at_two("k", this->handler()).outcome, Outcome::in_progress);
                                 return Response{201, {}, "first", false};
                             }));
    ASSERT_EQ(first.outcome, Outcome::fresh);
    EXPECT_TRUE(eventually([&] { return this->locks.keys() == 0; })) << "it is left all the same";
    EXPECT_EQ(this->engines.at_two("k", this->handler()).response.body, "first");
    EXPECT_EQ(this->runs, 0);
}

TYPED_TEST(ComposedEngine, without_the_lock_service_finished_answers_still_come_from_Redis) {
    ASSERT_EQ(this->engines.at_one("k", this->handler()).outcome, Outcome::fresh);
    ASSERT_TRUE(this->has_results());
    this->locks.kill();
    EXPECT_EQ(this->engines.at_two("k", this->handler()).outcome, Outcome::replayed);
    EXPECT_TRUE(this->is_hit(1)) << this->engines.metrics_of_two();
    EXPECT_EQ(this->engines.at_two("new", this->handler()).outcome, Outcome::fresh) << "fail-open";
    EXPECT_EQ(this->engines.at_one("new", this->handler()).outcome, Outcome::replayed);
    EXPECT_EQ(this->runs, 2);
}

TYPED_TEST(ComposedEngine, S27_either_part_dying_and_hanging_under_load_doubles_nothing_and_blocks_nobody) {
    Rush rush(this->engines);
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
    spoil(this->results);
    spoil(this->locks);
    this->results.kill();  // empty when it is back
    this->results.start();
    EXPECT_TRUE(rush.answers(50));
    rush.stop();
    EXPECT_EQ(rush.doubled(), 0);
    EXPECT_EQ(rush.lost(), 0) << "fail-open: the table does the work";
    EXPECT_LT(rush.slowest(), std::chrono::seconds(10));
}

}  // namespace
