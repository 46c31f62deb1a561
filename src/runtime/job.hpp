// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/store.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace nebis::runtime {

class Job;

/// Who is told when a job that nobody blocks for has ended.
class JobSink {
public:
    /// `lost`: the job didn't end in time, its own result must not be looked at. Called once, by a worker or the timer
    /// thread.
    virtual void job_done(const std::shared_ptr<Job>& job, std::optional<Error> lost) noexcept = 0;

protected:
    ~JobSink() = default;
};

/// One request on its way through a BatchQueue. Shared between the one who asked and the one who carries, because a
/// driver that is stuck may still use it long after the asker's deadline has passed; whatever its views point at is
/// kept alive by `keeps`.
class Job {
public:
    /// queued → carried → done; the asker's deadline turns queued into dropped and carried into lost.
    enum class State : std::uint32_t { queued, carried, done, dropped, lost };

    Job(unsigned kind, std::string_view key, Deadline deadline, std::shared_ptr<const void> keeps)
        : kind_(kind), key_(key), deadline_(deadline), keeps_(std::move(keeps)) {}
    virtual ~Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// The result is this error. Called by the carrier only.
    virtual void fail(const Error& error) = 0;

    unsigned kind() const noexcept { return kind_; }
    std::string_view key() const noexcept { return key_; }
    Deadline deadline() const noexcept { return deadline_; }

    bool take() noexcept { return exchange_if(State::queued, State::carried); }

    /// The carrier is done with it. False: nobody waits any more.
    bool finish() noexcept { return exchange_if(State::carried, State::done); }

    /// The asker gives up. Empty: too late, it is done. Else the error that tells whether it may have been applied.
    std::optional<Error> abandon();
    bool lost() const noexcept { return state_.load(std::memory_order_acquire) == std::uint32_t(State::lost); }

    /// Blocks until done or the deadline. False: not done.
    bool wait();
    void wake() noexcept;

    std::shared_ptr<JobSink> sink;  ///< null: somebody blocks in `wait`
    bool changes = true;            ///< a lost reply leaves open whether it was applied
    std::uint64_t order = 0;        ///< the queue's

private:
    bool exchange_if(State from, State to) noexcept {
        auto expected = std::uint32_t(from);
        return state_.compare_exchange_strong(expected, std::uint32_t(to), std::memory_order_acq_rel);
    }

    const unsigned kind_;
    const std::string_view key_;
    const Deadline deadline_;
    const std::shared_ptr<const void> keeps_;
    std::atomic<std::uint32_t> state_{std::uint32_t(State::queued)};
};

}  // namespace nebis::runtime
