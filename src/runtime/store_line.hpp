// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "runtime/batch_queue.hpp"
#include "runtime/breaker.hpp"
#include "runtime/line_watch.hpp"
#include "runtime/session_pool.hpp"
#include "runtime/store_clock.hpp"
#include "runtime/timers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <variant>

namespace nebis::runtime {

/// One request to a store on its way through the queue.
class StoreJob final : public Job {
public:
    enum Kind : unsigned { begins, finishes, renews, finds, others };
    /// Work on a whole session: recovery, clean-up, operators. Gets no session but the error when there is none;
    /// returns whether the store is well.
    using Other = std::function<bool(StoreSession*, const Error*, Deadline)>;

    StoreJob(BeginRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(begins, in.trace_id, deadline, std::move(keeps)), in(in) {}
    StoreJob(FinishRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(finishes, in.trace_id, deadline, std::move(keeps)), in(in) {}
    StoreJob(RenewRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(renews, in.trace_id, deadline, std::move(keeps)), in(in) {}
    StoreJob(FindRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(finds, in.trace_id, deadline, std::move(keeps)), in(in) {
        changes = false;
    }
    StoreJob(Other in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(others, {}, deadline, std::move(keeps)), in(std::move(in)) {}

    void fail(const Error& error) override;

    std::variant<BeginRequest, FinishRequest, RenewRequest, FindRequest, Other> in;
    std::variant<std::monostate, Result<BeginOutcome>, Result<FinishOutcome>, Result<RenewOutcome>, Result<FindOutcome>>
        out;  ///< set once it was carried
};

/// Everything between the calls and one store: queue, sessions, breaker, clock, and the grace after an outage. A store
/// that answers from memory (`traits().in_process`) is called directly. **Threads**: safe.
class StoreLine final : public std::enable_shared_from_this<StoreLine> {
public:
    using Clock = std::chrono::steady_clock;
    struct Options {
        std::string data_source = "primary";
        std::optional<std::size_t> max_sessions;
        std::size_t batch_max = 64;
        std::size_t queue_max = 10'000;
        std::size_t worker_threads = 2;
        std::size_t breaker_failures = 5;
        std::chrono::milliseconds breaker_open{1'000};
        std::chrono::milliseconds session_wait{800};
    };

    static std::shared_ptr<StoreLine> make(std::shared_ptr<Store> store, Options options, Timers& timers,
                                           LineWatch watch);
    ~StoreLine();

    const std::shared_ptr<Store>& store() const noexcept { return store_; }
    const StoreTraits& traits() const noexcept { return traits_; }
    const std::string& data_source() const noexcept { return options_.data_source; }
    bool direct() const noexcept { return traits_.in_process; }
    StoreClock& clock() noexcept { return clock_; }
    LineWatch& watch() noexcept { return watch_; }

    /// Direct stores only. `now`: the caller's last look at the clock; nothing here takes time.
    Result<BeginOutcome> begin(BeginRequest request, Deadline deadline, Clock::time_point now);
    Result<FinishOutcome> finish(const FinishRequest& request, Deadline deadline, Clock::time_point now);
    Result<RenewOutcome> renew(const RenewRequest& request, Deadline deadline, Clock::time_point now);
    Result<FindOutcome> find(const FindRequest& request, Deadline deadline, Clock::time_point now);

    /// Blocks at most until the job's deadline; the error stands in for a result.
    std::optional<Error> run(const std::shared_ptr<StoreJob>& job);
    /// `job->sink` is told; on this thread when it is refused at once.
    void submit(const std::shared_ptr<StoreJob>& job);
    /// Work on a whole session; blocks. `work` fills what it captured. Returns why it didn't run.
    std::optional<Error> with_session(Deadline deadline, std::function<bool(StoreSession&, Deadline)> work);

    /// After start-up and after an outage nothing is taken over or recovered for one lease: owners renew and finish
    /// first.
    bool in_grace(std::chrono::milliseconds lease, Clock::time_point now = Clock::now()) const noexcept;
    Breaker::State breaker_state() const { return breaker_.state(); }
    std::size_t depth() const { return queue_ ? queue_->depth() : 0; }
    void stop();

private:
    class BatchCarrier;

    StoreLine(std::shared_ptr<Store> store, Options options, LineWatch watch);
    template <class Outcome, class Request, class Call>
    Result<Outcome> directly(observe::StoreOp op, const Request& request, Deadline deadline, Clock::time_point now,
                             Call call);
    std::optional<Error> admit();
    void judge(bool ok, bool wrote, const Error* why);
    void carry(std::span<Job* const> batch) noexcept;

    const std::shared_ptr<Store> store_;
    const Options options_;
    const StoreTraits traits_;
    LineWatch watch_;
    SessionPool<Store, StoreSession> sessions_;
    Breaker breaker_;
    StoreClock clock_;
    std::atomic<Clock::rep> calm_since_;  ///< start, or the end of the last outage
    std::atomic<bool> troubled_{false};   ///< a whole batch failed and nothing has succeeded since
    std::unique_ptr<BatchQueue> queue_;
};

}  // namespace nebis::runtime
