// SPDX-License-Identifier: Apache-2.0
#include "driver/lock_mark.hpp"
#include "faultproxy/fault_proxy.hpp"
#include "names.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

// What a real ZooKeeper does when it is in trouble, and what the lock makes of it.
namespace {

using namespace nebis;
using faultproxy::FaultProxy;
using nebis::test::eventually;
using nebis::test::LockCalls;
using nebis::test::said;
using nebis::test::ZookeeperClient;
using nebis::test::ZookeeperServer;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

std::string path_of(const std::string& key) { return zookeeper::Names::under("").value().of(key); }

TEST(ZookeeperFaults, killed_it_is_unavailable_at_once_and_back_when_it_is_back) {
    ZookeeperServer server;
    auto with = server.options();
    with.connect_timeout = milliseconds(500);
    const auto lock = ZookeeperServer::lock(with);
    ASSERT_TRUE(eventually([&] { return lock.acquired("k", 1); }));
    server.kill();
    const auto started = Clock::now();
    for (int i = 0; i < 50; ++i) {
        const auto rest = lock.acquire("k", 2);
        ASSERT_FALSE(rest);
        EXPECT_TRUE(rest.error().kind() == ErrorKind::unavailable || rest.error().kind() == ErrorKind::maybe_applied)
            << rest.error().text();
        EXPECT_FALSE(lock.renew("k", 1));
        EXPECT_FALSE(lock.release("k", 1));
    }
    EXPECT_LT(Clock::now() - started, seconds(10)) << "it was waited for once";
    server.start();
    EXPECT_TRUE(eventually([&] { return lock.held("k", 2); })) << "it forgets nothing";
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_TRUE(lock.acquired("k", 2));
}

TEST(ZookeeperFaults, paused_longer_than_the_deadline_a_call_ends_at_its_deadline) {
    ZookeeperServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    server.pause();
    const auto started = Clock::now();
    EXPECT_EQ(said(lock.acquire("other", 1, seconds(60), milliseconds(300))), "maybe_applied zookeeper-timeout");
    const auto released = lock.release("k", 1, milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(10));
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().kind(), ErrorKind::unavailable) << "it came no further than looking";
    server.resume();
    EXPECT_TRUE(eventually([&] { return lock.acquired("other", 1); }));
    EXPECT_TRUE(lock.held("other", 2));
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST(ZookeeperFaults, a_lock_whose_attempt_never_left_lets_another_in_and_vanishes) {
    ZookeeperServer server;
    const auto lock = server.lock(), other = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1, milliseconds(1'500)));
    const auto started = Clock::now();
    EXPECT_TRUE(other.held("k", 2));
    EXPECT_TRUE(eventually([&] { return other.acquired("k", 2, milliseconds(1)); }));
    EXPECT_GE(Clock::now() - started, milliseconds(1'000)) << "not before its time";
    EXPECT_FALSE(*lock.release("k", 1)) << "nor does the late one disturb";
    EXPECT_TRUE(eventually([&] { return server.keys() == 0; })) << "nothing piles up while the instances live";
}

TEST(ZookeeperFaults, a_killed_instance_s_locks_are_free_after_its_session) {
    ZookeeperServer server;
    int told[2];
    ASSERT_EQ(::pipe(told), 0);
    const pid_t instance = ::fork();
    if (instance == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        auto with = server.options();
        with.session_timeout = seconds(2);
        const auto lock = ZookeeperServer::lock(with);
        const char word = lock.acquired("k", 1, hours(1)) ? 'y' : 'n';
        (void)!::write(told[1], &word, 1);
        for (;;) ::pause();
    }
    char word = 0;
    ASSERT_EQ(::read(told[0], &word, 1), 1);
    ASSERT_EQ(word, 'y');
    const auto lock = server.lock();
    EXPECT_TRUE(lock.held("k", 2));
    ::kill(instance, SIGKILL);
    ::waitpid(instance, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 2); })) << "long before its lease is over";
    ::close(told[0]);
    ::close(told[1]);
}

TEST(ZookeeperFaults, an_instance_that_ends_leaves_no_lock) {
    ZookeeperServer server;
    {
        const auto lock = server.lock();
        ASSERT_TRUE(lock.acquired("a", 1));
        ASSERT_TRUE(lock.acquired("b", 1));
        EXPECT_EQ(server.keys(), 2);
    }
    EXPECT_EQ(server.keys(), 0);
}

TEST(ZookeeperFaults, a_session_that_expires_loses_its_locks_and_another_begins) {
    ZookeeperServer server;
    FaultProxy proxy(server.port());
    auto cut_off = server.options();
    cut_off.addresses = {proxy.address()};
    cut_off.session_timeout = seconds(1);
    const auto lock = ZookeeperServer::lock(cut_off), other = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    ASSERT_TRUE(lock.acquired("l", 1));
    proxy.black_hole(true);
    EXPECT_TRUE(eventually([&] { return other.acquired("k", 2); })) << "taken away from who can't be heard";
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return lock.renew("l", 1).has_value(); })) << "a new session";
    EXPECT_FALSE(*lock.renew("l", 1)) << "with its end the locks were lost";
    EXPECT_FALSE(*lock.renew("k", 1));
    EXPECT_FALSE(*lock.release("k", 1)) << "another's by now";
    EXPECT_TRUE(other.held("k", 3));
    EXPECT_TRUE(lock.acquired("l", 1)) << "the new one serves";
    EXPECT_TRUE(*lock.release("l", 1));
}

