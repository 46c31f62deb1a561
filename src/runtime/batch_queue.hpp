// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/job.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace nebis::runtime {

/// What takes a batch to its store or lock: keys sorted and unique within each kind. Sets the result of every job;
/// throws nothing.
class Carrier {
public:
    virtual ~Carrier() = default;
    virtual void carry(std::span<Job* const> batch) noexcept = 0;
    /// A job was given up while it was being carried: its driver is slow or stuck.
    virtual void overdue() noexcept {}
};

/// One queue for one store or one lock (decision D3). The next batch is whatever arrived while the last one was in
/// flight, so that an idle queue adds no delay and a busy one shares its commits.
///
/// A caller that may block and finds the queue idle carries its request itself: no thread switch. All others are served
/// by a few workers; a worker goes on until nothing is left. **Threads**: safe.
class BatchQueue {
public:
    static constexpr unsigned max_kinds = 8;

    struct Options {
        unsigned slots = 1;  ///< batches in flight at once
        std::size_t batch_max = 64;
        std::size_t queue_max = 10'000;
        /// Kinds of the same group may share a batch. Groups with a smaller number go first only if urgent.
        std::array<unsigned char, max_kinds> group{0, 1, 2, 3, 4, 5, 6, 7};
        unsigned urgent = max_kinds;             ///< this group overtakes the others (renewals)
        std::string what = "store";              ///< for messages
        std::function<void(Deadline)> arm = {};  ///< somebody please call `sweep` then; may come again, earlier
    };

    BatchQueue(std::shared_ptr<Carrier> carrier, Options options);
    ~BatchQueue();
    BatchQueue(const BatchQueue&) = delete;
    BatchQueue& operator=(const BatchQueue&) = delete;

    /// Blocks until the job has its result; or an error instead of it: no room, the deadline, the end of the queue.
    std::optional<Error> run(const std::shared_ptr<Job>& job);

    /// Returns at once; `job->sink` is told. Refusals are told on this very thread.
    void submit(std::shared_ptr<Job> job);

    /// Answers jobs with a sink whose deadline has passed; `Options::arm` asks for it.
    void sweep(Deadline now);

    std::size_t depth() const;

    /// Refuses what comes, waits a bounded time for the workers; one that is stuck in its driver is left behind. Not
    /// from a worker.
    void stop();

private:
    struct State;
    static void work(const std::shared_ptr<State>& state);

    std::shared_ptr<State> state_;
};

}  // namespace nebis::runtime
