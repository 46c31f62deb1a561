// SPDX-License-Identifier: Apache-2.0
#include "door.hpp"
#include "faultproxy/fault_proxy.hpp"
#include "locks/redis/scripts.hpp"
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"
#include "nebis/redis.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

// What happens between a gate and its Redis: replies that get lost, come late or in pieces, a network that is gone.
namespace {

using namespace nebis;
using faultproxy::After;
using faultproxy::Counts;
using faultproxy::FaultProxy;
using faultproxy::Faults;
using faultproxy::Way;
using nebis::test::Door;
using nebis::test::eventually;
using nebis::test::granted;
using nebis::test::RedisServer;
using nebis::test::result_of;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Kind = EnterOutcome::Kind;

const std::string& enter_script() { return redis::Scripts::all().enter.sha1; }
const std::string& leave_script() { return redis::Scripts::all().leave.sha1; }

class RedisLostReplies : public testing::Test {
protected:
    redis::Options through_proxy() const {
        redis::Options options;
        options.addresses = {proxy.address()};
        options.connect_timeout = seconds(10);
        return options;
    }
    /// From here on a script is one EVALSHA and one reply.
    void warm(Door& door) {
        ASSERT_TRUE(granted(door.enter("warm", 1)));
        ASSERT_TRUE(*door.leave("warm", 1));
    }
    std::size_t locks() const { return server.ask({"KEYS", "idempotent:lock:*"}).elements.size(); }
    bool lost(std::uint64_t replies) const {
        return proxy.wait_until([&](const Counts& counts) { return counts.lost_replies >= replies; });
    }