TEST(ZookeeperFaults, a_connection_lost_for_less_than_the_session_loses_no_lock) {
    ZookeeperServer server;
    FaultProxy proxy(server.port());
    auto with = server.options();
    with.addresses = {proxy.address()};
    const auto lock = ZookeeperServer::lock(with);
    ASSERT_TRUE(lock.acquired("k", 1));
    for (int i = 0; i < 3; ++i) {
        i % 2 ? proxy.reset() : proxy.cut();
        EXPECT_TRUE(eventually([&] {
            const auto renewed = lock.renew("k", 1);
            return renewed && *renewed;
        }));
    }
    EXPECT_TRUE(server.lock().held("k", 2));
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST(ZookeeperFaults, clocks_that_differ_cost_time_and_no_lock_for_ever) {
    ZookeeperServer server;
    auto early = server.options(), late = server.options();
    early.clock = [] { return std::chrono::system_clock::now() + hours(1); };
    late.clock = [] { return std::chrono::system_clock::now() - hours(1); };
    const auto hasty = ZookeeperServer::lock(early), slow = ZookeeperServer::lock(late), lock = server.lock();
    ASSERT_TRUE(hasty.acquired("k", 1, milliseconds(500)));  // its mark ends in an hour
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 2); })) << "its own instance takes it away in time";
    ASSERT_TRUE(slow.acquired("l", 1));
    EXPECT_TRUE(lock.acquired("l", 2)) << "over already, by this clock";
    EXPECT_FALSE(*slow.release("l", 1)) << "so it is lost";
}

TEST(ZookeeperFaults, restored_to_nothing_locks_are_only_hints) {
    ZookeeperServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    ZookeeperClient admin(server.address());
    admin.remove(path_of("k"));
    EXPECT_FALSE(*lock.renew("k", 1));
    EXPECT_FALSE(*lock.release("k", 1));
    admin.remove("/idempotent:lock");
    EXPECT_TRUE(lock.acquired("k", 2)) << "the root is made again";
}

TEST(ZookeeperFaults, what_others_put_under_a_lock_s_name_is_nobody_s_lock) {
    ZookeeperServer server;
    ZookeeperClient stranger(server.address());
    stranger.make("/idempotent:lock");
    const auto lock = server.lock();
    for (const auto& value :
         {std::string(), std::string("a stranger"), std::string(24, '\xFF'), std::string(600'000, 'x')}) {
        stranger.make(path_of("k"), value);
        EXPECT_FALSE(*lock.renew("k", 1));
        EXPECT_FALSE(*lock.release("k", 1));
        EXPECT_TRUE(lock.acquired("k", 1)) << value.size();
        EXPECT_TRUE(lock.held("k", 2));
        EXPECT_TRUE(*lock.release("k", 1));
    }
    stranger.make(path_of("parent"));
    stranger.make(path_of("parent") + "/child");
    EXPECT_EQ(said(lock.acquire("parent", 1)), "misconfigured zookeeper-foreign");
    stranger.make("/mine", {}, true);
    auto below = server.options();
    below.key_prefix = "mine/";
    EXPECT_EQ(said(ZookeeperServer::lock(below).acquire("k", 1)), "misconfigured zookeeper-root");
}

TEST(ZookeeperFaults, S38_prefixes_are_roots_that_keep_environments_apart) {
    ZookeeperServer server;
    for (const char* prefix : {"prod:", "test:", "/shop/prod/", "shop/test/"}) {
        auto with = server.options();
        with.key_prefix = prefix;
        EXPECT_TRUE(ZookeeperServer::lock(with).acquired("k", 1)) << prefix;
    }
    ZookeeperClient admin(server.address());
    EXPECT_EQ(admin.children("/shop"), 2);
    auto with = server.options();
    with.key_prefix = "shop/prod/";
    const auto lock = ZookeeperServer::lock(with);
    ASSERT_TRUE(lock.acquired("k", 1));
    EXPECT_EQ(server.keys("/shop/prod/idempotent:lock"), 1);
    EXPECT_EQ(server.keys("/shop/test/idempotent:lock"), 0);
}

}  // namespace
