// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support.hpp"

#include <map>

namespace nebis::testkit {

struct RenewingFigures {
    std::chrono::milliseconds lease;
    std::chrono::milliseconds handler;  ///< how long each handler runs: many leases
    std::chrono::milliseconds
        transaction;                    ///< one `atomic` transaction that holds its row, and with SQLite the whole file
    std::chrono::milliseconds stopped;  ///< the store answers nobody
    int handlers = 200;
};

/// Two instances on one file. A runs many long handlers at once; one transaction of A holds its row for many leases;
/// then the store stops for more than a lease. All the while B asks for the same keys, would run them if it thought A
/// dead (`on-unknown: retry`), and recovers. Nothing may be taken over, nothing may run twice.
inline void renew_through_everything(const RenewingFigures& figures) {
    using std::chrono::milliseconds;
    using std::chrono::steady_clock;
    Folder folder;
    const std::string file = folder.file("renew.db");
    const sqlite::Database database(
        sqlite::Options{.path = file, .busy_timeout = milliseconds(300), .create_schema = true});
    const std::string lease = std::to_string(figures.lease.count());
    const std::string configuration =
        "nebis: {idempotent: {lock-expire-millis: " + lease +
        ", budget-millis: " + std::to_string(figures.lease.count() - 100) +
        ", on-unknown: retry, processing-timeout-millis: 1000, lock-renew: {max-expire-millis: 60000}}}";
    Engine a = engine_on(sqlite::store(database), configuration);
    Engine b = engine_on(sqlite_store(file), configuration);
    Policy policy;
    policy.operation = "renew";
    policy.key = header("Idempotency-Key");
    const Operation at_a = a.operation(policy).value(), at_b = b.operation(policy).value();
    Policy holding = policy;
    holding.operation = "hold";
    holding.mode = Mode::atomic;
    const Operation hold = a.operation(holding).value(), hold_at_b = b.operation(holding).value();

    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, int> runs;
    std::vector<Completion> open;
    std::vector<Answer> answers;
    const Handler later = Handler::later([&](const Request& request, Execution execution, Completion completion) {
        const std::lock_guard lock(mutex);
        ++runs[request.headers[0].value];
        EXPECT_EQ(execution.attempt(), 1U);
        open.push_back(completion);
        changed.notify_all();
    });
    const auto started = steady_clock::now();
    for (int i = 0; i < figures.handlers; ++i) {
        a.run_async(at_a, request_with("k" + std::to_string(i)), later, inline_executor(), [&](Answer answer) {
            const std::lock_guard lock(mutex);
            answers.push_back(std::move(answer));
            changed.notify_all();
        });
    }
    {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60),
                                     [&] { return open.size() == static_cast<std::size_t>(figures.handlers); }));
    }
    // B never stops asking.
    std::atomic<bool> stop{false};
    std::atomic<int> doubles{0}, asked{0};
    std::atomic<const char*> phase{"calm"};
    std::string first_double;
    const Handler never([&](const Request& request, Execution&) {
        if (doubles++ == 0) {
            const auto at = std::chrono::duration_cast<milliseconds>(steady_clock::now() - started).count();
            first_double = std::string("first: ") + request.headers[0].value + " at " + std::to_string(at) + " ms, " +
                           phase.load();
        }
        return Response{200, {}, "double", false};
    });
    std::thread prober([&] {
        for (int i = 0; !stop; ++i) {
            const Answer answer = b.run(at_b, request_with("k" + std::to_string(i % figures.handlers)), never);
            if (answer.outcome == Outcome::in_progress || answer.outcome == Outcome::unavailable ||
                answer.outcome == Outcome::replayed)
                ++asked;
            if (i % 16 == 0) (void)b.recover_now();
        }
    });
    phase = "a transaction holds the file";
    // One transaction that holds its row.
    std::atomic<int> held{0};
    const auto body = sqlite::atomic(database, [&](sqlite3*) {
        ++held;
        std::this_thread::sleep_for(figures.transaction);
    });
    Answer of_holder =
        a.run(hold, request_with("holder"), Handler::atomic(body.runner, [&](const Request&, void* tx, Execution&) {
                  body.body(static_cast<sqlite3*>(tx));
                  return Response{200, {}, "held", false};
              }));
    EXPECT_EQ(of_holder.outcome, Outcome::fresh);
    EXPECT_EQ(held.load(), 1);
    phase = "calm again";
    std::this_thread::sleep_for(figures.lease);
    phase = "the store is stopped";
    // The store answers nobody.
    {
        sqlite3* locked = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &locked), SQLITE_OK);
        sqlite3_busy_timeout(locked, 10'000);
        ASSERT_EQ(sqlite3_exec(locked, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
        std::this_thread::sleep_for(figures.stopped);
        sqlite3_exec(locked, "ROLLBACK", nullptr, nullptr, nullptr);
        sqlite3_close(locked);
    }
    phase = "the store is back";
    std::this_thread::sleep_until(started + figures.handler);
    std::this_thread::sleep_for(2 * figures.lease);
    {
        std::unique_lock lock(mutex);
        phase = "the handlers end";
        auto ending = std::move(open);
        lock.unlock();
        for (const Completion& completion : ending) completion.answer({200, {}, "done", false});
        ending.clear();
        lock.lock();
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60),
                                     [&] { return answers.size() == static_cast<std::size_t>(figures.handlers); }));
    }
    stop = true;
    prober.join();
    EXPECT_EQ(doubles.load(), 0) << first_double;
    EXPECT_GT(asked.load(), 0);
    EXPECT_EQ(runs.size(), static_cast<std::size_t>(figures.handlers));
    for (const auto& [key, times] : runs) EXPECT_EQ(times, 1) << key;
    for (const Answer& answer : answers) {
        EXPECT_EQ(answer.outcome, Outcome::fresh);
        EXPECT_TRUE(answer.recorded);
    }
    EXPECT_TRUE(a.drain(std::chrono::seconds(30)));
    for (int i = 0; i < figures.handlers; ++i) {
        const auto record = b.inspect(at_b, request_with("k" + std::to_string(i))).value();
        ASSERT_TRUE(record);
        EXPECT_EQ(record->status, RecordStatus::success);
        EXPECT_EQ(record->attempts, 1U);
    }
    EXPECT_EQ(b.inspect(hold_at_b, request_with("holder")).value()->attempts, 1U);
}

}  // namespace nebis::testkit
