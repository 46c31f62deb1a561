// SPDX-License-Identifier: Apache-2.0
#include "faulty_store.hpp"
#include "observe/mark.hpp"
#include "runtime/owner.hpp"
#include "support.hpp"
#include "support/eventually.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

/// What the engine does when the store or the gate doesn't: C19, C23, C25, C49, and the deadlines of layout D3.
namespace nebis {
namespace {

using namespace testkit;
using nebis::test::eventually;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// After a begin of unknown fate a call stays with its row for its time budget and the margin of its lease: both short,
/// so that the engine's end, which waits for it, comes soon.
constexpr const char* soon_told = "budget-millis: 400, lock-expire-millis: 2000";

struct Faults : testing::Test {
    std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(memory::store());
    Counting counting;

    Engine engine(const std::string& more = "budget-millis: 2000") {
        return engine_on(store, "nebis: {idempotent: {local-cache-millis: 0, " + more + "}}");
    }
};

TEST_F(Faults, a_lost_reply_of_begin_is_read_back_by_owner_and_runs_once) {
    Engine e = engine(soon_told);
    const Operation order = e.operation(policy_of("order")).value();
    store->next("begin", Fault::lose_reply);
    const Answer answer = e.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_EQ(answer.attempt, 1U);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, a_lost_begin_is_sent_again_with_the_same_owner) {
    Engine e = engine(soon_told);
    const Operation order = e.operation(policy_of("order")).value();
    store->next("begin", Fault::lose);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, C49_a_store_that_is_away_is_unavailable_and_nothing_runs) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    store->away(true);
    const Answer answer = e.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::unavailable);
    EXPECT_FALSE(answer.handler_ran);
    EXPECT_GT(answer.retry_after.count(), 0);
    EXPECT_THROW(throw_for(answer), IdempotentException);
    store->away(false);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, C49_on_store_failure_allow_lets_it_through_marked_unprotected) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.on_store_failure = OnStoreFailure::allow;
    const Operation order = e.operation(policy).value();
    store->away(true);
    const Answer answer = e.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_TRUE(answer.unprotected);
    EXPECT_FALSE(answer.recorded);
}

TEST_F(Faults, the_breaker_answers_at_once_during_an_outage_and_closes_by_itself) {
    Engine e = engine("budget-millis: 2000, breaker: {failures: 3, open-millis: 100}");
    const Operation order = e.operation(policy_of("order")).value();
    store->away(true);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::unavailable);
    const int tried = store->opened();
    EXPECT_LE(tried, 6);  // one at the start, three failures, a probe or two
    store->away(false);
    EXPECT_TRUE(eventually(
        [&] { return e.run(order, request_with("k"), counting.handler()).outcome != Outcome::unavailable; }));
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, C23_a_lost_reply_of_finish_is_read_back_and_the_answer_is_true_and_recorded) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    store->next("finish", Fault::lose_reply);
    const Answer answer = e.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_TRUE(answer.recorded);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).response, answer.response);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, C23_when_finish_fails_for_good_the_caller_gets_the_true_answer_and_the_record_follows) {
    Engine e = engine("budget-millis: 200, breaker: {failures: 1000, open-millis: 100}");
    const Operation order = e.operation(policy_of("order")).value();
    std::atomic<bool> broken{true};
    store->script(
        [&](const std::string& operation) { return operation == "finish" && broken ? Fault::refuse : Fault::none; });
    const Answer answer = e.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_EQ(answer.response.body, "run 1");
    EXPECT_FALSE(answer.recorded);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::in_progress);
    broken = false;
    EXPECT_TRUE(
        eventually([&] { return e.run(order, request_with("k"), counting.handler()).outcome == Outcome::replayed; }));
    EXPECT_EQ(counting.count(), 1);
    EXPECT_GT(observe::Mark::hits("answered before the record was written"), 0U);
}

