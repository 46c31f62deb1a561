// SPDX-License-Identifier: Apache-2.0
#include "runtime/batch_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// D3: one queue, whatever arrived meanwhile is the next batch, each request keeps its own deadline.
namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct TestJob final : Job {
    TestJob(unsigned kind, const std::shared_ptr<const std::string>& key, milliseconds time)
        : Job(kind, *key, steady_clock::now() + time, key) {}
    void fail(const Error&) override { failed = true; }
    bool failed = false;
    std::thread::id carried_by;
};

std::shared_ptr<TestJob> job(std::string key, milliseconds time = milliseconds(10'000), unsigned kind = 0) {
    return std::make_shared<TestJob>(kind, std::make_shared<const std::string>(std::move(key)), time);
}

/// Remembers what it carried; stands still while it is told to.
class TestCarrier final : public Carrier {
public:
    void carry(std::span<Job* const> batch) noexcept override {
        std::unique_lock lock(mutex);
        std::vector<std::string> keys;
        for (Job* one : batch) {
            keys.push_back(std::to_string(one->kind()) + std::string(one->key()));
            static_cast<TestJob*>(one)->carried_by = std::this_thread::get_id();
        }
        batches.push_back(keys);
        changed.notify_all();
        changed.wait(lock, [this] { return !closed; });
    }
    void overdue() noexcept override { ++overdues; }
    void close() {
        const std::lock_guard lock(mutex);
        closed = true;
    }
    void open() {
        const std::lock_guard lock(mutex);
        closed = false;
        changed.notify_all();
    }
    bool wait_batches(std::size_t many) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(10), [&] { return batches.size() >= many; });
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::vector<std::string>> batches;
    std::atomic<int> overdues{0};
    bool closed = false;
};

struct TestSink final : JobSink {
    void job_done(const std::shared_ptr<Job>& one, std::optional<Error> lost) noexcept override {
        const std::lock_guard lock(mutex);
        done.emplace_back(one->key());
        errors.push_back(lost ? std::optional(lost->kind()) : std::nullopt);
        if (then) then();
        changed.notify_all();
    }
    bool wait(std::size_t many) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(10), [&] { return done.size() >= many; });
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> done;
    std::vector<std::optional<ErrorKind>> errors;
    std::function<void()> then;
};

struct Queue : testing::Test {
    std::shared_ptr<TestCarrier> carrier = std::make_shared<TestCarrier>();
    std::shared_ptr<TestSink> sink = std::make_shared<TestSink>();
    std::shared_ptr<TestJob> submit(BatchQueue& queue, std::shared_ptr<TestJob> one) {
        one->sink = sink;
        queue.submit(one);
        return one;
    }
};

TEST_F(Queue, a_lone_caller_carries_its_request_itself) {
    BatchQueue queue(carrier, {});
    const auto one = job("a");
    EXPECT_FALSE(queue.run(one));
    EXPECT_EQ(one->carried_by, std::this_thread::get_id());
}

TEST_F(Queue, what_arrives_meanwhile_is_the_next_batch_sorted_and_without_equal_keys) {
    BatchQueue queue(carrier, {.batch_max = 4});
    carrier->close();
    submit(queue, job("first"));
    ASSERT_TRUE(carrier->wait_batches(1));
    for (const char* key : {"c", "a", "b", "a", "d"}) submit(queue, job(key));
    carrier->open();
    ASSERT_TRUE(sink->wait(6));
    ASSERT_EQ(carrier->batches.size(), 3U);
    EXPECT_EQ(carrier->batches[1], (std::vector<std::string>{"0a", "0b", "0c"}));
    EXPECT_EQ(carrier->batches[2], (std::vector<std::string>{"0a", "0d"}));
}

