// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "support/order_request.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

// Many threads, two stores that share nothing but the server: each key has one effect.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::ForeignMysql;
using nebis::test::MariadbServer;
using nebis::test::order_request;
using nebis::test::soon;
using nebis::test::Table;
using std::chrono::seconds;

MariadbServer& server() {
    static MariadbServer one;
    return one;
}

TEST(MysqlRace, sixteen_threads_on_two_stores_leave_one_effect_for_each_hot_and_cold_key) {
    constexpr std::size_t threads = 16, hot = 8, cold = 256, rounds = 32, batch = 16;
    const Table first(server().options()), second(server().options(), first.name());
    std::array<std::atomic<int>, hot + cold> ledger{};
    std::atomic<int> replays{0}, strangers{0}, errors{0}, unfinished{0};
    const auto key_of = [](std::size_t number) {
        std::string digits = std::to_string(number);
        return "k" + std::string(4 - digits.size(), '0') + digits;
    };
    std::vector<std::thread> all;
    for (std::size_t thread = 0; thread < threads; ++thread)
        all.emplace_back([&, thread] {
            const Table& table = thread % 2 == 0 ? first : second;
            const auto session = table.store().open(soon()).value();
            for (std::size_t round = 0; round < rounds; ++round) {
                // All hot keys, and cold ones that some other thread also wants.
                std::vector<std::size_t> numbers;
                for (std::size_t i = 0; i < hot; ++i) numbers.push_back(i);
                for (std::size_t i = 0; i < batch - hot; ++i)
                    numbers.push_back(hot + ((thread / 2 + round) * (batch - hot) + i) % cold);
                std::sort(numbers.begin(), numbers.end());
                std::vector<std::string> keys;
                for (const auto number : numbers) keys.push_back(key_of(number));
                const std::uint64_t owner = thread * 100'000 + round + 1;
                std::vector<BeginRequest> begins;
                for (const auto& key : keys) begins.push_back(begin_of(key, owner));
                std::vector<Result<BeginOutcome>> begun(begins.size(), Result<BeginOutcome>(BeginOutcome{}));
                session->begin(begins, begun, soon());
                std::vector<Response> responses(keys.size());
                std::vector<FinishRequest> finishes;
                for (std::size_t i = 0; i < keys.size(); ++i) {
                    if (!begun[i]) {
                        ++errors;
                    } else if (begun[i]->kind == BeginOutcome::Kind::acquired) {
                        ++ledger.at(numbers[i]);
                        responses[i].body = keys[i];
                        finishes.push_back(finish_of(keys[i], begun[i]->version, responses[i], owner));
                    } else if (begun[i]->kind == BeginOutcome::Kind::finished) {
                        ++replays;
                        if (begun[i]->record->response->body != keys[i]) ++strangers;
                    }
                }
                std::vector<Result<FinishOutcome>> ended(finishes.size(), Result<FinishOutcome>(FinishOutcome{}));
                session->finish(finishes, ended, soon());
                for (const auto& one : ended)
                    if (!one || !one->applied) ++unfinished;
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(unfinished, 0);
    EXPECT_EQ(strangers, 0);
    EXPECT_GT(replays, 0);
    for (std::size_t i = 0; i < ledger.size(); ++i) EXPECT_EQ(ledger.at(i), 1) << key_of(i);
}

TEST(MysqlEngine, fresh_replayed_by_another_instance_and_after_a_restart) {
    MariadbServer own;
    ForeignMysql(own.address()).run("SET GLOBAL innodb_flush_log_at_trx_commit=1");
    const auto instance = [&] {
        Engine::Parts parts;
        parts.store = mysql::store(own.options());
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    };
    Policy policy;
    policy.operation = "order";
    policy.key = header("Idempotency-Key");
    int runs = 0;
    const Handler handler([&](const Request&, Execution&) {
        ++runs;
        return Response{201, {}, "made", false};
    });
    Engine one = instance(), two = instance();
    const Operation at_one = one.operation(policy).value(), at_two = two.operation(policy).value();
    EXPECT_EQ(one.run(at_one, order_request("k"), handler).outcome, Outcome::fresh);
    const Answer again = two.run(at_two, order_request("k"), handler);
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response.body, "made");
    own.kill();
    own.start();
    EXPECT_TRUE(nebis::test::eventually(
        [&] { return two.run(at_two, order_request("k"), handler).outcome == Outcome::replayed; }));
    EXPECT_EQ(runs, 1);
}

}  // namespace