TEST_F(Faults, a_stuck_driver_costs_a_worker_but_no_callback_s_time_budget) {
    store = std::make_shared<FaultyStore>(memory::store(), 2);
    Engine e = engine("budget-millis: 150, lock-expire-millis: 2000");
    const Operation order = e.operation(policy_of("order")).value();
    store->next("begin", Fault::hang);
    std::promise<Answer> answered;
    const auto before = steady_clock::now();
    e.run_async(order, request_with("k"), counting.handler(), inline_executor(),
                [&](Answer answer) { answered.set_value(std::move(answer)); });
    // Read back through the other session, it turned out not to be applied, and was sent again with the same owner.
    EXPECT_EQ(answered.get_future().get().outcome, Outcome::fresh);
    EXPECT_LT(steady_clock::now() - before, std::chrono::seconds(5));
    store->release();  // the first begin arrives now, late, and finds a row
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, when_every_session_is_stuck_callers_still_get_an_answer_and_a_late_begin_is_given_back) {
    Engine e = engine("budget-millis: 100, lock-expire-millis: 2000");
    const Operation order = e.operation(policy_of("order")).value();
    store->script([](const std::string&) { return Fault::hang; });
    std::promise<Answer> answered;
    e.run_async(order, request_with("k"), counting.handler(), inline_executor(),
                [&](Answer answer) { answered.set_value(std::move(answer)); });
    const Answer answer = answered.get_future().get();
    EXPECT_EQ(answer.outcome, Outcome::unavailable);
    EXPECT_EQ(counting.count(), 0);
    store->script({});
    store->release();
    EXPECT_TRUE(
        eventually([&] { return e.run(order, request_with("k"), counting.handler()).outcome == Outcome::fresh; }));
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Faults, a_full_queue_is_overloaded_and_nothing_runs) {
    Engine e = engine("budget-millis: 2000, limits: {queue-max: 2}");
    const Operation order = e.operation(policy_of("order")).value();
    store->next("begin", Fault::hang);
    std::mutex mutex;
    std::condition_variable changed;
    int overloaded = 0, all = 0;
    const auto done = [&](Answer answer) {
        const std::lock_guard lock(mutex);
        ++all;
        if (answer.error && answer.error->kind() == ErrorKind::overloaded) ++overloaded;
        changed.notify_all();
    };
    e.run_async(order, request_with("first"), counting.handler(), inline_executor(), done);
    ASSERT_TRUE(store->wait_hanging(1));
    for (int i = 0; i < 5; ++i)
        e.run_async(order, request_with("k" + std::to_string(i)), counting.handler(), inline_executor(), done);
    {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(overloaded, 3);
    }
    store->release();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(10), [&] { return all == 6; }));
}

TEST_F(Faults, concurrent_begins_share_one_batch) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    store->next("begin", Fault::hang);
    std::atomic<int> open{31};
    const auto done = [&](Answer answer) {
        EXPECT_EQ(answer.outcome, Outcome::fresh);
        --open;
    };
    e.run_async(order, request_with("first"), counting.handler(), inline_executor(), done);
    ASSERT_TRUE(store->wait_hanging(1));
    for (int i = 0; i < 30; ++i)
        e.run_async(order, request_with("k" + std::to_string(i)), counting.handler(), inline_executor(), done);
    store->release();
    EXPECT_TRUE(eventually([&] { return open == 0; }));
    EXPECT_EQ(store->calls("begin"), 2);
    EXPECT_GE(store->greatest_batch(), 30);
}

// ---- the gate

/// A lock that fails as told.
struct FaultyLock : Lock {
    std::atomic<bool> acquire_fails{false}, release_fails{false}, release_not_ours{false};
    std::atomic<int> held{0};
    std::shared_ptr<Lock> inner = local::lock();
    std::string_view name() const noexcept override { return "faulty"; }
    Result<std::int64_t> acquire(std::string_view n, const Owner& o, std::int64_t l, Deadline d) override {
        if (acquire_fails) return Error(ErrorKind::unavailable, "lock service is down");
        auto rest = inner->acquire(n, o, l, d);
        if (rest && *rest == 0) ++held;
        return rest;
    }
    Result<bool> renew(std::string_view n, const Owner& o, std::int64_t l, Deadline d) override {
        return inner->renew(n, o, l, d);
    }
    Result<bool> release(std::string_view n, const Owner& o, Deadline d) override {
        auto done = inner->release(n, o, d);
        if (done && *done) --held;
        if (release_fails) return Error(ErrorKind::unavailable, "lock service is down");
        if (release_not_ours) return false;
        return done;
    }
};

struct GateFaults : testing::Test {
    std::shared_ptr<FaultyLock> lock = std::make_shared<FaultyLock>();
    Counting counting;
    Engine engine() {
        Engine::Parts parts;
        parts.store = memory::store();
        parts.gate = compose(lock);
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }
};

TEST_F(GateFaults, S27_a_failing_gate_lets_the_request_pass_on_to_the_table) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    lock->acquire_fails = true;
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(GateFaults, S27_fail_open_false_is_a_clear_unavailable) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.fail_open = false;
    const Operation order = e.operation(policy).value();
    lock->acquire_fails = true;
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::unavailable);
    EXPECT_EQ(counting.count(), 0);
}

