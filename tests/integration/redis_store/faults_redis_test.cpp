// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <optional>
#include <string>
#include <thread>

// What a real Redis does when it is in trouble, and what the store makes of it.
namespace {

using namespace nebis;
using nebis::test::acquired;
using nebis::test::begin_of;
using nebis::test::eventually;
using nebis::test::finish_of;
using nebis::test::is;
using nebis::test::owner_of;
using nebis::test::RedisServer;
using nebis::test::soon;
using nebis::test::store_at;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

const Response made{201, {}, "made", false};

TEST(RedisStoreFaults, scripts_that_are_forgotten_in_mid_run_cost_nothing) {
    RedisServer server;
    std::atomic<int> flushed{0};
    const std::jthread flushing([&](const std::stop_token& over) {
        while (!over.stop_requested()) {
            server.ask({"SCRIPT", "FLUSH"});
            ++flushed;
        }
    });
    const Table table(server);
    for (int i = 0; i < 300; ++i) {
        const std::string number = std::to_string(1000 + i), a = "a" + number, b = "b" + number, c = "c" + number;
        const auto begun = table.begin({begin_of(a), begin_of(b)});
        ASSERT_TRUE(acquired(begun[0]) && acquired(begun[1])) << i;
        const std::vector finishes{finish_of(a, begun[0]->version, made), finish_of(b, begun[1]->version, made)};
        const std::vector begins{begin_of(a, 2), begin_of(b, 2), begin_of(c, 2)};
        std::vector<Result<FinishOutcome>> finished(2, Result<FinishOutcome>(FinishOutcome{}));
        std::vector<Result<BeginOutcome>> started(3, Result<BeginOutcome>(BeginOutcome{}));
        table.session().write(finishes, finished, begins, started, soon());
        for (const auto& one : finished) ASSERT_TRUE(one && one->applied) << i;
        ASSERT_TRUE(is(started[0], Kind::finished) && is(started[1], Kind::finished)) << "a finish counts as first";
        ASSERT_TRUE(acquired(started[2])) << i;
    }
    EXPECT_GT(flushed, 50);
}

TEST(RedisStoreFaults, a_replica_is_refused_at_the_start_and_a_demoted_master_refuses_before_it_writes) {
    RedisServer master, server;
    const Table table(server);
    const auto begun = table.begin("k");
    ASSERT_TRUE(acquired(begun));
    // Demoted by somebody, but cut off from its new master: it keeps what it had.
    server.ask({"CONFIG", "SET", "masterauth", "wrong"});
    server.ask({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    for (const auto& one : table.begin({begin_of("a"), begin_of("b")})) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::unavailable);
        EXPECT_EQ(one.error().code(), "redis-readonly") << one.error().text();
        EXPECT_NE(one.error().hint().find("sentinel"), std::string::npos);
    }
    const auto finished = table.finish(finish_of("k", begun->version, made));
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().kind(), ErrorKind::unavailable) << "surely not applied";
    const auto refused = redis::store(store_at(server.address())).value()->verify(soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "redis-readonly");
    server.ask({"REPLICAOF", "NO", "ONE"});
    EXPECT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
    EXPECT_TRUE(acquired(table.begin("a")));
}

TEST(RedisStoreFaults, while_it_loads_nothing_is_applied_and_afterwards_everything_is_there) {
    RedisServer server({"--key-load-delay", "4000", "--loading-process-events-interval-bytes", "1024"});
    const Table table(server);
    const auto begun = table.begin("k");
    ASSERT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(acquired(table.begin("filler " + std::to_string(i))));
    server.ask({"SAVE"});
    server.kill();
    server.start();
    const auto loading = table.begin("k", 2);
    ASSERT_FALSE(loading);
    EXPECT_EQ(loading.error().kind(), ErrorKind::unavailable);
    EXPECT_EQ(loading.error().code(), "redis-loading") << loading.error().text();
    const auto starting = redis::store(store_at(server.address())).value()->verify(soon());
    EXPECT_TRUE(starting || starting.error().kind() == ErrorKind::unavailable);
    Result<BeginOutcome> after = BeginOutcome{};
    ASSERT_TRUE(eventually([&] { return (after = table.begin("k", 2)).has_value(); }));
    EXPECT_TRUE(is(after, Kind::finished));
    EXPECT_EQ(after->record->response->body, "made");
}

