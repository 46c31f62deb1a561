// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/nebis.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

/// Many clients of several engines that want the same orders: each is placed once, and all get the same answer.
namespace nebis::test {

/// What the race needs of a database. The business table has no unique index: what comes twice is there twice.
struct RaceDatabase {
    std::function<std::shared_ptr<Store>()> store;
    std::function<std::shared_ptr<TransactionRunner>()> runner;  ///< a pool of its own each
    /// One order, in the transaction of a body; throws when that fails.
    std::function<void(void* transaction, const std::string& id, const std::string& answer)> place;
    /// Every order: id and answer.
    std::function<std::vector<std::pair<std::string, std::string>>()> orders;
};

class AtomicRace {
public:
    static constexpr std::size_t engines = 2, clients = 16, keys = 24;

    AtomicRace(RaceDatabase database, Claim claim) : database_(std::move(database)) {
        Policy policy;
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        policy.mode = Mode::atomic;
        policy.claim = claim;
        policy.on_duplicate = OnDuplicate::wait;
        policy.lease = std::chrono::seconds(3);
        for (std::size_t i = 0; i < engines; ++i) {
            Engine::Parts parts;
            parts.store = database_.store();
            parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
            parts.options.use_environment = false;
            parts.log = [](const std::string&) {};
            engines_.push_back(Engine::make(std::move(parts)).value());
            operations_.push_back(engines_.back().operation(policy).value());
            runners_.push_back(database_.runner());
        }
    }

    /// Every client wants every order, in an order of its own, until it has a final answer. `meanwhile` is told how
    /// many answers have come.
    void run(const std::function<void(const std::atomic<std::size_t>& answers)>& meanwhile) {
        std::vector<std::jthread> all;
        for (std::size_t client = 0; client < clients; ++client) all.emplace_back([this, client] { want_all(client); });
        meanwhile(answers_);
    }

    void expect_one_effect_and_one_answer_each() {
        std::map<std::string, std::vector<std::string>> placed;
        for (auto& [id, answer] : database_.orders()) placed[id].push_back(answer);
        for (const auto& [id, answers] : heard_) {
            ASSERT_EQ(answers.size(), 1U) << id << " was answered differently";
            ASSERT_EQ(placed[id].size(), 1U) << id;
            EXPECT_EQ(placed[id].front(), *answers.begin()) << "the answer is that of the effect";
        }
        EXPECT_EQ(heard_.size(), keys);
        EXPECT_EQ(placed.size(), keys);
        EXPECT_EQ(answers_, clients * keys) << "some client got no final answer";
    }

    /// Every order once more, of both engines.
    void expect_replays() {
        for (std::size_t engine = 0; engine < engines; ++engine)
            for (std::size_t key = 0; key < keys; ++key) {
                const std::string id = "order-" + std::to_string(key);
                Answer answer;
                EXPECT_TRUE(eventually([&] {
                    answer = ask(engine, id, "never");
                    return answer.outcome == Outcome::replayed;
                })) << id;
                EXPECT_TRUE(heard_[id].contains(answer.response.body)) << id;
            }
    }

private:
    Answer ask(std::size_t engine, const std::string& id, const std::string& mine) {
        Request request;
        request.method = "POST";
        request.path = "/orders";
        request.headers = {{"Idempotency-Key", id}};
        return engines_[engine].run(
            operations_[engine], request,
            Handler::atomic(runners_[engine], [&](const Request&, void* transaction, Execution&) {
                database_.place(transaction, id, mine);
                return Response{201, {}, mine, false};
            }));
    }

    void want_all(std::size_t client) {
        std::vector<std::size_t> order(keys);
        for (std::size_t i = 0; i < keys; ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(client)));
        for (const auto key : order) {
            const std::string id = "order-" + std::to_string(key);
            unsigned tries = 0;
            eventually(
                [&] {
                    const Answer answer =
                        ask(client % engines, id, id + "/" + std::to_string(client) + "/" + std::to_string(++tries));
                    if (answer.failure || (answer.outcome != Outcome::fresh && answer.outcome != Outcome::replayed))
                        return false;
                    const std::lock_guard lock(mutex_);
                    heard_[id].insert(answer.response.body);
                    ++answers_;
                    return true;
                },
                std::chrono::seconds(120));
        }
    }

    RaceDatabase database_;
    std::vector<Engine> engines_;
    std::vector<Operation> operations_;
    std::vector<std::shared_ptr<TransactionRunner>> runners_;
    std::mutex mutex_;
    std::map<std::string, std::set<std::string>> heard_;
    std::atomic<std::size_t> answers_{0};
};

}  // namespace nebis::test