    RedisServer server;
    FaultProxy proxy{server.port()};
};

TEST_F(RedisLostReplies, of_an_enter_is_maybe_applied_and_its_owner_alone_goes_on) {
    Door door(through_proxy());
    warm(door);
    std::uint64_t replies = 0;
    for (const After after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(replies);
        proxy.lose_reply_to(enter_script(), after);
        // Kept, the connection stays silent until the deadline; else its end is told at once.
        const auto out = door.enter(key, 1, after == After::keep ? milliseconds(500) : seconds(20));
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << out.error().text();
        ASSERT_TRUE(lost(++replies));
        EXPECT_EQ(locks(), replies) << "it was applied";
        const auto other = door.enter(key, 2);
        EXPECT_TRUE(other && other->kind == Kind::held) << "nobody else gets in";
        EXPECT_TRUE(granted(door.enter(key, 1))) << "its owner does";
    }
}

TEST_F(RedisLostReplies, of_a_batch_leave_every_row_maybe_applied) {
    Door door(through_proxy());
    warm(door);
    proxy.lose_reply_to(enter_script(), After::cut);
    for (const auto& out : door.enter_all({"a", "b", "c"}, 1)) {
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << out.error().text();
    }
    for (const auto& out : door.enter_all({"a", "b", "c"}, 1)) EXPECT_TRUE(granted(out));
}

TEST_F(RedisLostReplies, of_a_leave_is_maybe_applied_and_the_key_is_free_or_finished) {
    Door door(through_proxy());
    warm(door);
    for (const After after : {After::cut, After::reset}) {
        const std::string free = after == After::cut ? "a" : "b", finished = free + " done";
        ASSERT_TRUE(granted(door.enter(free, 1)));
        proxy.lose_reply_to(leave_script(), after);
        auto left = door.leave(free, 1);
        ASSERT_FALSE(left);
        EXPECT_EQ(left.error().kind(), ErrorKind::maybe_applied) << left.error().text();
        EXPECT_TRUE(granted(door.enter(free, 2)));

        const CachedResult kept = result_of(finished);
        ASSERT_TRUE(granted(door.enter(finished, 1)));
        proxy.lose_reply_to(leave_script(), after);
        left = door.leave(finished, 1, &kept);
        ASSERT_FALSE(left);
        EXPECT_EQ(left.error().kind(), ErrorKind::maybe_applied) << left.error().text();
        const auto seen = door.enter(finished, 2);
        EXPECT_TRUE(seen && seen->kind == Kind::finished);
        const auto again = door.leave(finished, 1, &kept);
        ASSERT_TRUE(again);
        EXPECT_FALSE(*again) << "said twice it does no harm: the lock isn't its own any more";
    }
}

TEST_F(RedisLostReplies, a_connection_that_owes_a_reply_is_never_used_again) {
    Door door(through_proxy());
    const CachedResult a = result_of("a", "of a"), b = result_of("b", "of b");
    for (const auto* result : {&a, &b}) {
        ASSERT_TRUE(granted(door.enter(result->trace_id, 1)));
        ASSERT_TRUE(*door.leave(result->trace_id, 1, result));
    }
    ASSERT_EQ(proxy.counts().connections, 1U);
    Faults late;
    late.delay = seconds(60);
    proxy.set(Way::to_client, late);
    const auto out = door.enter("a", 2, milliseconds(300));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << out.error().text();
    proxy.heal();  // and the late reply comes
    const auto next = door.enter("b", 2);
    ASSERT_TRUE(next && next->kind == Kind::finished);
    EXPECT_EQ(next->result->trace_id, "b");
    EXPECT_EQ(next->result->response.body, "of b") << "its own answer";
    EXPECT_EQ(proxy.counts().connections, 2U);
}

TEST_F(RedisLostReplies, in_slices_every_reply_and_request_is_whole) {
    Door door(through_proxy());
    Faults sliced;
    sliced.slice = 1;
    proxy.set(Way::to_client, sliced);
    sliced.slice = 11;
    proxy.set(Way::to_server, sliced);
    const CachedResult kept = result_of("k", "first\r\n$-1\r\n" + std::string(500, 'x') + "\r\nlast");
    ASSERT_TRUE(granted(door.enter("k", 1)));
    const auto other = door.enter("k", 2);
    EXPECT_TRUE(other && other->kind == Kind::held);
    ASSERT_TRUE(*door.leave("k", 1, &kept));
    const auto out = door.enter("k", 2);
    ASSERT_TRUE(out && out->kind == Kind::finished);
    EXPECT_EQ(out->result->response.body, kept.response.body);
    for (const auto& one : door.enter_all({"a", "b", "c"}, 1)) EXPECT_TRUE(granted(one));
    EXPECT_EQ(proxy.counts().connections, 1U);
}

TEST_F(RedisLostReplies, in_a_black_hole_every_call_keeps_its_deadline) {
    Door door(through_proxy());
    warm(door);
    proxy.black_hole(true);
    auto started = Clock::now();
    const auto sent = door.enter("k", 1, milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(8));
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().kind(), ErrorKind::maybe_applied) << sent.error().text();

    started = Clock::now();
    Door stranger(through_proxy());
    const auto never_sent = stranger.enter("k", 1, milliseconds(300));
    EXPECT_LT(Clock::now() - started, seconds(8));
    ASSERT_FALSE(never_sent);
    EXPECT_EQ(never_sent.error().kind(), ErrorKind::unavailable) << "it didn't even log in";
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return granted(door.enter("k", 1)); }));
    // It pauses before it connects again.
    EXPECT_TRUE(eventually([&] {
        const auto out = stranger.enter("k", 2);
        return out && out->kind == Kind::held;
    }));
}

// ---- Engines in front of one store, their Redis behind the proxy

Request request_with(const std::string& key) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.headers = {{"Idempotency-Key", key}};
    return request;
}

class RedisEngineLostReplies : public RedisLostReplies {
protected:
    struct Instance {
        Engine engine;
        Operation operation;
        Answer run(const std::string& key, const Handler& handler) const {
            return engine.run(operation, request_with(key), handler);
        }
    };
    Instance instance(Policy policy = {}) {
        Engine::Parts parts;
        parts.store = store;
        parts.gate = redis::gate(through_proxy()).value();
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        Operation operation = engine.operation(policy).value();
        return {std::move(engine), std::move(operation)};
    }
    Handler counting(std::atomic<int>& runs) const {
        return Handler([&runs](const Request&, Execution&) {
            ++runs;
            return Response{201, {}, "made", false};
        });
    }
    /// Both scripts are known, and no leave is under way.
    void warm(const Instance& at) {
        std::atomic<int> runs{0};
        ASSERT_EQ(at.run("warm", counting(runs)).outcome, Outcome::fresh);
        ASSERT_TRUE(eventually([&] { return locks() == 0; }));
    }