TEST(RedisStoreFaults, a_full_memory_refuses_what_is_new_and_keeps_every_result) {
    RedisServer server({"--maxmemory-policy", "noeviction"});
    const Table table(server);
    const auto running = table.begin({begin_of("done"), begin_of("failed"), begin_of("lapsed"), begin_of("later")});
    for (const auto& one : running) ASSERT_TRUE(acquired(one));
    auto fail = finish_of("failed", running[1]->version, made);
    fail.status = RecordStatus::fail;
    ASSERT_TRUE(table.finish(fail).value().applied);
    ASSERT_EQ(table.renew({{"lapsed", running[2]->version, owner_of(1), 1, false}})[0].value().kind,
              RenewOutcome::Kind::renewed);
    std::this_thread::sleep_for(milliseconds(5));

    server.ask({"CONFIG", "SET", "maxmemory", "1"});
    for (const auto& one : table.begin({begin_of("failed", 2), begin_of("new", 2)})) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::overloaded) << one.error().text();
        EXPECT_EQ(one.error().code(), "redis-oom");
    }
    EXPECT_FALSE(table.find("new").value().record) << "nothing of it was written";
    EXPECT_EQ(table.find("failed").value().record->status, RecordStatus::fail);
    EXPECT_EQ(table.find("failed").value().record->version, running[1]->version);
    const auto rule = table.session().key_rule("order", "digest", false, soon());
    ASSERT_FALSE(rule);
    EXPECT_EQ(rule.error().kind(), ErrorKind::overloaded) << rule.error().text();
    // What runs goes on, and ends with its result.
    EXPECT_EQ(table.renew({{"later", running[3]->version, owner_of(1), 90'000, false}})[0].value().kind,
              RenewOutcome::Kind::renewed);
    EXPECT_TRUE(table.finish(finish_of("done", running[0]->version, made)).value().applied);
    const auto lapsed = table.session().recover({}, soon());
    ASSERT_TRUE(lapsed);
    ASSERT_EQ(lapsed->size(), 1U);
    EXPECT_TRUE(table.finish(finish_of("lapsed", running[2]->version, made)).value().applied) << "settled";
    for (const auto* key : {"done", "lapsed"}) {
        const auto again = table.begin(key, 2);
        ASSERT_TRUE(is(again, Kind::finished)) << key;
        EXPECT_EQ(again->record->response->body, "made");
    }
    EXPECT_TRUE(table.session().purge("failed", running[1]->version, soon()).value());

    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(acquired(table.begin("new", 2)));
    EXPECT_TRUE(acquired(table.begin("failed", 2)));
}

/// What a start says about a Redis with these settings.
std::vector<std::string> cautions_of(const RedisServer& server, int wait_replicas = 0) {
    auto options = store_at(server.address());
    options.wait_replicas = wait_replicas;
    const auto store = redis::store(options).value();
    EXPECT_TRUE(store->verify(soon()));
    return store->cautions();
}

bool says(const std::vector<std::string>& cautions, const std::string& words) {
    return std::ranges::any_of(cautions, [&](const auto& one) { return one.find(words) != std::string::npos; });
}

TEST(RedisStoreFaults, a_Redis_that_evicts_is_refused_and_one_that_may_forget_is_cautioned_about) {
    RedisServer server({"--maxmemory", "100mb"});
    for (const char* policy : {"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"}) {
        server.ask({"CONFIG", "SET", "maxmemory-policy", policy});
        const auto out = redis::store(store_at(server.address())).value()->verify(soon());
        ASSERT_FALSE(out) << policy;
        EXPECT_EQ(out.error().kind(), ErrorKind::misconfigured);
        EXPECT_EQ(out.error().code(), "redis-evicts");
        EXPECT_NE(out.error().text().find(policy), std::string::npos) << out.error().text();
    }
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(says(cautions_of(server), "would evict records")) << "as soon as it gets a limit";
    server.ask({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    EXPECT_FALSE(says(cautions_of(server), "evict"));
    EXPECT_TRUE(says(cautions_of(server), "no append-only file"));
    server.ask({"CONFIG", "SET", "appendonly", "yes"});
    EXPECT_TRUE(says(cautions_of(server), "syncs its append-only file later"));
    server.ask({"CONFIG", "SET", "appendfsync", "always"});
    EXPECT_EQ(cautions_of(server).size(), 0U) << "nothing to be said against it";
    EXPECT_TRUE(says(cautions_of(server, 1), "fewer replicas than `wait-replicas`"));
    RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server.port())});
    ASSERT_TRUE(server.has_replica());
    EXPECT_TRUE(says(cautions_of(server), "before a replica has them"));
    EXPECT_EQ(cautions_of(server, 1).size(), 0U);
}

TEST(RedisStoreFaults, too_few_replicas_leave_everything_in_doubt_until_they_are_back) {
    RedisServer server;
    auto options = store_at(server.address());
    options.wait_replicas = 1;
    options.wait_timeout = milliseconds(300);
    const Table table(options);
    options.wait_timeout = seconds(15);  // for what shall be confirmed on a busy machine, too
    const Table patient(options);
    const auto doubtful = [](const auto& out, ErrorKind kind) {
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().kind(), kind) << out.error().text();
        EXPECT_EQ(out.error().code(), "redis-unconfirmed");
        EXPECT_NE(out.error().hint().find("wait-replicas"), std::string::npos);
    };
    const auto begun = table.begin("k");
    doubtful(begun, ErrorKind::maybe_applied);
    doubtful(table.find("k"), ErrorKind::unavailable);

    RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server.port())});
    ASSERT_TRUE(eventually([&] { return patient.find("k").has_value(); })) << "the replica has it now";
    const auto own = patient.begin("k");
    ASSERT_TRUE(is(own, Kind::in_progress));
    EXPECT_EQ(own->owner, owner_of(1)) << "its begin was applied, and it goes on with it";
    ASSERT_TRUE(patient.finish(finish_of("k", own->version, made)).value().applied);

    const auto second = patient.begin("l");
    ASSERT_TRUE(acquired(second));
    replica.pause();
    doubtful(table.finish(finish_of("l", second->version, made)), ErrorKind::maybe_applied);
    // Another session's write isn't believed either: what a failover may forget must not be told.
    options.wait_timeout = milliseconds(300);
    const Table other(options);
    doubtful(other.find("l"), ErrorKind::unavailable);
    doubtful(other.begin("l", 2), ErrorKind::maybe_applied);
    replica.resume();
    ASSERT_TRUE(eventually([&] { return patient.find("l").has_value(); }));
    EXPECT_EQ(patient.find("l")->record->status, RecordStatus::success);
    EXPECT_TRUE(is(patient.begin("l", 2), Kind::finished));
}

