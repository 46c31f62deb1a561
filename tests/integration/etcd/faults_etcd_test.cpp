// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"
#include "driver/lock_mark.hpp"
#include "support/etcd_server.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <thread>

// What a real etcd does when it is in trouble, and what the lock makes of it.
namespace {

using namespace nebis;
using nebis::test::EtcdServer;
using nebis::test::eventually;
using nebis::test::LockCalls;
using nebis::test::said;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

TEST(EtcdFaults, killed_it_is_unavailable_at_once_and_back_when_it_is_back) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
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
    EXPECT_LT(Clock::now() - started, seconds(10));
    server.start();
    EXPECT_TRUE(eventually([&] { return lock.held("k", 2); })) << "it forgets nothing";
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_TRUE(lock.acquired("k", 2));
}

TEST(EtcdFaults, paused_longer_than_the_deadline_a_call_ends_at_its_deadline) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    server.pause();
    const auto started = Clock::now();
    EXPECT_EQ(said(lock.acquire("other", 1, seconds(60), milliseconds(300))), "unavailable etcd-timeout")
        << "it didn't come further than the lease";
    const auto released = lock.release("k", 1, milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(10));
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().kind(), ErrorKind::maybe_applied) << released.error().text();
    server.resume();
    EXPECT_TRUE(eventually([&] { return lock.acquired("other", 1); }));
    EXPECT_TRUE(lock.held("other", 2));
}

TEST(EtcdFaults, a_lock_whose_owner_died_lets_another_in_and_vanishes) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1, milliseconds(1'500)));
    const auto started = Clock::now();
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 2, milliseconds(1)); }));
    EXPECT_GE(Clock::now() - started, milliseconds(1'000)) << "not before its time";
    EXPECT_FALSE(*lock.release("k", 1)) << "nor does the dead one disturb";
    EXPECT_TRUE(eventually([&] { return server.keys() == 0 && server.leases() == 0; })) << "nothing piles up in etcd";
}

TEST(EtcdFaults, leases_are_given_back) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_EQ(server.leases(), 1) << "of the one who holds it";
    ASSERT_TRUE(lock.acquired("k", 1)) << "its owner may ask again";
    EXPECT_EQ(server.leases(), 1);
    ASSERT_TRUE(*lock.release("k", 1));
    EXPECT_EQ(server.leases(), 0);
    EXPECT_EQ(server.keys(), 0);
}

TEST(EtcdFaults, renewed_for_longer_than_it_was_taken_it_lives_as_long) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1, milliseconds(500)));  // a lease of two seconds
    ASSERT_TRUE(*lock.renew("k", 1, seconds(60)));
    EXPECT_EQ(server.leases(), 1);
    std::this_thread::sleep_for(seconds(4));
    EXPECT_EQ(server.keys(), 1);
    EXPECT_TRUE(lock.held("k", 2));
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST(EtcdFaults, clocks_that_differ_cost_time_and_no_lock_for_ever) {
    EtcdServer server;
    auto early = server.options(), late = server.options();
    early.clock = [] { return std::chrono::system_clock::now() + hours(1); };
    late.clock = [] { return std::chrono::system_clock::now() - hours(1); };
    ASSERT_TRUE(EtcdServer::lock(early).acquired("k", 1, milliseconds(500)));  // its mark ends in an hour
    EXPECT_TRUE(server.lock().held("k", 2));
    EXPECT_TRUE(eventually([&] { return server.lock().acquired("k", 2); })) << "the lease knows better";
    ASSERT_TRUE(EtcdServer::lock(late).acquired("l", 1));
    EXPECT_TRUE(server.lock().acquired("l", 2)) << "over already, by this clock";
    EXPECT_FALSE(*EtcdServer::lock(late).release("l", 1)) << "so it is lost";
}

