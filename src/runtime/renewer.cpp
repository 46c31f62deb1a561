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

/// A renewal that isn't answered within a third of its lease, or by then, counts as failed and is tried again; the store may still apply
/// it, which harms nobody.
constexpr std::int64_t longest_reply_wait = 1'000;
constexpr std::int64_t shortest_reply_wait = 50;
/// After an error: soon enough to matter, not so soon that it floods a sick store.
constexpr auto retry_step = milliseconds(100);

}  // namespace

/// One batch of renewals under way. Shared with the workers, which may answer after the round has been given up.
struct Renewer::Round : JobSink, std::enable_shared_from_this<Renewer::Round> {
    struct Row {
        std::shared_ptr<Lease> lease;
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
        if (lost) row.outcome.emplace(*std::move(lost));
        else row.outcome.emplace(std::get<Result<RenewOutcome>>(static_cast<StoreJob&>(*job).out));
        if (--open == 0) done.notify_all();
    }
};

std::shared_ptr<Renewer::Lease> Renewer::add(std::int64_t sent, const LeaseBook::Terms& terms, std::shared_ptr<ExecutionState> execution,
                                             std::shared_ptr<StoreLine> store, std::shared_ptr<GateLine> gate) {
    auto lease = std::make_shared<Lease>();
    lease->execution = std::move(execution);
    lease->store = std::move(store);
    lease->gate = std::move(gate);
    const std::lock_guard lock(mutex_);
    lease->slot = book_.add(sent, terms, lease.get());
    if (lease->slot >= leases_.size()) leases_.resize(lease->slot + 1);
    leases_[lease->slot] = lease;
    if (!background_ || stopping_) return lease;
    const std::int64_t due = sent + std::max<std::int64_t>(1, std::min(terms.interval, terms.lease / 3));
    added_due_ = std::min(added_due_, due);
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    else if (due < wakes_at_) changed_.notify_one();
    return lease;
}

void Renewer::remove(const std::shared_ptr<Lease>& lease) {
    const std::lock_guard lock(mutex_);
    lease->removed = true;
    if (lease->in_flight) return;  // its slot must not be given to another while an answer for it may come
    book_.remove(lease->slot);
    leases_[lease->slot].reset();
}

void Renewer::ended(std::int64_t now) {
    std::vector<void*> over;
    std::vector<std::shared_ptr<Lease>> leases;
    {
        const std::lock_guard lock(mutex_);
        book_.collect_ended(now, over);
        for (void* tag : over) leases.push_back(leases_[static_cast<Lease*>(tag)->slot]);
    }
    for (const auto& lease : leases) {
        lease->execution->lose();
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
            auto& lease = leases_[one.slot];
            lease->in_flight = true;
            round->rows.push_back({lease, one.lease, std::nullopt});
        }
    }
    if (!round->rows.empty()) {
        std::int64_t patience = longest_reply_wait;
        for (const Round::Row& row : round->rows) patience = std::min(patience, row.asked / 3);
        const auto reply_wait = milliseconds(std::max(patience, shortest_reply_wait));
        for (const Round::Row& row : round->rows) {
            const ExecutionState& execution = *row.lease->execution;
            RenewRequest request;
            request.trace_id = execution.trace_id;
            request.version = execution.version.load(std::memory_order_acquire);
            request.owner = execution.owner;
            request.lease_millis = row.asked;
            auto job = std::make_shared<StoreJob>(request, started + reply_wait, row.lease->execution);
            job->sink = round;
            round->jobs.push_back(std::move(job));
        }
        round->open = round->jobs.size();
        for (std::size_t i = 0; i < round->jobs.size(); ++i) {
            const auto& lease = round->rows[i].lease;
            lease->store->submit(std::static_pointer_cast<StoreJob>(round->jobs[i]));
            if (!lease->gate) continue;
            const LockRenewRequest request{lease->execution->trace_id, lease->execution->owner, round->rows[i].asked};
            if (lease->gate->direct()) (void)lease->gate->renew(request, started + reply_wait);
            else lease->gate->submit(std::make_shared<GateJob>(request, started + reply_wait, lease->execution));
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
                row.lease->in_flight = false;
                if (row.lease->removed) {
                    book_.remove(row.lease->slot);
                    leases_[row.lease->slot].reset();
                    continue;
                }
                if (!answered) {
                    book_.failed(row.lease->slot);
                    metrics_.renewals[observe::Renewal::failed].add();
                    trouble = true;
                    continue;
                }
                if (kind == RenewOutcome::Kind::lost) {
                    book_.lost(row.lease->slot);
                } else {
                    // A locked row is somebody alive, and only its owner's own transaction locks it: it counts as renewed.
                    const std::int64_t end = book_.renewed(row.lease->slot, now, row.asked);
                    row.lease->execution->prolong(Clock::time_point(milliseconds(end)));
                }
            }
            if (kind == RenewOutcome::Kind::lost) row.lease->execution->lose();
            metrics_.renewals[kind == RenewOutcome::Kind::lost      ? observe::Renewal::lost
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
        if (wakes_at_ == LeaseBook::none) changed_.wait(lock);
        else changed_.wait_until(lock, std::max(Clock::time_point(milliseconds(wakes_at_)), Clock::now() + milliseconds(1)));
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