TEST_F(GateFaults, C19_a_failing_unlock_hides_no_result_and_shuts_no_key) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    lock->release_fails = true;
    EXPECT_EQ(e.run(order, request_with("a"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(e.run(order, request_with("a"), counting.handler()).outcome, Outcome::replayed);
    lock->release_fails = false;
    lock->release_not_ours = true;
    EXPECT_EQ(e.run(order, request_with("b"), counting.handler()).outcome, Outcome::fresh);
    std::thread other(
        [&] { EXPECT_EQ(e.run(order, request_with("b"), counting.handler()).outcome, Outcome::replayed); });
    other.join();
}

TEST_F(GateFaults, C26_the_lock_is_released_on_every_way_out) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    const std::vector<Handler> ways = {
        Handler([](const Request&, Execution&) {
            return Response{200, {}, "body", false};
        }),
        Handler([](const Request&, Execution&) {
            return Response{303, {{"Location", "/elsewhere"}}, "", false};
        }),
        Handler([](const Request&, Execution&) -> Response { throw NotExecuted("no"); }),
        Handler([](const Request&, Execution&) -> Response { throw Rejected("no"); }),
        Handler([](const Request&, Execution&) -> Response { throw OutcomeUnknown("?"); }),
        Handler([](const Request&, Execution&) -> Response { throw 7; }),
        Handler::later([](const Request&, Execution, Completion completion) {
            completion.answer({200, {}, "later", false});
        }),
        Handler::later([](const Request&, Execution, Completion) {}),
        Handler::later(
            [](const Request&, Execution, Completion) { throw std::runtime_error("before it could answer"); }),
    };
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const Request request = request_with("k" + std::to_string(way));
        EXPECT_EQ(e.run(order, request, ways[way]).outcome, Outcome::fresh);
        e.run(order, request, counting.handler());                              // a duplicate takes and leaves it too
        e.run(order, request_with(request.headers[0].value, "{}"), ways[way]);  // and a mismatch
    }
    EXPECT_TRUE(e.drain(std::chrono::seconds(10)));
    // `leave` isn't waited for: it has surely been carried once another call has gone through the same queue.
    for (const auto end = steady_clock::now() + std::chrono::seconds(10); lock->held != 0 && steady_clock::now() < end;)
        std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(lock->held.load(), 0);
}

// ---- executors

struct RefusingExecutor final : Executor {
    void post(std::function<void()>) override { throw std::runtime_error("full"); }
};
struct DroppingExecutor final : Executor {
    void post(std::function<void()>) override {}
};

TEST(Executors, one_that_refuses_or_drops_its_task_leaves_a_free_key_and_an_answered_caller) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    RefusingExecutor refusing;
    DroppingExecutor dropping;
    for (Executor* executor : {static_cast<Executor*>(&refusing), static_cast<Executor*>(&dropping)}) {
        std::promise<Answer> answered;
        AsyncOptions options;
        options.answers = &inline_executor();
        const Counting counting;
        engine.run_async(order, request_with("k"), counting.handler(), *executor, options,
                         [&](Answer answer) { answered.set_value(std::move(answer)); });
        const Answer answer = answered.get_future().get();
        EXPECT_EQ(answer.outcome, Outcome::unavailable);
        EXPECT_FALSE(answer.handler_ran);
        EXPECT_EQ(counting.count(), 0);
        EXPECT_EQ(engine.inspect(order, request_with("k")).value()->status, RecordStatus::fail);
    }
    EXPECT_EQ(engine.run(order, request_with("k"), Counting().handler()).outcome, Outcome::fresh);
}

TEST(Executors, the_last_handle_may_die_inside_a_callback) {
    auto store = std::make_shared<FaultyStore>(memory::store());
    std::promise<Outcome> answered;
    {
        auto engine = std::make_shared<Engine>(engine_on(store));
        const Operation order = engine->operation(policy_of("order")).value();
        Engine& e = *engine;
        e.run_async(order, request_with("k"), Counting().handler(), inline_executor(),
                    [kept = std::move(engine), &answered](Answer answer) mutable {
                        kept.reset();
                        answered.set_value(answer.outcome);
                    });
    }
    EXPECT_EQ(answered.get_future().get(), Outcome::fresh);
}

// ---- joining

struct Joining : Faults {
    std::promise<void> go;
    std::shared_future<void> until = go.get_future().share();
    std::atomic<int> started{0};
    Handler slow() {
        return Handler([this](const Request&, Execution&) {
            ++started;
            until.wait();
            return Response{200, {}, "slow", false};
        });
    }
};

