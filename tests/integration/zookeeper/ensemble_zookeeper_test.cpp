// SPDX-License-Identifier: Apache-2.0
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

// Three servers, of which some are gone or hang.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::ZookeeperServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

TEST(ZookeeperEnsemble, goes_on_without_one_member_and_answers_in_time_without_two) {
    ZookeeperServer ensemble("zookeeper-cluster");
    auto with = ensemble.options();
    with.connect_timeout = seconds(1);
    const auto lock = ZookeeperServer::lock(with);
    ASSERT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
    for (const auto& member : ensemble.members()) {
        ensemble.kill(member);
        EXPECT_TRUE(eventually([&] { return lock.held("k", 2); })) << "without " << member;
        EXPECT_TRUE(eventually([&] { return lock.acquired("only without " + member, 1); }));
        ensemble.start(member);
    }
    ensemble.kill("zookeeper-cluster-1");
    ensemble.kill("zookeeper-cluster-2");
    EXPECT_TRUE(eventually([&] { return !lock.acquire("k", 2, seconds(60), seconds(1)); }))
        << "a minority decides nothing";
    const auto started = Clock::now();
    EXPECT_FALSE(lock.acquire("k", 2, seconds(60), seconds(1)));
    EXPECT_FALSE(lock.release("k", 1, seconds(1)));
    EXPECT_LT(Clock::now() - started, seconds(10));
    ensemble.start("zookeeper-cluster-1");
    EXPECT_TRUE(eventually([&] { return lock.acquire("k", 2).has_value(); })) << "a majority again";
    EXPECT_TRUE(eventually([&] { return lock.release("k", 1).has_value(); }));
}

TEST(ZookeeperEnsemble, a_member_that_hangs_is_left_within_the_session) {
    ZookeeperServer ensemble("zookeeper-cluster");
    for (const auto& member : ensemble.members()) {
        auto with = ensemble.options();
        with.session_timeout = seconds(6);
        // The one that is asked first hangs; the rest of the list comes after it.
        const auto lock = ZookeeperServer::lock(with);
        ASSERT_TRUE(eventually([&] { return lock.acquired(member, 1); }));
        ensemble.pause(member);
        EXPECT_TRUE(eventually([&] { return lock.held(member, 2); })) << "without " << member;
        ensemble.resume(member);
        EXPECT_TRUE(eventually([&] { return lock.acquire(member, 3).has_value(); }));
    }
}

}  // namespace
