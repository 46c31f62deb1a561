// SPDX-License-Identifier: Apache-2.0
#include "door.hpp"
#include "locks/redis/entry.hpp"
#include "redis_client/script.hpp"
#include "redis_client/slots.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

// Three masters with a replica each.
namespace {

using namespace nebis;
using nebis::test::Cluster;
using nebis::test::Door;
using nebis::test::eventually;
using nebis::test::granted;
using nebis::test::masters;
using nebis::test::nodes;
using nebis::test::RedisServer;
using nebis::test::result_of;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = EnterOutcome::Kind;

std::uint16_t slot_of_key(const std::string& key) {
    return redis::slot_of(redis::tag_of(redis::names_of("", key).lock));
}

std::vector<std::string> many_keys(const std::string& word, int count) {
    std::vector<std::string> keys;
    for (int i = 0; i < count; ++i) keys.push_back(word + std::to_string(i));
    return keys;
}

/// Callers that take and leave locks of few keys, and watch that no two hold one at once.
class Load {
public:
    explicit Load(const redis::Options& options) {
        for (unsigned char who = 1; who <= 4; ++who)
            threads_.emplace_back([this, options, who] {
                Door door(options);
                for (unsigned turn = who; !stopping_; turn += 7) work(door, who, turn % key_count);
            });
    }
    ~Load() { stop(); }
    void stop() {
        stopping_ = true;
        for (auto& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    int entered() const { return entered_; }
    int together() const { return together_; }
    int other_errors() const { return other_errors_; }
    std::string last_error() {
        const std::lock_guard lock(mutex_);
        return last_error_;
    }

private:
    static constexpr unsigned key_count = 50;

    void work(Door& door, unsigned char who, unsigned number) {
        const std::string key = "load" + std::to_string(number);
        const auto out = door.enter(key, who, seconds(5));
        if (!out) {
            const std::lock_guard lock(mutex_);
            last_error_ = out.error().text();
            if (out.error().kind() != ErrorKind::unavailable && out.error().kind() != ErrorKind::maybe_applied)
                ++other_errors_;
            return;
        }
        if (out->kind != Kind::granted) return;
        ++entered_;
        // What was entered twice by the same owner, because a leave failed, is one holder still.
        const int before = holders_[number].exchange(who);
        if (before != 0 && before != who) ++together_;
        std::this_thread::yield();
        holders_[number].exchange(0);
        for (int i = 0; i < 50 && !door.leave(key, who); ++i) std::this_thread::sleep_for(milliseconds(5));
    }

    std::atomic<bool> stopping_{false};
    std::atomic<int> entered_{0}, together_{0}, other_errors_{0};
    std::array<std::atomic<int>, key_count> holders_{};
    std::mutex mutex_;
    std::string last_error_;
    std::vector<std::thread> threads_;
};

TEST(RedisCluster, batches_are_split_by_node_resharding_and_failover_are_followed) {
    Cluster cluster;
    Door door(cluster.options());

    // A batch over all nodes; each result comes back from where it was left.
    const auto keys = many_keys("k", 64);
    for (const auto& out : door.enter_all(keys, 1)) EXPECT_TRUE(granted(out));
    for (const auto& out : door.enter_all(keys, 2)) EXPECT_EQ(out->kind, Kind::held);
    for (const auto& key : keys) {
        const CachedResult kept = result_of(key, key);
        EXPECT_TRUE(*door.leave(key, 1, &kept));
    }
    const auto found = door.enter_all(keys, 3);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(found[i]->kind, Kind::finished);
        EXPECT_EQ(found[i]->result->response.body, keys[i]);
    }
    for (std::size_t i = 0; i < masters; ++i)
        EXPECT_FALSE(cluster.node(i).ask({"KEYS", "*"}).elements.empty()) << "node " << i << " has its part";

    // A slot half moved: MOVED for what is elsewhere, ASK for what isn't there any more, TRYAGAIN in between.
    const std::string key = "moving";
    const std::uint16_t slot = slot_of_key(key);
    const auto map = cluster.map();
    RedisServer& from = cluster.at(map.owner(slot)->text());
    std::size_t target = 0;
    while (&cluster.node(target) == &from) ++target;
    RedisServer& to = cluster.node(target);
    const std::string from_id = from.ask({"CLUSTER", "MYID"}).text, number = std::to_string(slot);
    to.ask({"CLUSTER", "SETSLOT", number, "IMPORTING", from_id});
    from.ask({"CLUSTER", "SETSLOT", number, "MIGRATING", to.ask({"CLUSTER", "MYID"}).text});
    const auto moving = door.enter(key, 1);
    ASSERT_FALSE(moving);
    EXPECT_EQ(moving.error().kind(), ErrorKind::unavailable) << "never `free`: " << moving.error().text();
    for (RedisServer* const one : {&to, &from})
        one->ask({"CLUSTER", "SETSLOT", number, "NODE", to.ask({"CLUSTER", "MYID"}).text});
    EXPECT_TRUE(granted(door.enter(key, 1))) << "MOVED is followed";
    EXPECT_EQ(door.enter(key, 2)->kind, Kind::held);

    {
        Load load(cluster.options());
        ASSERT_TRUE(eventually([&] { return load.entered() > 200; })) << load.last_error();
        for (const auto& [giver, taker] : {std::pair{0, 1}, std::pair{2, 0}}) {
            const auto g = static_cast<std::size_t>(giver), t = static_cast<std::size_t>(taker);
            // redis-cli moves nothing while the nodes have not yet told each other of the move before.
            ASSERT_TRUE(
                eventually([&] { return Cluster::run("redis-cli --cluster check " + cluster.node(0).address()); }));
            EXPECT_TRUE(Cluster::run("redis-cli --cluster reshard " + cluster.node(0).address() + " --cluster-from " +
                                     cluster.id(g) + " --cluster-to " + cluster.id(t) +
                                     " --cluster-slots 500 --cluster-yes"));
        }
        const int before = load.entered();
        EXPECT_TRUE(eventually([&] { return load.entered() > before + 200; })) << load.last_error();
        load.stop();
        EXPECT_EQ(load.together(), 0) << "no two held one key while slots moved";
        EXPECT_EQ(load.other_errors(), 0) << load.last_error();
    }

    // A master dies: the rows of the others keep their answers, and its own come back with its replica.
    Load load(cluster.options());
    ASSERT_TRUE(eventually([&] { return load.entered() > 100; })) << load.last_error();
    const auto before = cluster.map();
    const std::string dead = cluster.node(0).address();
    cluster.node(0).kill();
    const auto fresh = many_keys("fresh", 64);
    const auto entered = door.enter_all(fresh, 1, seconds(2));
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (before.owner(slot_of_key(fresh[i]))->text() != dead)
            EXPECT_TRUE(granted(entered[i])) << fresh[i];
        else
            EXPECT_FALSE(entered[i]) << fresh[i];
    }
    EXPECT_TRUE(eventually([&] {
        for (const auto& out : door.enter_all(fresh, 1, seconds(2)))
            if (!granted(out)) return false;
        return true;
    })) << "its replica serves its slots";
    const int then = load.entered();
    EXPECT_TRUE(eventually([&] { return load.entered() > then + 200; })) << load.last_error();
    load.stop();
    EXPECT_EQ(load.other_errors(), 0) << load.last_error();

    // Messages reach listeners at every node.
    auto listener = door.gate().watch(std::chrono::steady_clock::now() + seconds(20)).value();
    for (const auto& one : fresh) EXPECT_TRUE(*door.leave(one, 1));
    EXPECT_TRUE(*listener->wait(std::chrono::steady_clock::now() + seconds(20)));
}

TEST(RedisCluster, one_that_is_none_and_one_that_is_not_said_to_be) {
    RedisServer alone;
    redis::Options with;
    with.addresses = {alone.address()};
    with.topology = redis::Topology::cluster;
    with.connect_timeout = seconds(5);
    const auto out = Door(with).enter("k", 1);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::misconfigured) << out.error().text();
}

}  // namespace