    std::shared_ptr<Store> store = memory::store();
};

TEST_F(RedisEngineLostReplies, of_enters_and_leaves_double_nothing_and_leave_no_lock) {
    const Instance one = instance(), two = instance();
    warm(one);
    constexpr int keys = 30;
    for (int i = 0; i < keys; ++i) {
        const std::string key = "k" + std::to_string(i);
        std::atomic<int> runs{0};
        const Handler handler = counting(runs);
        proxy.lose_reply_to(i % 2 == 0 ? enter_script() : leave_script(), i % 4 < 2 ? After::cut : After::reset);
        EXPECT_EQ(one.run(key, handler).outcome, Outcome::fresh) << "the store does the work";
        ASSERT_TRUE(lost(static_cast<std::uint64_t>(i) + 1));
        // The leave isn't waited for, so its lock may stand a moment longer.
        EXPECT_TRUE(eventually([&] { return two.run(key, handler).outcome == Outcome::replayed; })) << key;
        EXPECT_EQ(one.run(key, handler).response.body, "made");
        EXPECT_EQ(runs, 1) << key;
    }
    EXPECT_TRUE(eventually([&] { return locks() == 0; })) << "whoever entered without knowing has left";
}

TEST_F(RedisEngineLostReplies, a_leave_that_never_arrives_holds_its_key_no_longer_than_the_lease) {
    Policy policy;
    policy.lease = seconds(2);
    const Instance one = instance(policy), two = instance(policy);
    warm(one);
    std::atomic<int> runs{0};
    const Handler handler([&](const Request&, Execution&) {
        ++runs;
        Faults dropping;
        dropping.drop = true;
        proxy.set(Way::to_server, dropping);
        return Response{201, {}, "made", false};
    });
    ASSERT_EQ(one.run("k", handler).outcome, Outcome::fresh);
    ASSERT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.swallowed_bytes > 0; }));
    ASSERT_EQ(locks(), 1U);
    const auto lock = server.ask({"KEYS", "idempotent:lock:*"}).elements.at(0).text;
    EXPECT_LE(server.ask({"PTTL", lock}).integer, 2'000);
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return two.run("k", handler).outcome == Outcome::replayed; }));
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(eventually([&] { return locks() == 0; }));
}

TEST_F(RedisEngineLostReplies, in_a_black_hole_a_request_keeps_its_budget_and_runs_once) {
    Policy policy;
    policy.budget = milliseconds(1'000);
    const Instance one = instance(policy), two = instance(policy);
    warm(one);
    proxy.black_hole(true);
    for (int i = 0; i < 4; ++i) {
        const std::string key = "k" + std::to_string(i);
        std::atomic<int> runs{0};
        const Handler handler = counting(runs);
        const auto started = Clock::now();
        EXPECT_EQ(one.run(key, handler).outcome, Outcome::fresh) << "fail-open";
        EXPECT_EQ(two.run(key, handler).outcome, Outcome::replayed) << "by the store";
        EXPECT_LT(Clock::now() - started, seconds(2 * 1 + 6)) << "two budgets, and room for a busy machine";
        EXPECT_EQ(runs, 1);
    }
    proxy.heal();
    const auto results = [this] { return server.ask({"KEYS", "idempotent:record:*"}).elements.size(); };
    const auto before = results();
    std::atomic<int> runs{0};
    int asked = 0;
    const Handler handler = counting(runs);
    EXPECT_TRUE(eventually([&] {
        one.run("later" + std::to_string(asked++), handler);
        return results() > before;
    })) << "the gate is used again";
    EXPECT_EQ(runs, asked);
}

}  // namespace
