// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

/// Stops threads at named points, so that a race happens the same way every time.
namespace nebis::strawman {

class Stage {
public:
    /// A thread that comes to `point` is to wait there until `release`.
    void hold(const std::string& point) {
        const std::lock_guard guard(mutex_);
        held_.insert(point);
    }
    void release(const std::string& point) {
        const std::lock_guard guard(mutex_);
        held_.erase(point);
        changed_.notify_all();
    }
    /// Called by the threads on the stage.
    void at(const std::string& point) {
        std::unique_lock guard(mutex_);
        ++reached_[point];
        changed_.notify_all();
        if (!changed_.wait_for(guard, bound, [&] { return !held_.contains(point); }))
            throw std::runtime_error("nobody released " + point);
    }
    /// Waits until some thread has come to `point`.
    void await(const std::string& point) {
        std::unique_lock guard(mutex_);
        if (!changed_.wait_for(guard, bound, [&] { return reached_[point] > 0; }))
            throw std::runtime_error("nobody came to " + point);
    }

private:
    static constexpr std::chrono::seconds bound{30};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::string> held_;
    std::map<std::string, int> reached_;
};

}  // namespace nebis::strawman
