// SPDX-License-Identifier: Apache-2.0
#include "door.hpp"
#include "support/fake_redis.hpp"
#include "support/redis_sentinels.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

// A master, its replica and three Sentinels.
namespace {

using namespace nebis;
using nebis::test::Door;
using nebis::test::eventually;
using nebis::test::FakeRedis;
using nebis::test::granted;
using nebis::test::RedisServer;
using nebis::test::Sentinels;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t locks_in(RedisServer& server) { return server.ask({"KEYS", "idempotent:lock:*"}).elements.size(); }

TEST(RedisSentinel, fault_24_a_failover_is_followed_and_the_old_master_is_not) {
    Sentinels all;
    Door door(all.options());
    ASSERT_TRUE(granted(door.enter("before", 1)));
    EXPECT_EQ(locks_in(all.master()), 1U);
    auto listener = door.gate().watch(std::chrono::steady_clock::now() + seconds(20)).value();

    all.sentinel(0).kill();  // one that is gone is no harm
    all.master().kill();
    std::string last;
    ASSERT_TRUE(eventually([&] {
        const auto started = std::chrono::steady_clock::now();
        const auto out = door.enter("after", 1, seconds(5));
        EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(15));
        if (!out) last = out.error().text();
        return granted(out);
    })) << last;
    EXPECT_FALSE(listener->wait(std::chrono::steady_clock::now() + seconds(20))) << "its server is gone";
    EXPECT_EQ(all.replica().ask({"ROLE"}).elements[0].text, "master");
    EXPECT_EQ(door.enter("after", 2)->kind, EnterOutcome::Kind::held);

    all.master().start();  // it takes itself for the master until a Sentinel tells it better
    Door late(all.options());
    EXPECT_EQ(late.enter("after", 2)->kind, EnterOutcome::Kind::held) << "not asked of the old master";

    const auto unknown = [&] {
        auto with = all.options();
        with.master_name = "nobody";
        return Door(with).enter("k", 1);
    }();
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code(), "redis-master-name");
    EXPECT_EQ(unknown.error().kind(), ErrorKind::misconfigured);
}

std::string naming(const std::string& address) {
    const std::string port = address.substr(address.find(':') + 1);
    return "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n";
}

FakeRedis::Script server_with(std::string role, std::string enter) {
    return [=](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (command[0] == "ROLE") return "*1\r\n$" + std::to_string(role.size()) + "\r\n" + role + "\r\n";
        return command[0].starts_with("EVAL") ? FakeRedis::Says(enter) : FakeRedis::Says();
    };
}

FakeRedis::Script sentinel_naming(std::string address, int epoch = 0) {
    return [=](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (command[0] != "SENTINEL") return {};
        if (command[1] != "MASTER") return naming(address);
        return "*4\r\n$4\r\nname\r\n$1\r\nm\r\n$12\r\nconfig-epoch\r\n$1\r\n" + std::to_string(epoch) + "\r\n";
    };
}

TEST(RedisSentinel, a_Sentinel_that_was_cut_off_is_outvoted) {
    FakeRedis old_master(server_with("master", ":111\r\n")), master(server_with("master", ":222\r\n"));
    const auto rest_by = [&](int epoch_of_one, int epoch_of_two) {
        FakeRedis cut_off(sentinel_naming(old_master.address())), one(sentinel_naming(master.address(), epoch_of_one)),
            two(sentinel_naming(master.address(), epoch_of_two));
        FakeRedis late(sentinel_naming(old_master.address()));
        redis::Options with;
        with.addresses = {cut_off.address(), late.address(), one.address()};
        if (epoch_of_one == 0) with.addresses = {cut_off.address(), one.address(), two.address()};
        with.topology = redis::Topology::sentinel;
        with.connect_timeout = seconds(5);
        return Door(with).enter("k", 1)->remaining_millis;
    };
    EXPECT_EQ(rest_by(0, 0), 222) << "by the number of those that name it";
    EXPECT_EQ(rest_by(1, 0), 222) << "by the newest configuration, when a failover is only just known to one";
    EXPECT_EQ(old_master.connections(), 0);
}

TEST(RedisSentinel, a_master_that_says_it_is_none_is_not_believed_to_be_one) {
    FakeRedis replica(server_with("slave", ":111\r\n"));
    FakeRedis sentinel(sentinel_naming(replica.address(), 1));
    redis::Options with;
    with.addresses = {sentinel.address()};
    with.topology = redis::Topology::sentinel;
    with.connect_timeout = seconds(5);
    const auto out = Door(with).enter("k", 1);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::unavailable);
    EXPECT_EQ(out.error().code(), "redis-failover");
}

}  // namespace