TEST(RedisStoreFaults, paused_beyond_the_deadline_a_batch_is_maybe_applied_in_time) {
    RedisServer server;
    const Table table(server);
    ASSERT_TRUE(acquired(table.begin("before")));
    server.pause();
    const auto started = std::chrono::steady_clock::now();
    const auto out = table.begin({begin_of("a"), begin_of("b")}, nebis::test::in(milliseconds(300)));
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(10));
    server.resume();
    for (const auto& one : out) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::maybe_applied);
    }
    EXPECT_TRUE(eventually([&] {
        const auto own = table.begin("a");
        return is(own, Kind::in_progress) && own->owner == owner_of(1);
    })) << "the same owner finds out what became of it";
}

TEST(RedisStoreFaults, the_rights_that_the_README_names_are_enough_and_each_other_is_missed_by_name) {
    RedisServer server;
    const std::vector<std::string> rights{
        "+@connection",   "+eval",      "+evalsha", "+time", "+exists",     "+get",  "+set",   "+del",
        "+hget",          "+hmget",     "+hset",    "+hdel", "+hgetall",    "+zadd", "+zcard", "+zrem",
        "+zrangebyscore", "+pexpireat", "+persist", "+info", "+config|get", "+role", "+wait"};
    const auto options_with = [&](const std::string& without) {
        static int number = 0;
        const std::string user = "u" + std::to_string(++number);
        std::vector<std::string> words{"ACL", "SETUSER", user, "on", ">word", "~shop:idempotent:*"};
        for (const auto& right : rights)
            if (right != without) words.push_back(right);
        if (without == "+wait") words.emplace_back("-wait");  // it is among those of @connection, too
        server.ask(words);
        server.ask({"SCRIPT", "FLUSH"});  // so that each is sent in full first
        auto options = store_at(server.address());
        options.servers.key_prefix = "shop:";
        options.servers.credentials = {user, "word", {}};
        return options;
    };
    // Every script, and each of its branches that has a command of its own.
    const auto fault_of = [](const redis::StoreOptions& options) -> std::optional<Error> {
        if (auto out = redis::store(options).value()->verify(soon()); !out) return out.error();
        const Table table(options);
        std::optional<Error> fault;
        const auto note = [&](const auto& out) {
            if (!out && !fault) fault = out.error();
            return out.has_value();
        };
        auto begin = begin_of("k");
        begin.request_snapshot = "snapshot";
        auto marked = begin_of("m");
        marked.status = RecordStatus::marked;
        marked.retention_millis = 1;
        const auto begun = table.begin(std::vector{begin, marked, begin_of("p")});
        for (const auto& one : begun)
            if (!note(one)) return fault;
        note(table.renew({{"k", begun[0]->version, owner_of(1), 60'000, false}})[0]);
        note(table.find("k"));
        note(table.session().recover({}, soon()));
        auto fail = finish_of("k", begun[0]->version, made);
        fail.status = RecordStatus::fail;
        fail.response = nullptr;
        note(table.finish(fail));
        note(table.begin("k", 2));
        std::this_thread::sleep_for(milliseconds(5));
        note(table.session().clean({}, soon()));
        note(table.session().purge("p", begun[2]->version, soon()));
        note(table.session().now(soon()));
        note(table.session().key_rule("order", "digest", false, soon()));
        return fault;
    };
    const auto complete = fault_of(options_with(""));
    EXPECT_FALSE(complete) << complete->text();
    for (const auto& right : rights) {
        // Login is everybody's; a master is asked for its role by those who come through Sentinels.
        if (right == "+@connection" || right == "+role") continue;
        auto options = options_with(right);
        options.wait_replicas = right == "+wait" ? 1 : 0;
        const auto fault = fault_of(options);
        if (right == "+config|get") {
            EXPECT_FALSE(fault) << "only a caution";
            continue;
        }
        ASSERT_TRUE(fault) << right << " isn't needed";
        EXPECT_EQ(fault->kind(), ErrorKind::misconfigured) << right << ": " << fault->text();
        if (right == "+eval" || right == "+evalsha" || right == "+info" || right == "+time") continue;
        std::string name = right.substr(1);
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
        EXPECT_NE(fault->detail().find(name), std::string::npos) << right << ": " << fault->text();
    }
    const auto silent = redis::store(options_with("+config|get")).value();
    ASSERT_TRUE(silent->verify(soon()));
    server.ask({"CONFIG", "SET", "appendonly", "yes"});
    ASSERT_TRUE(silent->verify(soon()));
    EXPECT_TRUE(says(silent->cautions(), "couldn't be asked"));
}

}  // namespace
