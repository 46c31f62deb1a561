// SPDX-License-Identifier: Apache-2.0
#include "runtime/timers.hpp"

#include "runtime/own_thread.hpp"

namespace nebis::runtime {

Timers::Id Timers::at(Clock::time_point when, Task task) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return {};
    const Id id{when, ++number_};
    const auto place = tasks_.emplace(id, std::move(task)).first;
    if (!thread_.joinable())
        thread_ = std::thread([this] { loop(); });
    else if (place == tasks_.begin())
        changed_.notify_one();
    return id;
}

bool Timers::cancel(const Id& id) {
    Task dropped;  // destroyed without the mutex: it may own the last handle of something big
    const std::lock_guard lock(mutex_);
    const auto place = tasks_.find(id);
    if (place == tasks_.end()) return false;
    dropped = std::move(place->second);
    tasks_.erase(place);
    return true;
}

void Timers::stop() {
    std::map<Id, Task> dropped;
    std::thread thread;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        dropped.swap(tasks_);
        thread.swap(thread_);
        changed_.notify_one();
    }
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id())
        thread.detach();
    else
        thread.join();
}

void Timers::loop() {
    own_thread = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (tasks_.empty()) {
            changed_.wait(lock);
            continue;
        }
        const auto first = tasks_.begin();
        if (first->first.at > Clock::now()) {
            changed_.wait_until(lock, Clock::time_point(first->first.at));
            continue;
        }
        Task task = std::move(first->second);
        tasks_.erase(first);
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
    }
}

}  // namespace nebis::runtime