TEST(EtcdFaults, restored_to_nothing_locks_are_only_hints) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    const std::string begin = etcd::to_base64("idempotent:lock:"), end = etcd::to_base64("idempotent:lock;");
    server.ask("/v3/kv/deleterange", R"({"key":")" + begin + R"(","range_end":")" + end + R"("})");
    EXPECT_FALSE(*lock.renew("k", 1));
    EXPECT_FALSE(*lock.release("k", 1));
    EXPECT_TRUE(lock.acquired("k", 2));
}

TEST(EtcdFaults, what_others_put_under_a_lock_s_name_is_nobody_s_lock) {
    EtcdServer server;
    const auto lock = server.lock();
    server.put(driver::lock_name("", "k"), "a stranger");
    EXPECT_FALSE(*lock.renew("k", 1));
    EXPECT_TRUE(lock.acquired("k", 1));
    EXPECT_TRUE(lock.held("k", 2));
    server.put(driver::lock_name("", "large"), std::string(600'000, 'x'));
    EXPECT_EQ(said(lock.acquire("large", 1)), "maybe_applied etcd-reply") << "never read to its end";
    EXPECT_TRUE(lock.acquired("next", 1)) << "and nothing of it is taken for the next reply";
}

TEST(EtcdFaults, full_it_is_never_free_and_a_release_drops_its_lock_all_the_same) {
    EtcdServer server;
    const auto lock = server.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    server.ask("/v3/maintenance/alarm", R"({"action":"ACTIVATE","alarm":"NOSPACE"})");
    EXPECT_EQ(said(lock.acquire("other", 1)), "overloaded etcd-space");
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST(EtcdFaults, S38_prefixes_keep_environments_apart) {
    EtcdServer server;
    auto one = server.options(), two = server.options();
    one.key_prefix = "prod:";
    two.key_prefix = "test:";
    ASSERT_TRUE(EtcdServer::lock(one).acquired("k", 1));
    EXPECT_TRUE(EtcdServer::lock(two).acquired("k", 2));
    EXPECT_EQ(server.keys("prod:idempotent:lock:"), 1);
}

// ---- users

/// An etcd with users: root, `shop` with the rights that the README names, and `poor` without any.
class EtcdUsers : public testing::Test {
protected:
    EtcdUsers() {
        const std::string begin = etcd::to_base64("shop:idempotent:lock:"),
                          end = etcd::to_base64("shop:idempotent:lock;");
        for (const char* name : {"root", "shop", "poor"})
            server.ask("/v3/auth/user/add", R"({"name":")" + std::string(name) + R"(","password":"word"})");
        for (const char* name : {"root", "shop"}) {
            server.ask("/v3/auth/role/add", R"({"name":")" + std::string(name) + R"("})");
            server.ask("/v3/auth/user/grant", R"({"user":")" + std::string(name) + R"(","role":")" + name + R"("})");
        }
        server.ask("/v3/auth/role/grant", R"({"name":"shop","perm":{"permType":"READWRITE","key":")" + begin +
                                              R"(","range_end":")" + end + R"("}})");
        server.ask("/v3/auth/enable", "{}");
    }
    etcd::Options as(std::string user, std::string word) const {
        auto options = server.options();
        options.key_prefix = "shop:";
        options.credentials = {std::move(user), std::move(word), {}};
        return options;
    }
    static std::string refusal(const etcd::Options& options) { return said(EtcdServer::lock(options).acquire("r", 1)); }

    EtcdServer server;
};

