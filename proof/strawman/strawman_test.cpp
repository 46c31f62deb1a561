// SPDX-License-Identifier: Apache-2.0
// The article's algorithm, convicted flaw by flaw (Z01 to Z12), each time by the same interleaving.
#include "strawman.hpp"

#include "stage.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace nebis::strawman {
namespace {

const std::string key = "order-7";

/// Requests by name ("A", "B" …) on one key; the points they pass are "A:locked" and so on.
class Strawman : public testing::Test {
protected:
    std::atomic<Millis> now_{0};
    MemoryTable table_{[this] { return now_.load(); }};
    MemoryLock lock_{[this] { return now_.load(); }};
    Stage stage_;
    Options options_;
    std::atomic<int> effects_{0};

    Reply call(const std::string& name, const Request& request = {}, bool fails = false) {
        Options options = options_;
        options.at = [this, name](std::string_view point) { stage_.at(name + ":" + std::string(point)); };
        Interceptor interceptor(table_, lock_, options);
        return interceptor.run(key, request, [&]() -> std::string {
            if (fails) throw std::runtime_error("no connection");
            ++effects_;
            return "order placed";
        });
    }
    std::future<Reply> start(const std::string& name, Request request = {}, bool fails = false) {
        return std::async(std::launch::async, [=, this] { return call(name, request, fails); });
    }
    Status status() { return table_.select_by_trace_id(key).value().status; }
    void lock_time_is_over() { now_ += options_.lock_expire; }
};

TEST_F(Strawman, works_when_nothing_happens) {
    EXPECT_EQ(call("A").body, "order placed");
    EXPECT_TRUE(call("B").replayed);
    EXPECT_EQ(effects_, 1);
    EXPECT_EQ(status(), Status::success);
    EXPECT_THROW(Interceptor(table_, lock_).run(" ", {}, [] { return std::string(); }), IdempotentException);
}

TEST_F(Strawman, Z01_a_mere_duplicate_sets_FAIL_and_the_next_one_runs) {
    options_.derive_request_id = options_.recover_when_lock_gone = false;
    stage_.hold("A:after-handler");
    auto a = start("A");
    stage_.await("A:after-handler");
    lock_time_is_over();
    EXPECT_THROW(call("B"), IdempotentException);  // "in progress", thrown inside the try
    EXPECT_EQ(status(), Status::fail);
    EXPECT_EQ(call("C").body, "order placed");
    stage_.release("A:after-handler");
    a.get();
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z02_a_request_id_from_the_key_lets_every_duplicate_in) {
    options_.recover_when_lock_gone = false;
    stage_.hold("A:after-handler");
    auto a = start("A");
    stage_.await("A:after-handler");
    EXPECT_THROW(call("B"), IdempotentException);
    stage_.await("B:locked");  // no lock kept it out, though A holds it
    EXPECT_EQ(call("C").body, "order placed");
    stage_.release("A:after-handler");
    a.get();
    EXPECT_EQ(effects_, 2);  // without any fault
}

TEST_F(Strawman, Z03_a_double_click_with_one_request_id_enters_twice) {
    options_.derive_request_id = options_.recover_when_lock_gone = false;
    const Request click{.request_id = "from-the-browser", .body = {}};
    stage_.hold("A:before-handler");
    auto a = start("A", click);
    stage_.await("A:before-handler");
    EXPECT_THROW(call("B", click), IdempotentException);
    stage_.await("B:locked");
    stage_.release("A:before-handler");
    a.get();
}

TEST_F(Strawman, Z04_the_first_to_leave_deletes_the_lock_of_the_one_inside) {
    options_.recover_when_lock_gone = false;
    stage_.hold("A:before-handler");
    auto a = start("A");
    stage_.await("A:before-handler");
    EXPECT_THROW(call("B"), IdempotentException);
    EXPECT_FALSE(lock_.exists(key));  // A is still working
    stage_.release("A:before-handler");
    a.get();
}

TEST_F(Strawman, Z04_a_late_entrant_holds_a_nearly_dead_lock) {
    stage_.hold("A:before-handler");
    auto a = start("A");
    stage_.await("A:before-handler");
    now_ += options_.lock_expire - 1;
    EXPECT_TRUE(lock_.try_lock(key, "request-of-" + key, options_.lock_expire));  // "renewed", says the text
    now_ += 1;
    EXPECT_FALSE(lock_.exists(key));
    stage_.release("A:before-handler");
    a.get();
}

TEST_F(Strawman, Z05_unlock_deletes_the_successors_lock) {
    options_.recover_when_lock_gone = false;
    stage_.hold("A:after-handler");
    auto a = start("A");
    stage_.await("A:after-handler");
    lock_time_is_over();
    stage_.hold("B:locked");
    auto b = start("B");
    stage_.await("B:locked");
    stage_.release("A:after-handler");
    a.get();
    EXPECT_FALSE(lock_.exists(key));  // B's
    stage_.release("B:locked");
    EXPECT_TRUE(b.get().replayed);
}

TEST_F(Strawman, Z06_two_retries_of_a_failure_both_run) {
    EXPECT_THROW(call("A", {}, true), std::runtime_error);
    EXPECT_EQ(status(), Status::fail);
    stage_.hold("B:selected");
    auto b = start("B");
    stage_.await("B:selected");
    EXPECT_EQ(call("C").body, "order placed");
    stage_.release("B:selected");
    b.get();
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z07_a_fenced_out_owner_finishes_its_successors_attempt) {
    options_.derive_request_id = false;
    stage_.hold("A:after-handler");
    auto a = start("A");
    stage_.await("A:after-handler");
    lock_time_is_over();
    stage_.hold("B:before-handler");
    auto b = start("B");  // §3.4: PROCESSING without a lock → FAIL → runs
    stage_.await("B:before-handler");
    EXPECT_EQ(status(), Status::processing);
    stage_.release("A:after-handler");
    a.get();
    EXPECT_EQ(status(), Status::success);  // B hasn't even begun
    stage_.release("B:before-handler");
    b.get();
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z08_SUCCESS_is_overwritten_by_FAIL_and_runs_again) {
    options_.recover_when_lock_gone = false;
    stage_.hold("A:after-handler");
    auto a = start("A");
    stage_.await("A:after-handler");
    stage_.hold("B:caught");
    auto b = start("B");
    stage_.await("B:caught");
    stage_.release("A:after-handler");
    a.get();
    EXPECT_EQ(status(), Status::success);
    stage_.release("B:caught");
    EXPECT_THROW(b.get(), IdempotentException);
    EXPECT_EQ(status(), Status::fail);
    EXPECT_EQ(call("C").body, "order placed");
    EXPECT_EQ(effects_, 2);
}

/// A table whose update to SUCCESS fails once.
class FailingTable : public MemoryTable {
public:
    using MemoryTable::MemoryTable;
    void update_status(const std::string& trace_id, Status status) override {
        if (status == Status::success && fail_once_.exchange(false)) throw std::runtime_error("the database is away");
        MemoryTable::update_status(trace_id, status);
    }

private:
    std::atomic<bool> fail_once_{true};
};

TEST_F(Strawman, Z09_a_failed_update_makes_a_finished_business_FAIL) {
    FailingTable table([this] { return now_.load(); });
    Interceptor interceptor(table, lock_, options_);
    const auto handler = [&] {
        ++effects_;
        return std::string("order placed");
    };
    EXPECT_THROW(interceptor.run(key, {}, handler), std::runtime_error);
    EXPECT_EQ(table.select_by_trace_id(key).value().status, Status::fail);
    interceptor.run(key, {}, handler);
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z10_a_crash_between_effect_and_SUCCESS_runs_again) {
    Options options = options_;
    options.at = [](std::string_view point) {
        if (point == "after-handler") throw ProcessDied{};
    };
    Interceptor dying(table_, lock_, options);
    EXPECT_THROW(dying.run(key, {}, [&] { return ++effects_, std::string("order placed"); }), ProcessDied);
    now_ += 300'001;
    EXPECT_EQ(recover_processing_records(table_, lock_), 1u);
    call("B");
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z11_recovery_doubles_a_slow_but_living_owner) {
    stage_.hold("A:before-handler");
    auto a = start("A");
    stage_.await("A:before-handler");
    now_ += 300'001;
    EXPECT_EQ(recover_processing_records(table_, lock_), 1u);
    call("B");
    stage_.release("A:before-handler");
    a.get();
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z12_a_restart_of_redis_doubles_everything_in_flight) {
    options_.derive_request_id = false;
    stage_.hold("A:before-handler");
    auto a = start("A");
    stage_.await("A:before-handler");
    lock_.forget_everything();
    call("B");
    stage_.release("A:before-handler");
    a.get();
    EXPECT_EQ(effects_, 2);
}

TEST_F(Strawman, Z13_recovery_deletes_a_living_owners_lock) {
    stage_.hold("A:before-handler");
    options_.lock_expire = 600'000;
    auto a = start("A");
    stage_.await("A:before-handler");
    now_ += 300'001;
    ASSERT_TRUE(lock_.exists(key));
    recover_processing_records(table_, lock_);
    EXPECT_FALSE(lock_.exists(key));
    stage_.release("A:before-handler");
    a.get();
}

TEST_F(Strawman, Z26_a_replay_has_no_answer_to_give) {
    call("A");
    const Reply replay = call("B");
    EXPECT_TRUE(replay.replayed);
    EXPECT_TRUE(replay.body.empty());
}

/// No stage: threads as they come. Double effects within seconds, without any fault.
TEST(StrawmanRace, free_running_threads_double_an_effect) {
    std::atomic<bool> doubled{false};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (int round = 0; !doubled && std::chrono::steady_clock::now() < until; ++round) {
        MemoryTable table;
        MemoryLock lock;
        Interceptor interceptor(table, lock);
        std::atomic<int> effects{0};
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] {
                for (int again = 0; again < 8; ++again) try {
                        interceptor.run(key, {}, [&] {
                            ++effects;
                            std::this_thread::yield();
                            return std::string("order placed");
                        });
                    } catch (const IdempotentException&) {  // a client tries again
                    }
            });
        threads.clear();
        doubled = effects > 1;
    }
    EXPECT_TRUE(doubled);
}

}  // namespace
}  // namespace nebis::strawman
