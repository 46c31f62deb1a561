// SPDX-License-Identifier: Apache-2.0
#include "handler_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

namespace nebis::http {
namespace {

using namespace std::chrono_literals;

TEST(HttpHandlerPool, blocking_handlers_run_beside_each_other_up_to_the_bound) {
    HandlerPool pool(4);
    std::latch all_here(4);
    std::promise<void> done;
    std::atomic<int> left = 4;
    for (int i = 0; i < 4; ++i)
        pool.post([&] {
            all_here.arrive_and_wait();  // only four threads at once get past this
            if (--left == 0) done.set_value();
        });
    EXPECT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
}

TEST(HttpHandlerPool, never_more_threads_than_allowed) {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    {
        HandlerPool pool(2);
        for (int i = 0; i < 200; ++i)
            pool.post([&] {
                const int here = ++now;
                int seen = most;
                while (here > seen && !most.compare_exchange_weak(seen, here)) {}
                std::this_thread::yield();
                --now;
            });
        EXPECT_TRUE(pool.idle_within(10s));
    }
    EXPECT_LE(most, 2);
    EXPECT_GE(most, 1);
}

TEST(HttpHandlerPool, destruction_lets_queued_tasks_run) {
    std::atomic<int> ran = 0;
    {
        HandlerPool pool(1);
        for (int i = 0; i < 100; ++i) pool.post([&] { ++ran; });
    }
    EXPECT_EQ(ran, 100);
}

TEST(HttpHandlerPool, last_holder_may_be_a_task) {
    std::promise<void> released;
    auto pool = std::make_shared<HandlerPool>(2);
    auto* raw = pool.get();
    std::promise<void> dropped;
    raw->post([pool, &released, go = dropped.get_future().share()]() mutable {
        go.wait();
        pool.reset();  // destroys the pool on one of its own threads
        released.set_value();
    });
    pool.reset();
    dropped.set_value();
    EXPECT_EQ(released.get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace nebis::http