TEST_F(EtcdUsers, passwords_and_rights) {
    const auto lock = EtcdServer::lock(as("shop", "word"));
    ASSERT_EQ(said(lock.acquire("k", 1)), "granted") << "the rights that the README names are enough";
    EXPECT_TRUE(*lock.renew("k", 1, seconds(200)));
    EXPECT_TRUE(*lock.release("k", 1));
    EXPECT_EQ(refusal(as("shop", "wrong")), "misconfigured etcd-login");
    EXPECT_EQ(refusal(as("nobody", "word")), "misconfigured etcd-login");
    EXPECT_EQ(refusal(as("", "")), "misconfigured etcd-login");
    EXPECT_EQ(refusal(as("poor", "word")), "misconfigured etcd-right");
    auto elsewhere = as("shop", "word");
    elsewhere.key_prefix = "other:";
    EXPECT_EQ(refusal(elsewhere), "misconfigured etcd-right") << "keys of another environment";
    EtcdServer without_users;
    auto useless = without_users.options();
    useless.credentials = {"shop", "word", {}};
    EXPECT_EQ(refusal(useless), "misconfigured etcd-login");
}

TEST_F(EtcdUsers, tokens_that_ended_are_renewed) {
    const auto lock = EtcdServer::lock(as("shop", "word"));
    ASSERT_TRUE(lock.acquired("k", 1));
    server.stop();
    server.start();  // and knows no token any more
    EXPECT_TRUE(eventually([&] { return lock.held("k", 2); }));
    server.ask("/v3/auth/role/add", R"({"name":"another"})", server.token("root", "word"));
    EXPECT_TRUE(*lock.release("k", 1)) << "the users have changed";
}

TEST_F(EtcdUsers, a_password_file_is_read_anew_and_only_when_it_is_private) {
    std::string folder = "/tmp/nebis-etcd-word-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder.data()));
    const std::string file = folder + "/password";
    const auto write = [&](const char* word, mode_t mode) {
        std::ofstream(file) << word << "\n";
        ::chmod(file.c_str(), mode);
    };
    auto options = as("shop", "");
    options.credentials.password_file = file;
    write("word", 0600);
    EXPECT_EQ(refusal(options), "granted");
    write("word", 0644);
    EXPECT_EQ(refusal(options), "misconfigured etcd-password-file");
    server.ask("/v3/auth/user/changepw", R"({"name":"shop","password":"second"})", server.token("root", "word"));
    write("second", 0600);
    EXPECT_EQ(refusal(options), "granted");
    std::system(("rm -r " + folder).c_str());
}

// ---- several members

TEST(EtcdCluster, goes_on_without_one_member_and_answers_in_time_without_two) {
    EtcdServer cluster("etcd-cluster");
    auto with = cluster.options();
    with.connect_timeout = seconds(2);
    const auto lock = EtcdServer::lock(with);
    ASSERT_TRUE(lock.acquired("k", 1));
    for (const auto& member : cluster.members()) {
        cluster.kill(member);
        EXPECT_TRUE(eventually([&] { return lock.held("k", 2); })) << "without " << member;
        EXPECT_TRUE(eventually([&] { return lock.acquired("only without " + member, 1); }));
        cluster.start(member);
    }
    cluster.kill("etcd-cluster-1");
    cluster.kill("etcd-cluster-2");
    const auto started = Clock::now();
    EXPECT_FALSE(lock.acquire("k", 2, seconds(60), seconds(1))) << "a minority decides nothing";
    EXPECT_FALSE(lock.release("k", 1, seconds(1)));
    EXPECT_LT(Clock::now() - started, seconds(10));
    cluster.start("etcd-cluster-1");
    EXPECT_TRUE(eventually([&] { return lock.held("k", 2); }));
    EXPECT_TRUE(eventually([&] { return lock.release("k", 1).has_value(); }));
}

TEST(EtcdCluster, a_member_that_hangs_costs_one_call) {
    EtcdServer cluster("etcd-cluster");
    const auto lock = cluster.lock();
    ASSERT_TRUE(lock.acquired("k", 1));
    cluster.pause("etcd-cluster-1");  // the one that answered
    EXPECT_FALSE(lock.acquire("other", 1, seconds(60), milliseconds(500)));
    EXPECT_TRUE(eventually([&] { return lock.held("k", 2); })) << "the next goes elsewhere";
    cluster.resume("etcd-cluster-1");
}

}  // namespace