TEST_F(Joining, C39_waiting_duplicates_cost_no_store_call_and_other_keys_go_on) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = milliseconds(20'000);
    const Operation order = e.operation(policy).value();
    std::thread leader([&] { e.run(order, request_with("hot"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    const int begins = store->calls("begin"), finds = store->calls("find");
    std::atomic<int> answered{0};
    for (int i = 0; i < 500; ++i) {
        e.run_async(order, request_with("hot"), slow(), inline_executor(), [&](Answer answer) {
            EXPECT_EQ(answer.outcome, Outcome::replayed);
            EXPECT_EQ(answer.response.body, "slow");
            EXPECT_TRUE(answer.joined);
            ++answered;
        });
    }
    EXPECT_EQ(store->calls("begin"), begins);
    EXPECT_EQ(store->calls("find"), finds);
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(e.run(order, request_with("cold" + std::to_string(i)), counting.handler()).outcome, Outcome::fresh);
    go.set_value();
    leader.join();
    EXPECT_TRUE(eventually([&] { return answered == 500; }));
    EXPECT_EQ(started.load(), 1);
}

TEST_F(Joining, B063_waiters_of_one_key_are_bounded_the_rest_is_told_in_progress) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = milliseconds(30'000);
    const Operation order = e.operation(policy).value();
    std::thread leader([&] { e.run(order, request_with("hot"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    std::atomic<int> refused{0}, replayed{0};
    for (int i = 0; i < 10'000; ++i) {
        e.run_async(order, request_with("hot"), slow(), inline_executor(),
                    [&](Answer answer) { ++(answer.outcome == Outcome::replayed ? replayed : refused); });
    }
    EXPECT_EQ(refused.load(), 9'000);
    go.set_value();
    leader.join();
    EXPECT_TRUE(eventually([&] { return replayed == 1'000; }));
}

TEST_F(Joining, a_recorded_failure_is_shared_so_that_no_herd_runs_again) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    const Operation order = e.operation(policy).value();
    const Handler failing([&](const Request&, Execution&) -> Response {
        ++started;
        until.wait();
        throw NotExecuted("the warehouse is closed");
    });
    std::atomic<int> failed{0};
    std::thread leader([&] { e.run(order, request_with("k"), failing); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    for (int i = 0; i < 20; ++i) {
        e.run_async(order, request_with("k"), failing, inline_executor(), [&](Answer answer) {
            EXPECT_TRUE(answer.joined);
            EXPECT_THROW(throw_for(answer), NotExecuted);
            ++failed;
        });
    }
    go.set_value();
    leader.join();
    EXPECT_TRUE(eventually([&] { return failed == 20; }));
    EXPECT_EQ(started.load(), 1);
}

TEST_F(Joining, B062_a_waiting_duplicate_whose_caller_left_is_removed) {
    Engine e = engine();
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = milliseconds(60'000);
    const Operation order = e.operation(policy).value();
    std::thread leader([&] { e.run(order, request_with("k"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    std::stop_source gone;
    std::promise<Answer> answered;
    AsyncOptions options;
    options.caller_gone = gone.get_token();
    e.run_async(order, request_with("k"), slow(), inline_executor(), options,
                [&](Answer answer) { answered.set_value(std::move(answer)); });
    gone.request_stop();
    EXPECT_EQ(answered.get_future().get().outcome, Outcome::in_progress);  // long before the leader ends
    go.set_value();
    leader.join();
}

TEST_F(Joining, B061_C25_a_caller_that_leaves_during_the_handler_cancels_nothing) {
    Engine e = engine();
    const Operation order = e.operation(policy_of("order")).value();
    std::stop_source gone;
    AsyncOptions options;
    options.caller_gone = gone.get_token();
    struct Thread final : Executor {
        std::thread thread;
        void post(std::function<void()> task) override {
            if (thread.joinable())
                task();
            else
                thread = std::thread(std::move(task));
        }
    } executor;
    std::promise<Answer> answered;
    e.run_async(order, request_with("k"), slow(), executor, options,
                [&](Answer answer) { answered.set_value(std::move(answer)); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    gone.request_stop();
    go.set_value();
    EXPECT_EQ(answered.get_future().get().outcome, Outcome::fresh);
    executor.thread.join();
    EXPECT_EQ(e.run(order, request_with("k"), counting.handler()).outcome, Outcome::replayed);
}

TEST_F(Joining, S54_a_duplicate_waiting_for_another_instance_is_woken_by_the_finish) {
    const auto shared = memory::store();
    Engine a = engine_on(shared), b = engine_on(shared);
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = milliseconds(30'000);
    const Operation at_a = a.operation(policy).value(), at_b = b.operation(policy).value();
    std::thread owner([&] { a.run(at_a, request_with("k"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    std::atomic<bool> woken{false};
    std::thread waiter([&] {
        EXPECT_EQ(b.run(at_b, request_with("k"), slow()).response.body, "slow");
        woken = true;
    });
    std::this_thread::sleep_for(milliseconds(100));  // so that it really waits; right either way
    const auto finished = steady_clock::now();
    go.set_value();
    owner.join();
    waiter.join();
    EXPECT_LT(steady_clock::now() - finished,
              std::chrono::seconds(5));  // the lease, and with it the next poll, is 10 s away
    EXPECT_EQ(started.load(), 1);
}

TEST_F(Joining, C11_an_attempt_that_was_taken_over_is_fenced_off_and_the_record_is_the_other_s) {
    const auto shared = memory::store();
    const std::string quick =
        "nebis: {idempotent: {lock-expire-millis: 200, budget-millis: 150, on-unknown: retry, lock-renew: {enabled: "
        "false}}}";
    Engine a = engine_on(shared, quick), b = engine_on(shared, quick);
    const Operation at_a = a.operation(policy_of("order")).value(), at_b = b.operation(policy_of("order")).value();
    Answer of_a;
    std::thread owner([&] { of_a = a.run(at_a, request_with("k"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    Answer of_b;
    ASSERT_TRUE(eventually([&] {
        of_b = b.run(at_b, request_with("k"), counting.handler());
        return of_b.outcome == Outcome::fresh;
    }));
    go.set_value();
    owner.join();
    EXPECT_EQ(of_a.outcome, Outcome::fenced_off);
    EXPECT_GT(of_b.fencing_token, of_a.fencing_token);
    EXPECT_EQ(of_b.attempt, 2U);
    EXPECT_EQ(b.run(at_b, request_with("k"), counting.handler()).response, Response({201, {}, "run 1", false}));
    EXPECT_NE(a.metrics().find("nebis_fenced_off_total{operation=\"order\"} 1"), std::string::npos) << a.metrics();
}

TEST_F(Joining, C13_a_running_attempt_is_never_free_before_its_lease_is_over) {
    const auto shared = memory::store();
    Engine a = engine_on(shared, "nebis: {idempotent: {on-unknown: retry}}"),
           b = engine_on(shared, "nebis: {idempotent: {on-unknown: retry}}");
    const Operation at_a = a.operation(policy_of("order")).value(), at_b = b.operation(policy_of("order")).value();
    std::thread owner([&] { a.run(at_a, request_with("k"), slow()); });
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    EXPECT_EQ(b.run(at_b, request_with("k"), counting.handler()).outcome, Outcome::in_progress);
    EXPECT_EQ(counting.count(), 0);
    go.set_value();
    owner.join();
}

// ---- owners

TEST(OwnerTest, C16_owners_are_unique_among_threads_and_forked_children) {
    std::vector<Owner> seen;
    for (int i = 0; i < 1'000'000; ++i) seen.push_back(runtime::fresh_owner());
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    for (int child = 0; child < 8; ++child) {
        if (fork() == 0) {
            for (int i = 0; i < 64; ++i) {
                const Owner owner = runtime::fresh_owner();
                if (write(pipes[1], owner.bytes.data(), owner.bytes.size()) != 16) _exit(1);
            }
            _exit(0);
        }
    }
    close(pipes[1]);
    Owner owner;
    int read_back = 0;
    for (; read(pipes[0], owner.bytes.data(), 16) == 16; ++read_back) seen.push_back(owner);
    EXPECT_EQ(read_back, 8 * 64);
    close(pipes[0]);
    for (int child = 0; child < 8; ++child) {
        int status = 0;
        wait(&status);
        EXPECT_EQ(status, 0);
    }
    for (int i = 0; i < 64; ++i) seen.push_back(runtime::fresh_owner());
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 64; ++i) {
                const Owner mine = runtime::fresh_owner();
                const std::lock_guard lock(mutex);
                seen.push_back(mine);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(OwnerTest, C16_the_same_request_id_makes_nobody_re_entrant) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    Request request = request_with("k");
    request.request_id = "same";
    Outcome inner = Outcome::fresh;
    const Answer outer = engine.run(order, request, Handler([&](const Request&, Execution&) {
                                        inner = engine.run(order, request, Counting().handler()).outcome;
                                        return Response{};
                                    }));
    EXPECT_EQ(outer.outcome, Outcome::fresh);
    EXPECT_EQ(outer.request_id, "same");
    EXPECT_EQ(inner, Outcome::in_progress);
}

}  // namespace
}  // namespace nebis
