// SPDX-License-Identifier: Apache-2.0
// I8: an executor that comes to a handler only after its lease has ended must not start it. Another instance may have
// taken the record over by then. The explorer convicts the same flaw ("handler starts without looking at the lease").
#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace nebis {
namespace {

/// Takes tasks and runs them only when told to.
class HoldingExecutor : public Executor {
public:
    void post(std::function<void()> task) override {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        if (!std::exchange(posted_, true)) first_.set_value();
    }
    std::future<void> first() { return first_.get_future(); }
    void run_all() {
        for (;;) {
            std::vector<std::function<void()>> tasks;
            {
                const std::lock_guard lock(mutex_);
                tasks.swap(tasks_);
            }
            if (tasks.empty()) return;
            for (auto& task : tasks) task();
        }
    }

private:
    std::mutex mutex_;
    std::vector<std::function<void()>> tasks_;
    std::promise<void> first_;
    bool posted_ = false;
};

void is_given_back(const Handler& handler, const std::atomic<int>& runs) {
    Engine::Parts parts;
    parts.store = memory::store();
    parts.gate = local::gate();
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    Engine engine = Engine::make(std::move(parts)).value();
    Policy policy;
    policy.operation = "pay";
    policy.key = header("Idempotency-Key");
    policy.lease = std::chrono::milliseconds(1'000);
    policy.renew = false;
    const Operation pay = engine.operation(policy).value();
    Request request;
    request.method = "POST";
    request.headers = {{"Idempotency-Key", "k-1"}};

    HoldingExecutor executor;
    std::future<void> posted = executor.first();
    std::promise<Answer> promise;
    std::future<Answer> answer = promise.get_future();
    engine.run_async(pay, request, handler, executor, [&promise](Answer done) { promise.set_value(std::move(done)); });
    ASSERT_EQ(posted.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    std::this_thread::sleep_for(std::chrono::milliseconds(1'200));  // the flaw *is* that time passes
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
           std::chrono::steady_clock::now() < until)
        executor.run_all();
    ASSERT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    const Answer told = answer.get();
    EXPECT_EQ(told.outcome, Outcome::unavailable);
    EXPECT_FALSE(told.handler_ran);
    EXPECT_EQ(runs, 0);
    // The claim was given back: the next one runs at once.
    Handler next([&](const Request&, Execution&) { return Response{201, {}, "paid", false}; });
    EXPECT_EQ(engine.run(pay, request, next).outcome, Outcome::fresh);
}

TEST(LateExecutor, I8_a_handler_is_not_started_after_its_lease) {
    std::atomic<int> runs{0};
    is_given_back(Handler([&](const Request&, Execution&) { return ++runs, Response{}; }), runs);
}

TEST(LateExecutor, I8_nor_one_that_would_answer_later) {
    std::atomic<int> runs{0};
    is_given_back(Handler::later([&](const Request&, Execution, Completion done) {
                      ++runs;
                      done.answer(Response{});
                  }),
                  runs);
}

}  // namespace
}  // namespace nebis
