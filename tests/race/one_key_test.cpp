// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <coroutine>

/// Many requests of one key at the same moment: one run each, whatever the shape of the call and the state of the
/// caches (C17).
namespace nebis {
namespace {

using namespace testkit;

constexpr int threads = 64;
constexpr int rounds = 200;

enum class Shape { blocking, callback, coroutine };
enum class Where { memory, sqlite };

/// The simplest coroutine there is: runs until it ends, then says so.
struct Detached {
    struct promise_type {
        Detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct Tally {
    std::atomic<int> fresh{0};
    std::atomic<int> replayed{0};
    std::atomic<int> refused{0};
    std::atomic<int> wrong{0};

    void add(const Answer& answer, const std::string& expected) {
        switch (answer.outcome) {
            case Outcome::fresh: ++fresh; break;
            case Outcome::replayed: ++replayed; break;
            case Outcome::in_progress: ++refused; return;
            default: ++wrong; return;
        }
        if (answer.response.body.rfind(expected, 0) != 0) ++wrong;
    }
};

class OneKey : public testing::TestWithParam<std::tuple<Where, Shape, OnDuplicate>> {
protected:
    std::shared_ptr<Store> store() {
        return std::get<0>(GetParam()) == Where::memory ? memory::store() : sqlite_store(folder_.file("race.db"));
    }
    Folder folder_;
};

TEST_P(OneKey, C17_runs_once_cold_and_warm) {
    [[maybe_unused]] const auto [where, shape, on_duplicate] = GetParam();
    Engine engine = engine_on(store());
    Policy policy;
    policy.operation = "race";
    policy.key = header("Idempotency-Key");
    policy.on_duplicate = on_duplicate;
    policy.wait = std::chrono::seconds(50);
    const Operation operation = engine.operation(policy).value();
    Pool pool(4);
    for (int round = 0; round < rounds; ++round) {
        const Request request = request_with("k" + std::to_string(round));
        std::atomic<int> runs{0};
        const std::string expected = "r" + std::to_string(round);
        Handler handler([&](const Request&, Execution& execution) {
            execution.check();
            return Response{201, {}, expected + "/" + std::to_string(++runs), false};
        });
        for (const bool warm : {false, true}) {
            Tally tally;
            std::atomic<int> open{threads};
            std::latch together(threads);
            std::latch all(threads);
            std::vector<std::thread> callers;
            for (int i = 0; i < threads; ++i) {
                callers.emplace_back([&, shape = shape] {
                    together.arrive_and_wait();
                    if (shape == Shape::blocking) {
                        tally.add(engine.run(operation, request, handler), expected);
                        all.count_down();
                    } else {
                        engine.run_async(operation, request, handler, pool, [&](Answer answer) {
                            tally.add(answer, expected);
                            all.count_down();
                        });
                    }
                });
            }
            for (auto& caller : callers) caller.join();
            all.wait();
            EXPECT_EQ(runs.load(), 1) << "round " << round << (warm ? " warm" : " cold");
            EXPECT_EQ(tally.wrong.load(), 0);
            EXPECT_EQ(tally.fresh.load(), warm ? 0 : 1);
            if (warm) {
                EXPECT_EQ(tally.replayed.load(), threads);
            }
            if (on_duplicate == OnDuplicate::wait) {
                EXPECT_EQ(tally.refused.load(), 0);
            }
        }
    }
    EXPECT_TRUE(engine.drain(std::chrono::seconds(10)));
}

std::string name_of(const testing::TestParamInfo<OneKey::ParamType>& info) {
    const auto [where, shape, on_duplicate] = info.param;
    return std::string(where == Where::memory ? "memory" : "sqlite") +
           (shape == Shape::blocking ? "_blocking" : "_callback") +
           (on_duplicate == OnDuplicate::wait ? "_wait" : "_refuse");
}

INSTANTIATE_TEST_SUITE_P(Races, OneKey,
                         testing::Combine(testing::Values(Where::memory, Where::sqlite),
                                          testing::Values(Shape::blocking, Shape::callback),
                                          testing::Values(OnDuplicate::wait, OnDuplicate::refuse)),
                         name_of);

TEST(OneKeyCoroutine, C17_runs_once_in_the_coroutine_shape) {
    for (const auto where : {Where::memory, Where::sqlite}) {
        Folder folder;
        Engine engine = engine_on(where == Where::memory ? memory::store() : sqlite_store(folder.file("race.db")));
        std::atomic<int> runs{0};
        auto pay = engine.idempotent(
            {.operation = "pay", .key = "#order", .on_duplicate = OnDuplicate::wait, .wait = std::chrono::seconds(50)},
            args("order"), [&runs](long order) { return std::to_string(order) + "/" + std::to_string(++runs); });
        Pool pool(4);
        for (int round = 0; round < rounds; ++round) {
            runs = 0;
            std::latch all(threads);
            std::atomic<int> wrong{0};
            std::mutex mutex;
            std::string why;
            auto one = [&](long order) -> Detached {
                std::string paid;
                try {
                    paid = co_await pay.awaitable(pool, order);
                } catch (const std::exception& e) {
                    const std::lock_guard lock(mutex);
                    why = e.what();
                }
                if (paid != std::to_string(order) + "/1") ++wrong;
                all.count_down();
            };
            std::vector<std::thread> callers;
            for (int i = 0; i < threads; ++i) callers.emplace_back([&] { one(round); });
            for (auto& caller : callers) caller.join();
            all.wait();
            EXPECT_EQ(runs.load(), 1);
            EXPECT_EQ(wrong.load(), 0) << why;
        }
    }
}

}  // namespace
}  // namespace nebis