TEST_F(Queue, kinds_share_a_batch_only_within_a_group_and_the_urgent_group_goes_first) {
    BatchQueue queue(carrier, {.group = {0, 0, 1, 2, 4, 5, 6, 7}, .urgent = 1});
    carrier->close();
    submit(queue, job("first"));
    ASSERT_TRUE(carrier->wait_batches(1));
    submit(queue, job("x", milliseconds(10'000), 3));
    submit(queue, job("b", milliseconds(10'000), 0));
    submit(queue, job("a", milliseconds(10'000), 1));
    submit(queue, job("r", milliseconds(10'000), 2));
    carrier->open();
    ASSERT_TRUE(sink->wait(5));
    ASSERT_EQ(carrier->batches.size(), 4U);
    EXPECT_EQ(carrier->batches[1], (std::vector<std::string>{"2r"}));
    EXPECT_EQ(carrier->batches[2], (std::vector<std::string>{"3x"}));
    EXPECT_EQ(carrier->batches[3], (std::vector<std::string>{"0b", "1a"}));
}

TEST_F(Queue, too_many_are_refused_as_overloaded) {
    BatchQueue queue(carrier, {.queue_max = 2});
    carrier->close();
    submit(queue, job("first"));
    ASSERT_TRUE(carrier->wait_batches(1));
    submit(queue, job("a"));
    submit(queue, job("b"));
    submit(queue, job("c"));
    {
        const std::lock_guard lock(sink->mutex);
        ASSERT_EQ(sink->done, std::vector<std::string>{"c"});
        EXPECT_EQ(sink->errors[0], ErrorKind::overloaded);
    }
    const auto lost = queue.run(job("d"));
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->kind(), ErrorKind::overloaded);
    carrier->open();
    ASSERT_TRUE(sink->wait(4));
}

TEST_F(Queue, deadlines_of_callers_hold_even_when_the_driver_is_stuck) {
    BatchQueue queue(carrier, {});
    carrier->close();
    submit(queue, job("blocker"));
    ASSERT_TRUE(carrier->wait_batches(1));
    const auto lost = queue.run(job("queued", milliseconds(50)));
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->kind(), ErrorKind::unavailable);  // it never left the queue
    carrier->open();
    ASSERT_TRUE(sink->wait(1));
}

TEST_F(Queue, a_request_in_a_stuck_driver_is_maybe_applied_at_its_deadline_and_its_late_result_is_dropped) {
    std::atomic<int> armed{0};
    BatchQueue queue(carrier, {.arm = [&](Deadline) { ++armed; }});
    carrier->close();
    submit(queue, job("in-flight", milliseconds(30)));
    ASSERT_TRUE(carrier->wait_batches(1));
    EXPECT_EQ(armed.load(), 1);
    queue.sweep(steady_clock::now() + milliseconds(100));
    ASSERT_TRUE(sink->wait(1));
    EXPECT_EQ(sink->errors[0], ErrorKind::maybe_applied);
    EXPECT_EQ(carrier->overdues.load(), 1);
    carrier->open();
    queue.stop();
    EXPECT_EQ(sink->done.size(), 1U);
}

TEST_F(Queue, callbacks_of_a_large_batch_are_called_by_a_second_thread_as_well) {
    struct Meeting final : JobSink {
        void job_done(const std::shared_ptr<Job>&, std::optional<Error>) noexcept override {
            std::unique_lock lock(mutex);
            threads.push_back(std::this_thread::get_id());
            changed.notify_all();
            // The first one stays until another thread has come; were there none, the others would wait behind it.
            const auto another = [this] {
                return std::any_of(threads.begin(), threads.end(), [&](auto id) { return id != threads.front(); });
            };
            if (met) met = changed.wait_for(lock, std::chrono::seconds(10), another);
        }
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<std::thread::id> threads;
        bool met = true;
    };
    constexpr std::size_t many = 64;
    const auto meeting = std::make_shared<Meeting>();
    {
        BatchQueue queue(carrier, {});
        carrier->close();
        submit(queue, job("first"));
        ASSERT_TRUE(carrier->wait_batches(1));
        for (std::size_t i = 0; i < many; ++i) {
            const auto one = job("k" + std::to_string(i));
            one->sink = meeting;
            queue.submit(one);
        }
        carrier->open();
        std::unique_lock lock(meeting->mutex);
        EXPECT_TRUE(meeting->changed.wait_for(lock, std::chrono::seconds(20), [&] {
            return meeting->threads.size() == many;
        })) << "each is called once";
    }
    EXPECT_TRUE(meeting->met);
    EXPECT_EQ(meeting->threads.size(), many);
}

TEST_F(Queue, a_blocking_call_from_a_callback_of_the_same_queue_does_not_wait_for_itself) {
    BatchQueue queue(carrier, {});
    std::optional<Error> nested = Error(ErrorKind::internal, "not run");
    sink->then = [&] { nested = queue.run(job("nested")); };
    submit(queue, job("a"));
    ASSERT_TRUE(sink->wait(1));
    EXPECT_FALSE(nested);
}

TEST_F(Queue, a_blocking_call_from_the_callback_of_an_expired_request_does_not_wait_for_itself) {
    BatchQueue queue(carrier, {});
    carrier->close();
    submit(queue, job("first"));
    ASSERT_TRUE(carrier->wait_batches(1));
    struct Asker final : JobSink {
        explicit Asker(BatchQueue& asked) : queue(asked) {}
        void job_done(const std::shared_ptr<Job>&, std::optional<Error> lost) noexcept override {
            expired = lost.has_value();
            answered = !queue.run(job("nested", milliseconds(2'000)));
            over = true;
        }
        BatchQueue& queue;
        std::atomic<bool> expired{false}, answered{false}, over{false};
    };
    const auto asker = std::make_shared<Asker>(queue);
    const auto late = job("late", milliseconds(1));
    late->sink = asker;
    queue.submit(late);
    while (steady_clock::now() <= late->deadline()) std::this_thread::yield();
    carrier->open();
    for (const auto until = steady_clock::now() + std::chrono::seconds(10);
         !asker->over && steady_clock::now() < until;)
        std::this_thread::yield();
    EXPECT_TRUE(asker->expired);
    EXPECT_TRUE(asker->answered);
}

TEST_F(Queue, many_threads_all_get_their_results) {
    BatchQueue queue(carrier, {.slots = 2});
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int t = 0; t < 16; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i)
                if (!queue.run(job(std::to_string(t) + "-" + std::to_string(i)))) ++good;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good.load(), 1600);
}

TEST_F(Queue, a_closed_queue_refuses) {
    BatchQueue queue(carrier, {});
    queue.stop();
    const auto lost = queue.run(job("a"));
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->kind(), ErrorKind::unavailable);
}

}  // namespace
}  // namespace nebis::runtime
