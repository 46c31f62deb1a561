// SPDX-License-Identifier: Apache-2.0
#include "runtime/renewer.hpp"

#include "runtime/own_thread.hpp"
#include "runtime/store_clock.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

using protocol::LeaseBook;
using std::chrono::milliseconds;

/// A renewal that isn't answered within a third of its lease, or by then, counts as failed and is tried again; the
/// store may still apply it, which harms nobody.
constexpr std::int64_t longest_reply_wait = 1'000;
constexpr std::int64_t shortest_reply_wait = 50;
/// After an error: soon enough to matter, not so soon that it floods a sick store.
constexpr auto retry_step = milliseconds(100);

}  // namespace

/// One batch of renewals under way. Shared with the workers, which may answer after the round has been given up.
struct Renewer::Round : JobSink, std::enable_shared_from_this<Renewer::Round> {
    struct Row {
        Slot slot = 0;
        std::shared_ptr<ExecutionState> execution;
        StoreLine* store = nullptr;
        GateLine* gate = nullptr;
        std::int64_t asked = 0;
        std::optional<Result<RenewOutcome>> outcome;
    };
    std::mutex mutex;
    std::condition_variable done;
    std::vector<Row> rows;
    std::vector<std::shared_ptr<Job>> jobs;  // same order
    std::size_t open = 0;

    void job_done(const std::shared_ptr<Job>& job, std::optional<Error> lost) noexcept override {
        const std::lock_guard lock(mutex);
        const auto at = std::find(jobs.begin(), jobs.end(), job);
        if (at == jobs.end()) return;
        Row& row = rows[static_cast<std::size_t>(at - jobs.begin())];
        if (lost)
            row.outcome.emplace(*std::move(lost));
        else
            row.outcome.emplace(std::get<Result<RenewOutcome>>(static_cast<StoreJob&>(*job).out));
        if (--open == 0) done.notify_all();
    }
};

Renewer::Slot Renewer::add(std::int64_t sent, const LeaseBook::Terms& terms, std::shared_ptr<ExecutionState> execution,
                           StoreLine* store, GateLine* gate) {
    const std::lock_guard lock(mutex_);
    const Slot slot = book_.add(sent, terms, execution.get());
    if (slot >= leases_.size()) leases_.resize(slot + 1);
    execution->lease_slot = slot;
    leases_[slot] = Lease{std::move(execution), store, gate, false, false};
    if (!background_ || stopping_) return slot;
    const std::int64_t due = sent + std::max<std::int64_t>(1, std::min(terms.interval, terms.lease / 3));
    added_due_ = std::min(added_due_, due);
    if (!thread_.joinable())
        thread_ = std::thread([this] { loop(); });
    else if (due < wakes_at_)
        changed_.notify_one();
    return slot;
}

void Renewer::remove(Slot slot) {
    std::shared_ptr<ExecutionState> dropped;  // perhaps the last handle of its call: let go without the mutex
    const std::lock_guard lock(mutex_);
    leases_[slot].removed = true;
    if (leases_[slot].in_flight) return;
    dropped = std::move(leases_[slot].execution);
    book_.remove(slot);
}

void Renewer::ended(std::int64_t now) {
    std::vector<void*> over;
    std::vector<std::shared_ptr<ExecutionState>> executions;
    {
        const std::lock_guard lock(mutex_);
        book_.collect_ended(now, over);
        for (void* tag : over) executions.push_back(leases_[static_cast<ExecutionState*>(tag)->lease_slot].execution);
    }
    for (const auto& execution : executions) {
        execution->lose();
        metrics_.renewals[observe::Renewal::lost].add();
    }
}

