// SPDX-License-Identifier: Apache-2.0
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"
#include "nebis/redis.hpp"
#include "support/order_request.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>

// A rolling upgrade from version 1 (S40, `v1-compat`): instances of both on one Redis keep each other out.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::order_request;
using nebis::test::RedisServer;
using std::chrono::milliseconds;
using testing::HasSubstr;

/// What version 1 of the article's component does: SETNX with a time limit, the handler, DEL. No table, no owner check.
class VersionOne {
public:
    explicit VersionOne(const RedisServer& redis) : redis_(redis) {}

    /// False: told "repeated request".
    template <class Run>
    bool handle(const std::string& key, Run run) const {
        const std::string name = "idempotent:" + key;
        if (redis_.ask({"SET", name, "request-1", "NX", "EX", "10"}).text != "OK") return false;
        run();
        redis_.ask({"DEL", name});
        return true;
    }

private:
    const RedisServer& redis_;
};

class V1Compat : public testing::Test {
protected:
    Engine instance(bool compat = true) const {
        Engine::Parts parts;
        parts.store = store_;
        redis::Options with;
        with.addresses = {redis_.address()};
        with.v1_compat = compat;
        with.key_prefix = "shop:";
        parts.gate = redis::gate(with).value();
        parts.configuration = "nebis: {idempotent: {local-cache-millis: 0}}";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }
    static Policy policy() {
        Policy policy;
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        policy.scope = Scope::shared;
        policy.fail_open = false;
        policy.budget = milliseconds(5'000);
        return policy;
    }
    static Operation order(const Engine& engine) { return engine.operation(policy()).value(); }
    Handler handler() {
        return Handler([this](const Request&, Execution&) {
            return Response{201, {}, std::to_string(++runs_), false};
        });
    }
    std::string lock_of(const std::string& key) const { return redis_.ask({"GET", "idempotent:" + key}).text; }
    std::int64_t rest_of(const std::string& key) const { return redis_.ask({"PTTL", "idempotent:" + key}).integer; }

    RedisServer redis_;
    std::shared_ptr<Store> store_ = memory::store();
    std::atomic<int> runs_{0};
};

TEST_F(V1Compat, S40_what_version_1_works_on_is_in_progress_here) {
    const Engine engine = instance();
    const Operation operation = order(engine);
    const VersionOne old(redis_);
    EXPECT_TRUE(old.handle("key", [&] {
        const Answer answer = engine.run(operation, order_request("key"), handler());
        EXPECT_EQ(answer.outcome, Outcome::in_progress);
        EXPECT_GT(answer.retry_after.count(), 0);
    }));
    EXPECT_EQ(runs_, 0);
    EXPECT_EQ(engine.run(operation, order_request("key"), handler()).outcome, Outcome::fresh)
        << "Nebis' own lock was left";
    EXPECT_EQ(runs_, 1);
}

TEST_F(V1Compat, S40_version_1_is_kept_out_while_we_run_and_for_as_long_as_a_result_is_kept) {
    const Engine engine = instance();
    const Operation operation = order(engine);
    const VersionOne old(redis_);
    int theirs = 0;
    const Handler slow([&](const Request&, Execution&) {
        EXPECT_FALSE(old.handle("key", [&] { ++theirs; }));
        EXPECT_GT(rest_of("key"), 0);
        return Response{201, {}, "ours", false};
    });
    EXPECT_EQ(engine.run(operation, order_request("key"), slow).outcome, Outcome::fresh);
    ASSERT_TRUE(eventually([&] { return lock_of("key") == "nebis:done"; }));
    EXPECT_GT(rest_of("key"), 60'000) << "longer than a lease";
    EXPECT_FALSE(old.handle("key", [&] { ++theirs; })) << "done";
    EXPECT_EQ(theirs, 0);
    const Engine another = instance();
    EXPECT_EQ(another.run(order(another), order_request("key"), handler()).response.body, "ours");
    EXPECT_EQ(runs_, 0);
}

TEST_F(V1Compat, S40_a_failed_attempt_gives_version_1_s_lock_back) {
    const Engine engine = instance();
    const Handler failing([](const Request&, Execution&) -> Response { throw std::runtime_error("no stock"); });
    EXPECT_TRUE(engine.run(order(engine), order_request("key"), failing).failure);
    ASSERT_TRUE(eventually([&] { return rest_of("key") == -2; }));
    int theirs = 0;
    EXPECT_TRUE(VersionOne(redis_).handle("key", [&] { ++theirs; }));
    EXPECT_EQ(theirs, 1);
}

TEST_F(V1Compat, S40_a_fleet_of_both_never_works_on_one_key_together) {
    constexpr int keys = 60;
    std::array<std::atomic<int>, keys> inside{};
    std::atomic<int> together{0}, theirs{0}, wrong{0};
    const auto work = [&](int key) {
        if (inside[static_cast<std::size_t>(key)]++ != 0) ++together;
        std::this_thread::sleep_for(milliseconds(3));
        --inside[static_cast<std::size_t>(key)];
    };
    const Engine one = instance(), two = instance();
    const std::array<Operation, 2> operations{order(one), order(two)};
    const VersionOne old(redis_);
    const auto ours = [&](const Engine& engine, const Operation& operation, int from) {
        for (int i = 0; i < 3 * keys; ++i) {
            const int key = (from + i) % keys;
            const Answer answer = engine.run(operation, order_request("k-" + std::to_string(key)),
                                             Handler([&](const Request&, Execution&) {
                                                 ++runs_;
                                                 work(key);
                                                 return Response{201, {}, "ours", false};
                                             }));
            const bool right = answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed ||
                               answer.outcome == Outcome::in_progress;
            if (!right) ++wrong;
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] { ours(one, operations[0], 7 * t); });
        threads.emplace_back([&, t] { ours(two, operations[1], 11 * t); });
        threads.emplace_back([&, t] {
            for (int i = 0; i < 3 * keys; ++i) {
                const int key = (13 * t + i) % keys;
                if (old.handle("k-" + std::to_string(key), [&] { work(key); })) ++theirs;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(together, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(theirs, 0) << "both had their share";
    EXPECT_GT(runs_, 0);
    EXPECT_LE(runs_, keys) << "among instances of Nebis the table decides: once";
}

TEST_F(V1Compat, S40_without_Redis_nothing_runs) {
    const Engine engine = instance();
    const Operation operation = order(engine);
    redis_.kill();
    EXPECT_EQ(engine.run(operation, order_request("key"), handler()).outcome, Outcome::unavailable);
    EXPECT_EQ(runs_, 0);
    redis_.start();
    EXPECT_TRUE(
        eventually([&] { return engine.run(operation, order_request("key"), handler()).outcome == Outcome::fresh; }));
    EXPECT_EQ(runs_, 1);
}

TEST_F(V1Compat, S40_an_operation_that_would_run_without_Redis_is_refused) {
    const Engine engine = instance();
    Policy open = policy();
    open.fail_open = true;
    const auto refused = engine.operation(open);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "fail-open-beside-others");
    EXPECT_THAT(refused.error().text(), HasSubstr("fail-open: false"));
    EXPECT_TRUE(instance(false).operation(open)) << "without version 1 nothing keeps it from that";
    redis::Options with;
    with.v1_compat = true;
    EXPECT_EQ(redis::lock(with).error().code(), "redis-setting") << "never silently without it";
}

TEST_F(V1Compat, S40_what_else_stands_there_is_neither_taken_nor_waited_for_for_ever) {
    const Engine engine = instance();
    const Operation operation = order(engine);
    redis_.ask({"SET", "idempotent:left", "request-1"});  // version 1 died between SETNX and EXPIRE
    const Answer left = engine.run(operation, order_request("left"), handler());
    EXPECT_EQ(left.outcome, Outcome::in_progress);
    EXPECT_EQ(lock_of("left"), "request-1");
    EXPECT_EQ(rest_of("left"), -1);
    redis_.ask({"DEL", "idempotent:left"});  // what `nebis v1 clean` does
    EXPECT_EQ(engine.run(operation, order_request("left"), handler()).outcome, Outcome::fresh);

    redis_.ask({"LPUSH", "idempotent:list", "somebody's"});  // version 1 can't lock that name either
    EXPECT_EQ(engine.run(operation, order_request("list"), handler()).outcome, Outcome::fresh);
    EXPECT_EQ(redis_.ask({"LLEN", "idempotent:list"}).integer, 1);
}

TEST_F(V1Compat, S40_a_long_handler_s_lock_is_renewed) {
    const Engine engine = instance();
    Policy short_lease = policy();
    short_lease.lease = milliseconds(1'500);
    short_lease.budget = milliseconds(700);
    int theirs = 0;
    const Handler slow([&](const Request&, Execution&) {
        std::this_thread::sleep_for(milliseconds(3'500));
        EXPECT_FALSE(VersionOne(redis_).handle("key", [&] { ++theirs; }));
        return Response{201, {}, "ours", false};
    });
    EXPECT_EQ(engine.run(engine.operation(short_lease).value(), order_request("key"), slow).outcome, Outcome::fresh);
    EXPECT_EQ(theirs, 0);
}

}  // namespace
