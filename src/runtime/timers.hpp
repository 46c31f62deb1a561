// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace nebis::runtime {

/// One thread that calls back later: ends of waits, deadlines of queues. Tasks must not block. The thread starts with
/// the first task.
/// **Threads**: safe.
class Timers {
public:
    using Clock = std::chrono::steady_clock;
    using Task = std::function<void()>;
    struct Id {
        Clock::time_point at{};
        std::uint64_t number = 0;  ///< 0: none
        friend auto operator<=>(const Id&, const Id&) = default;
    };

    Timers() = default;
    ~Timers() { stop(); }
    Timers(const Timers&) = delete;
    Timers& operator=(const Timers&) = delete;

    Id at(Clock::time_point when, Task task);
    /// True: it won't run. False: it ran, runs, or was never there.
    bool cancel(const Id& id);
    /// No task runs after it; those left are dropped.
    void stop();

private:
    void loop();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Id, Task> tasks_;
    std::uint64_t number_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace nebis::runtime
