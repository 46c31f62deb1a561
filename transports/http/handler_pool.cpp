// SPDX-License-Identifier: Apache-2.0
#include "handler_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::http {

struct HandlerPool::State {
    explicit State(std::size_t most) : max_threads(std::max<std::size_t>(1, most)) {}

    const std::size_t max_threads;
    mutable std::mutex mutex;
    std::condition_variable work;
    mutable std::condition_variable quiet;
    std::deque<std::function<void()>> tasks;
    std::size_t idle = 0;
    std::size_t running = 0;
    bool stopping = false;
    std::vector<std::thread> threads;

    void serve() {
        std::unique_lock lock(mutex);
        for (;;) {
            ++idle;
            work.wait(lock, [this] { return stopping || !tasks.empty(); });
            --idle;
            if (tasks.empty()) return;
            auto task = std::move(tasks.front());
            tasks.pop_front();
            ++running;
            lock.unlock();
            task();
            task = nullptr;  // what it holds is let go of outside the lock, and before it counts as done
            lock.lock();
            if (--running == 0 && tasks.empty()) quiet.notify_all();
        }
    }
};

HandlerPool::HandlerPool(std::size_t max_threads) : state_(std::make_shared<State>(max_threads)) {}

HandlerPool::~HandlerPool() {
    std::vector<std::thread> threads;
    {
        std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        threads.swap(state_->threads);
    }
    state_->work.notify_all();
    for (auto& thread : threads) {
        if (thread.get_id() == std::this_thread::get_id())
            thread.detach();  // the last holder was a task; the state outlives it
        else
            thread.join();
    }
}

void HandlerPool::post(std::function<void()> task) {
    std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    // More work than sleepers: as long as one more thread may be made, nothing waits behind a handler that blocks.
    if (state_->tasks.size() > state_->idle && state_->threads.size() < state_->max_threads)
        state_->threads.emplace_back([state = state_] { state->serve(); });
    state_->work.notify_one();
}

bool HandlerPool::idle_within(std::chrono::milliseconds time) const {
    std::unique_lock lock(state_->mutex);
    return state_->quiet.wait_for(lock, time, [this] { return state_->running == 0 && state_->tasks.empty(); });
}

}  // namespace nebis::http
