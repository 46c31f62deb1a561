// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/fault_proxy.hpp"
#include "names.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

// What happens between a lock and its ZooKeeper: replies that get lost or come in pieces, a network that is gone.
namespace {

using namespace nebis;
using faultproxy::After;
using faultproxy::FaultProxy;
using faultproxy::Faults;
using faultproxy::Way;
using nebis::test::eventually;
using nebis::test::LockCalls;
using nebis::test::said;
using nebis::test::ZookeeperClient;
using nebis::test::ZookeeperServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

std::string path_of(const std::string& key) { return zookeeper::Names::under("").value().of(key); }

std::string number(std::uint32_t value) {
    std::string out;
    for (int i = 3; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
    return out;
}

// As they stand in a request: the kind, then the path. A replacement is a multi whose first part is a removal.
std::string on(std::uint32_t kind, const std::string& key) {
    const std::string path = path_of(key);
    return number(kind) + number(static_cast<std::uint32_t>(path.size())) + path;
}
std::string making(const std::string& key) { return on(1, key); }
std::string removing(const std::string& key) { return on(2, key); }
std::string looking(const std::string& key) { return on(4, key); }
std::string changing(const std::string& key) { return on(5, key); }
std::string replacing(const std::string& key) {
    const std::string path = path_of(key);
    return number(14) + number(2) + std::string(1, '\0') + number(0xFFFFFFFF) +
           number(static_cast<std::uint32_t>(path.size())) + path;
}

class ZookeeperLostReplies : public testing::Test {
protected:
    zookeeper::Options options() const {
        auto options = server.options();
        options.addresses = {proxy.address()};
        return options;
    }
    LockCalls through_proxy() const { return ZookeeperServer::lock(options()); }

    ZookeeperServer server;
    FaultProxy proxy{server.port()};
};

TEST_F(ZookeeperLostReplies, of_an_acquire_is_maybe_applied_and_its_owner_alone_goes_on) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("warm", 1));
    int count = 0;
    for (const After after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(++count);
        proxy.lose_reply_to(making(key), after);
        // Kept, the connection stays silent until the deadline; else its end is told at once.
        const auto rest = lock.acquire(key, 1, seconds(60), after == After::keep ? milliseconds(1'000) : seconds(20));
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << rest.error().text();
        EXPECT_EQ(server.keys(), count + 1) << "it was applied";
        EXPECT_TRUE(eventually([&] { return lock.held(key, 2); })) << "nobody else gets in";
        EXPECT_TRUE(eventually([&] { return lock.acquired(key, 1); })) << "its owner does";
    }
    EXPECT_EQ(proxy.counts().lost_replies, 3U);
}

TEST_F(ZookeeperLostReplies, of_the_root_s_making_is_surely_no_lock) {
    const auto lock = through_proxy();
    const std::string root = "/idempotent:lock";
    proxy.lose_reply_to(number(1) + number(static_cast<std::uint32_t>(root.size())) + root, After::cut);
    const auto rest = lock.acquire("k", 1);
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().kind(), ErrorKind::unavailable) << rest.error().text();
    EXPECT_EQ(server.keys(), 0);
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
}

TEST_F(ZookeeperLostReplies, of_a_look_is_surely_not_applied) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1));
    const auto unavailable = [](const auto& result) {
        return !result && result.error().kind() == ErrorKind::unavailable;
    };
    for (const After after : {After::cut, After::reset}) {
        proxy.lose_reply_to(looking("k"), after);
        EXPECT_TRUE(unavailable(lock.acquire("k", 2)));
        EXPECT_TRUE(eventually([&] { return lock.held("k", 2); }));
        proxy.lose_reply_to(looking("k"), after);
        EXPECT_TRUE(unavailable(lock.renew("k", 1)));
        EXPECT_TRUE(eventually([&] { return lock.held("k", 2); }));
        proxy.lose_reply_to(looking("k"), after);
        EXPECT_TRUE(unavailable(lock.release("k", 1)));
        EXPECT_TRUE(eventually([&] { return lock.held("k", 2); }));
    }
    EXPECT_EQ(proxy.counts().lost_replies, 6U);
}

