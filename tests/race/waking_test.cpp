// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Duplicates in other instances, woken in the same moment by the store's change and by their own clock: each goes on
/// once, on its own thread. (A waker that looked at a call after it had let it go drove it a second time.)
namespace nebis {
namespace {

using namespace testkit;

TEST(Waking, waiters_of_other_instances_are_woken_once_by_change_or_by_clock) {
    constexpr int instances = 4, waiters = 4, rounds = 150;
    const auto store = memory::store();
    std::vector<Engine> engines;
    std::vector<Operation> operations;
    Policy policy;
    policy.operation = "race";
    policy.key = header("Idempotency-Key");
    policy.on_duplicate = OnDuplicate::wait;
    for (int i = 0; i < instances; ++i) {
        engines.push_back(engine_on(store));
        policy.wait = std::chrono::milliseconds(1 + i);  // near the handler's time: change and clock race
        operations.push_back(engines.back().operation(policy).value());
    }
    std::atomic<int> wrong{0};
    for (int round = 0; round < rounds; ++round) {
        const Request request = request_with("k" + std::to_string(round));
        std::atomic<int> runs{0};
        const Handler handler([&](const Request&, Execution&) {
            ++runs;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            return Response{200, {}, "done", false};
        });
        std::latch together(instances * waiters);
        std::vector<std::thread> callers;
        for (int i = 0; i < instances * waiters; ++i) {
            callers.emplace_back([&, i] {
                const auto at = static_cast<std::size_t>(i % instances);
                together.arrive_and_wait();
                const Answer answer = engines[at].run(operations[at], request, handler);
                const bool answered = answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed;
                if (answered ? answer.response.body != "done" : answer.outcome != Outcome::in_progress) ++wrong;
            });
        }
        for (auto& caller : callers) caller.join();
        EXPECT_EQ(runs.load(), 1) << "round " << round;
    }
    EXPECT_EQ(wrong.load(), 0);
    for (auto& engine : engines) EXPECT_TRUE(engine.drain(std::chrono::seconds(10)));
}

}  // namespace
}  // namespace nebis
