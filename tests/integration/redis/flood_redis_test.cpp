// SPDX-License-Identifier: Apache-2.0
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"
#include "nebis/redis.hpp"
#include "support/order_request.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>

// A flood of random keys and a real Redis: what the filter spares it (S30).
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::order_request;
using nebis::test::RedisServer;

constexpr int flood = 2'000;

class FloodRedis : public testing::Test {
protected:
    Engine instance(bool filter) {
        Engine::Parts parts;
        parts.store = store_;
        redis::Options with;
        with.addresses = {redis_.address()};
        parts.gate = redis::gate(with).value();
        parts.configuration = std::string("nebis: {idempotent: {local-cache-millis: 0, limits: {flood-filter-keys: ") +
                              (filter ? "10000" : "0") + "}}}";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }
    static Operation order(const Engine& engine) {
        Policy policy;
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        return engine.operation(policy).value();
    }
    Handler handler() {
        return Handler([this](const Request&, Execution&) {
            return Response{201, {}, std::to_string(++runs_), false};
        });
    }
    std::int64_t keys() const { return redis_.ask({"DBSIZE"}).integer; }
    std::int64_t scripts() const {
        const std::string text = redis_.ask({"INFO", "commandstats"}).text;
        const std::string name = "cmdstat_evalsha:calls=";
        const auto at = text.find(name);
        return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size()));
    }
    void send(const Engine& engine, const std::string& prefix) {
        const Operation operation = order(engine);
        for (int i = 0; i < flood; ++i)
            ASSERT_EQ(engine.run(operation, order_request(prefix + std::to_string(i)), handler()).outcome,
                      Outcome::fresh);
    }

    RedisServer redis_;
    std::shared_ptr<Store> store_ = memory::store();
    std::atomic<int> runs_{0};
};

TEST_F(FloodRedis, S30_random_keys_leave_nothing_in_Redis_and_ask_nothing_of_it) {
    const Engine without = instance(false);
    send(without, "without-");
    ASSERT_TRUE(eventually([&] { return keys() >= flood; })) << "each one's result";
    const std::int64_t keys_before = keys(), scripts_before = scripts();
    EXPECT_GE(scripts_before, 2 * flood - 10);

    const Engine with = instance(true);
    send(with, "with-");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // leaves aren't waited for
    const auto more_keys = keys() - keys_before, more_scripts = scripts() - scripts_before;
    std::printf("%d new keys: without the filter %lld keys and %lld scripts in Redis, with it %lld and %lld\n", flood,
                static_cast<long long>(keys_before), static_cast<long long>(scripts_before),
                static_cast<long long>(more_keys), static_cast<long long>(more_scripts));
    EXPECT_LT(more_keys, flood / 50);
    EXPECT_LT(more_scripts, flood / 25);
}

TEST_F(FloodRedis, S30_two_instances_one_of_which_never_met_the_keys_run_each_once) {
    const Engine one = instance(true), two = instance(true);
    const Operation at_one = order(one), at_two = order(two);
    std::atomic<int> wrong{0};
    const auto client = [&](const Engine& engine, const Operation& operation) {
        for (int i = 0; i < 500; ++i) {
            const Answer answer = engine.run(operation, order_request("k-" + std::to_string(i)), handler());
            const bool right = answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed ||
                               answer.outcome == Outcome::in_progress;
            if (!right) ++wrong;
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] { client(one, at_one); });
        threads.emplace_back([&] { client(two, at_two); });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(runs_, 500);
    // The result gets into Redis with the repeat that asks it, and then answers from there.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(two.run(at_two, order_request("k-1"), handler()).outcome, Outcome::replayed);
    EXPECT_TRUE(eventually([&] {
        (void)two.run(at_two, order_request("k-1"), handler());
        return two.metrics().find(R"(nebis_result_cache_total{cache="gate",result="hit"} 0)") == std::string::npos;
    }));
    EXPECT_EQ(runs_, 500);
}

}  // namespace