TEST_F(ZookeeperLostReplies, of_a_renewal_is_maybe_applied) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1, seconds(20)));
    proxy.lose_reply_to(changing("k"), After::cut);
    const auto renewed = lock.renew("k", 1, std::chrono::hours(1));
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().kind(), ErrorKind::maybe_applied) << renewed.error().text();
    EXPECT_GT(*server.lock().acquire("k", 2), 3'000'000) << "it was applied";
    EXPECT_TRUE(eventually([&] { return lock.renew("k", 1).has_value(); }));
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST_F(ZookeeperLostReplies, of_a_take_over_is_maybe_applied_and_both_parts_or_none) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("warm", 1));
    const auto dead = server.lock();
    for (const After after : {After::cut, After::reset}) {
        const std::string key = after == After::cut ? "cut" : "reset";
        ASSERT_TRUE(dead.acquired(key, 2, milliseconds(1)));
        proxy.lose_reply_to(replacing(key), after);
        const auto rest = lock.acquire(key, 1);
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << rest.error().text();
        EXPECT_TRUE(server.lock().held(key, 3));
        EXPECT_TRUE(eventually([&] { return lock.renew(key, 1).has_value(); }));
        EXPECT_TRUE(*lock.renew(key, 1)) << "it was applied";
    }
    EXPECT_EQ(proxy.counts().lost_replies, 2U);
}

TEST_F(ZookeeperLostReplies, of_a_release_is_maybe_applied_and_the_key_is_free) {
    const auto lock = through_proxy();
    for (const After after : {After::cut, After::reset}) {
        ASSERT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
        proxy.lose_reply_to(removing("k"), after);
        const auto released = lock.release("k", 1);
        ASSERT_FALSE(released);
        EXPECT_EQ(released.error().kind(), ErrorKind::maybe_applied) << released.error().text();
        EXPECT_TRUE(eventually([&] { return lock.release("k", 1).has_value(); }));
        EXPECT_FALSE(*lock.release("k", 1)) << "said twice it does no harm";
        EXPECT_TRUE(lock.acquired("k", 2));
        ASSERT_TRUE(*lock.release("k", 2));
    }
}

TEST_F(ZookeeperLostReplies, a_lock_whose_release_never_arrived_vanishes_when_it_is_over) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1, seconds(3)));
    proxy.black_hole(true);
    EXPECT_FALSE(lock.release("k", 1, milliseconds(200)));
    proxy.cut();  // nothing of it gets through
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return server.keys() == 0; })) << "the session lives, the node doesn't";
    EXPECT_TRUE(lock.acquired("k", 2)) << "in the same session";
}

TEST_F(ZookeeperLostReplies, a_connection_that_owes_a_reply_answers_for_nothing_else) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("a", 1));
    Faults late;
    late.delay = seconds(2);
    proxy.set(Way::to_client, late);
    EXPECT_FALSE(lock.acquire("b", 1, seconds(60), milliseconds(300)));
    EXPECT_FALSE(lock.release("a", 1, milliseconds(300)));
    proxy.heal();  // and the late replies come
    EXPECT_TRUE(eventually([&] { return lock.held("b", 2); }));
    EXPECT_TRUE(lock.held("a", 2)) << "it came no further than looking";
    EXPECT_TRUE(*lock.release("a", 1));
}

TEST_F(ZookeeperLostReplies, slow_but_in_time_everything_goes) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("warm", 1));
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

TEST_F(ZookeeperLostReplies, in_slices_every_reply_and_request_is_whole) {
    Faults sliced;
    sliced.slice = 7;
    proxy.set(Way::to_client, sliced);
    proxy.set(Way::to_server, sliced);
    const auto lock = through_proxy();
    EXPECT_TRUE(lock.acquired("k", 1));
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_EQ(proxy.counts().connections, 1U);
}

TEST_F(ZookeeperLostReplies, in_a_black_hole_every_call_keeps_its_deadline) {
    const auto lock = through_proxy();
    ASSERT_TRUE(lock.acquired("k", 1));
    proxy.black_hole(true);
    auto started = Clock::now();
    const auto rest = lock.acquire("other", 1, seconds(60), milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(8));
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << rest.error().text();
    {
        started = Clock::now();
        const auto first = through_proxy().acquire("other", 1, seconds(60), milliseconds(300));
        ASSERT_FALSE(first);
        EXPECT_EQ(said(first), "unavailable zookeeper-connect");
        EXPECT_LT(Clock::now() - started, seconds(20)) << "the end of a session that never was, too";
    }
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
}

}  // namespace