Renewer::Clock::time_point Renewer::tick() {
    const std::lock_guard one_at_a_time(ticking_);
    const Clock::time_point started = Clock::now();
    const std::int64_t now = millis_of(started);
    auto round = std::make_shared<Round>();
    {
        const std::lock_guard lock(mutex_);
        std::vector<LeaseBook::Due> due;
        book_.collect_due(now, due);
        for (const LeaseBook::Due& one : due) {
            Lease& lease = leases_[one.slot];
            lease.in_flight = true;
            round->rows.push_back({one.slot, lease.execution, lease.store, lease.gate, one.lease, std::nullopt});
        }
    }
    if (!round->rows.empty()) {
        std::int64_t patience = longest_reply_wait;
        for (const Round::Row& row : round->rows) patience = std::min(patience, row.asked / 3);
        const auto reply_wait = milliseconds(std::max(patience, shortest_reply_wait));
        for (const Round::Row& row : round->rows) {
            const ExecutionState& execution = *row.execution;
            RenewRequest request;
            request.trace_id = execution.trace_id;
            request.version = execution.version.load(std::memory_order_acquire);
            request.owner = execution.owner;
            request.lease_millis = row.asked;
            auto job = std::make_shared<StoreJob>(request, started + reply_wait, row.execution);
            job->sink = round;
            round->jobs.push_back(std::move(job));
        }
        round->open = round->jobs.size();
        for (std::size_t i = 0; i < round->jobs.size(); ++i) {
            const Round::Row& row = round->rows[i];
            row.store->submit(std::static_pointer_cast<StoreJob>(round->jobs[i]));
            if (!row.gate) continue;
            const LockRenewRequest request{row.execution->trace_id, row.execution->owner, row.asked,
                                           row.execution->key};
            if (row.gate->direct())
                (void)row.gate->renew(request, started + reply_wait);
            else
                row.gate->submit(std::make_shared<GateJob>(request, started + reply_wait, row.execution));
        }
        std::vector<Round::Row> rows;
        {
            std::unique_lock lock(round->mutex);
            round->done.wait_until(lock, started + reply_wait + retry_step, [&] { return round->open == 0; });
            rows = round->rows;
            round->jobs.clear();  // who answers from now on is not heard
        }
        bool trouble = false;
        for (const Round::Row& row : rows) {
            const bool answered = row.outcome && row.outcome->has_value();
            const auto kind = answered ? (*row.outcome)->kind : RenewOutcome::Kind::locked;
            {
                const std::lock_guard lock(mutex_);
                Lease& lease = leases_[row.slot];
                lease.in_flight = false;
                if (lease.removed) {
                    lease.execution.reset();  // the round holds it still
                    book_.remove(row.slot);
                    continue;
                }
                if (!answered) {
                    book_.failed(row.slot);
                    metrics_.renewals[observe::Renewal::failed].add();
                    trouble = true;
                    continue;
                }
                if (kind == RenewOutcome::Kind::lost) {
                    book_.lost(row.slot);
                } else {
                    // A locked row is somebody alive, and only its owner's own transaction locks it: it counts as
                    // renewed.
                    const std::int64_t end = book_.renewed(row.slot, now, row.asked);
                    row.execution->prolong(Clock::time_point(milliseconds(end)));
                }
            }
            if (kind == RenewOutcome::Kind::lost) row.execution->lose();
            metrics_
                .renewals[kind == RenewOutcome::Kind::lost      ? observe::Renewal::lost
                          : kind == RenewOutcome::Kind::renewed ? observe::Renewal::renewed
                                                                : observe::Renewal::locked]
                .add();
        }
        ended(millis_of(Clock::now()));
        if (trouble) return Clock::now() + retry_step;
    } else {
        ended(now);
    }
    const std::lock_guard lock(mutex_);
    const std::int64_t next = book_.next();
    return next == LeaseBook::none ? Clock::time_point::max() : Clock::time_point(milliseconds(next));
}

void Renewer::loop() {
    own_thread = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wakes_at_ = 0;  // busy: looks at `added_due_` before it sleeps
        added_due_ = LeaseBook::none;
        lock.unlock();
        const Clock::time_point next = tick();
        lock.lock();
        if (stopping_) return;
        wakes_at_ = std::min(next == Clock::time_point::max() ? LeaseBook::none : millis_of(next), added_due_);
        if (wakes_at_ == LeaseBook::none)
            changed_.wait(lock);
        else
            changed_.wait_until(lock,
                                std::max(Clock::time_point(milliseconds(wakes_at_)), Clock::now() + milliseconds(1)));
    }
}

void Renewer::stop() {
    std::thread thread;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        thread.swap(thread_);
        changed_.notify_all();
    }
    if (thread.joinable()) thread.join();
}

}  // namespace nebis::runtime
