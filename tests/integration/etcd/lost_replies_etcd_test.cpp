// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/fault_proxy.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <string>

// What happens between a lock and its etcd: replies that get lost or come in pieces, a network that is gone.
namespace {

using namespace nebis;
using faultproxy::After;
using faultproxy::Counts;
using faultproxy::FaultProxy;
using faultproxy::Faults;
using faultproxy::Way;
using nebis::test::EtcdServer;
using nebis::test::eventually;
using nebis::test::LockCalls;
using nebis::test::said;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

class EtcdLostReplies : public testing::Test {
protected:
    LockCalls through_proxy() const {
        auto options = server.options();
        options.addresses = {proxy.address()};
        return EtcdServer::lock(options);
    }

    EtcdServer server;
    FaultProxy proxy{server.port()};
};

TEST_F(EtcdLostReplies, of_an_acquire_is_maybe_applied_and_its_owner_alone_goes_on) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("warm", 1));
    int number = 0;
    for (const After after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(++number);
        proxy.lose_reply_to("/v3/kv/txn", after);
        // Kept, the connection stays silent until the deadline; else its end is told at once.
        const auto rest = lock.acquire(key, 1, seconds(60), after == After::keep ? milliseconds(1'000) : seconds(20));
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << rest.error().text();
        EXPECT_EQ(server.keys(), number + 1) << "it was applied";
        EXPECT_TRUE(lock.held(key, 2)) << "nobody else gets in";
        EXPECT_TRUE(lock.acquired(key, 1)) << "its owner does";
    }
}

TEST_F(EtcdLostReplies, of_a_grant_is_surely_no_lock) {
    const auto lock = through_proxy();
    for (const After after : {After::cut, After::reset}) {
        proxy.lose_reply_to("/v3/lease/grant", after);
        const auto rest = lock.acquire("k", 1);
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().kind(), ErrorKind::unavailable) << rest.error().text();
        EXPECT_EQ(server.keys(), 0);
    }
    EXPECT_EQ(proxy.counts().lost_replies, 2U);
}

TEST_F(EtcdLostReplies, of_a_renewal_is_maybe_applied_at_each_of_its_steps) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1));
    for (const char* step : {"/v3/kv/txn", "/v3/lease/keepalive"}) {
        proxy.lose_reply_to(step, After::cut);
        const auto renewed = lock.renew("k", 1);
        ASSERT_FALSE(renewed) << step;
        EXPECT_EQ(renewed.error().kind(), ErrorKind::maybe_applied) << renewed.error().text();
        EXPECT_TRUE(*lock.renew("k", 1));
    }
    ASSERT_TRUE(lock.acquired("short", 1, milliseconds(2'000)));
    proxy.lose_reply_to("/v3/lease/grant", After::cut);
    const auto longer = lock.renew("short", 1, seconds(60));
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().kind(), ErrorKind::maybe_applied) << longer.error().text();
}

TEST_F(EtcdLostReplies, of_a_release_is_maybe_applied_and_the_key_is_free) {
    const auto lock = through_proxy();
    for (const After after : {After::cut, After::reset}) {
        ASSERT_TRUE(lock.acquired("k", 1));
        proxy.lose_reply_to("/v3/kv/txn", after);
        const auto released = lock.release("k", 1);
        ASSERT_FALSE(released);
        EXPECT_EQ(released.error().kind(), ErrorKind::maybe_applied) << released.error().text();
        EXPECT_FALSE(*lock.release("k", 1)) << "said twice it does no harm";
        EXPECT_TRUE(lock.acquired("k", 2));
        ASSERT_TRUE(*lock.release("k", 2));
    }
    ASSERT_TRUE(lock.acquired("k", 1));
    proxy.lose_reply_to("/v3/lease/revoke", After::cut);
    EXPECT_TRUE(*lock.release("k", 1)) << "the lock is gone; its lease ends by itself";
}

TEST_F(EtcdLostReplies, a_connection_that_owes_a_reply_is_never_used_again) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("a", 1));
    ASSERT_EQ(proxy.counts().connections, 1U);
    Faults late;
    late.delay = seconds(60);
    proxy.set(Way::to_client, late);
    EXPECT_FALSE(lock.release("a", 1, milliseconds(300)));
    proxy.heal();  // and the late reply comes
    EXPECT_TRUE(lock.acquired("b", 1));
    EXPECT_TRUE(lock.held("b", 2));
    EXPECT_EQ(proxy.counts().connections, 2U);
}

TEST_F(EtcdLostReplies, slow_but_in_time_everything_goes) {
    const auto lock = through_proxy();
    Faults slow;
    slow.delay = milliseconds(100);
    proxy.set(Way::to_client, slow);
    proxy.set(Way::to_server, slow);
    EXPECT_TRUE(lock.acquired("k", 1));
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_EQ(proxy.counts().connections, 1U);
}

TEST_F(EtcdLostReplies, in_slices_every_reply_and_request_is_whole) {
    const auto lock = through_proxy();
    Faults sliced;
    sliced.slice = 7;
    proxy.set(Way::to_client, sliced);
    proxy.set(Way::to_server, sliced);
    EXPECT_TRUE(lock.acquired("k", 1));
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_EQ(proxy.counts().connections, 1U);
}

TEST_F(EtcdLostReplies, in_a_black_hole_every_call_keeps_its_deadline) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1));
    proxy.black_hole(true);
    auto started = Clock::now();
    const auto released = lock.release("k", 1, milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(8));
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().kind(), ErrorKind::maybe_applied) << released.error().text();
    started = Clock::now();
    const auto rest = through_proxy().acquire("other", 1, seconds(60), milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(8));
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().kind(), ErrorKind::unavailable) << rest.error().text();
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
}

}  // namespace
