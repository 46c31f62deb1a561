// SPDX-License-Identifier: Apache-2.0
#include "observe/mark.hpp"
#include "runtime/call.hpp"
#include "runtime/futex.hpp"
#include "runtime/probe.hpp"
#include "runtime/row_rules.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds longest_leave{5'000};

Deadline deadline_of(protocol::Millis until) { return Deadline(milliseconds(until)); }

}  // namespace

protocol::Event Call::event(Event::Kind kind, bool passed) {
    if (passed) now_ = Clock::now();
    Event event;
    event.kind = kind;
    event.now = millis_of(now_);
    return event;
}

/// The machine sees kinds of trouble; the words are kept for the caller.
protocol::Event Call::failed(Event::Kind kind, Error error) {
    Event event = this->event(kind);
    event.ambiguous = error.kind() == ErrorKind::maybe_applied;
    error_ = std::move(error);
    return event;
}

std::optional<protocol::Event> Call::perform(const Action& action) {
    action_ = action;
    switch (action.kind) {
        case Action::Kind::none: return std::nullopt;
        case Action::Kind::enter: return enter(action);
        case Action::Kind::begin: return begin(action);
        case Action::Kind::find: return find(action);
        case Action::Kind::run: return run_handler(action);
        case Action::Kind::run_atomic: return run_atomic(action);
        case Action::Kind::hook_before:
        case Action::Kind::hook_commit:
        case Action::Kind::hook_rollback: return hook(action);
        case Action::Kind::note:
        case Action::Kind::finish: return finish(action);
        case Action::Kind::reserve: return reserve(action);
        case Action::Kind::ask: return ask(action);
        case Action::Kind::wait: return wait(action);
        case Action::Kind::leave: return leave(action);
        case Action::Kind::answer: return answer(action);
        case Action::Kind::done: finish_call(); return std::nullopt;
    }
    return std::nullopt;
}

/// Work on its way to an executor. One that drops it unrun, at its end perhaps, must not leave a caller without an
/// answer and a record without an end.
struct Call::Posted {
    Posted(std::shared_ptr<Call> of, Event::Kind how, std::function<Next()> what)
        : call(std::move(of)), ended(how), work(std::move(what)) {}
    ~Posted() {
        if (!call) return;
        NEBIS_MARK("an executor dropped a task");
        call->drive(call->never_run(ended));
    }
    void run() {
        const auto self = std::exchange(call, nullptr);
        if (const Next next = work()) self->drive(*next);
    }

    std::shared_ptr<Call> call;
    const Event::Kind ended;
    const std::function<Next()> work;
};

/// Handlers and extension points, which may block: on the caller's thread, or on its executor.
std::optional<protocol::Event> Call::elsewhere(Event::Kind ended, std::function<Next()> work) {
    if (blocking()) return work();
    auto task = std::make_shared<Posted>(shared_from_this(), ended, std::move(work));
    try {
        options_.executor->post([task] { task->run(); });
    } catch (...) {
        if (std::exchange(task->call, nullptr)) return never_run(ended);
    }
    return std::nullopt;
}

protocol::Event Call::never_run(Event::Kind ended) {
    handler_ran_ = ended == Event::Kind::hooked && handler_ran_;
    Event event = not_started(ended, "the executor took no more work");
    event.report = AtomicReport::Kind::rolled_back;
    event.resolution = Resolution::Kind::dont_know;
    return event;
}

// ---- the gate

std::optional<protocol::Event> Call::enter(const Action& action) {
    const EnterRequest request{execution_.trace_id, execution_.owner, hash_, operation_->settings.lease.count(),
                               execution_.key};
    GateLine& gate = *operation_->gate;
    if (gate.direct()) return entered(gate.enter(request, deadline_of(action.until)));
    auto job = std::make_shared<GateJob>(request, deadline_of(action.until), shared_from_this());
    if (!blocking()) {
        job->sink = shared_from_this();
        gate.submit(job);
        return std::nullopt;
    }
    if (auto lost = gate.run(job)) return lost_job(*std::move(lost));
    return entered(std::move(std::get<Result<EnterOutcome>>(job->out)));
}

protocol::Event Call::entered(Result<EnterOutcome> outcome) {
    if (!outcome) {
        operation_->metrics.fail_open.add(operation_->rules.fail_open ? 1 : 0);
        return failed(Event::Kind::enter_failed, std::move(outcome).error());
    }
    auto& counters = services_->watch->metrics.instance().gate_cache;
    Event event = this->event(Event::Kind::entered, !operation_->gate->direct());
    event.enter = outcome->kind;
    event.remaining = outcome->remaining_millis;
    if (outcome->kind != EnterOutcome::Kind::granted) key_is(false);
    if (outcome->kind != EnterOutcome::Kind::finished) {
        counters[outcome->unreadable_result ? observe::CacheResult::unreadable : observe::CacheResult::miss].add();
        return event;
    }
    // A mix-up of connections, or another request under the same key, must never replay: then the gate has said
    // nothing.
    if (!outcome->result || outcome->result->trace_id != execution_.trace_id ||
        outcome->result->request_hash != hash_ || !is_terminal(outcome->result->status)) {
        NEBIS_MARK("the gate's result was somebody else's");
        counters[observe::CacheResult::other_request].add();
        return failed(Event::Kind::enter_failed,
                      Error(ErrorKind::maybe_applied, "the gate gave a result of another request"));
    }
    counters[observe::CacheResult::hit].add();
    cached_ = std::make_shared<const CachedResult>(*std::move(outcome->result));
    return event;
}

/// Not waited for. The result goes along only if it is worth a round trip: a gate in this very process keeps none.
std::optional<protocol::Event> Call::leave(const Action& action) {
    GateLine& gate = *operation_->gate;
    LeaveRequest request{execution_.trace_id, execution_.owner, nullptr, 0, execution_.key};
    // Nobody waits for it, so it may take its time on a slow day: a lock that is left standing keeps its key for a
    // lease.
    const Deadline deadline = now_ + std::min(operation_->settings.lease, longest_leave);
    if (gate.direct()) {
        if (const auto left = gate.leave(request, deadline); !left || !*left)
            NEBIS_MARK("the lock wasn't ours any more");
        return event(Event::Kind::proceed, false);
    }
    std::shared_ptr<const void> keeps = shared_from_this();
    if (action.keep && cached_ && cache_ttl_.count() > 0) {
        request.result = cached_.get();
        request.result_ttl_millis = cache_ttl_.count();
    }
    gate.submit(std::make_shared<GateJob>(request, deadline, std::move(keeps)));
    return event(Event::Kind::proceed, false);
}

// ---- the store

std::optional<protocol::Event> Call::to_store(const std::shared_ptr<StoreJob>& job) {
    if (!blocking()) {
        job->sink = shared_from_this();
        operation_->store->submit(job);
        return std::nullopt;
    }
    if (auto lost = operation_->store->run(job)) return lost_job(*std::move(lost));
    return from_store(*job);
}

std::optional<protocol::Event> Call::from_store(StoreJob& job) {
    switch (job.kind()) {
        case StoreJob::begins: return begun(std::move(std::get<Result<BeginOutcome>>(job.out)));
        case StoreJob::finishes: return finished(std::move(std::get<Result<FinishOutcome>>(job.out)));
        case StoreJob::renews: return reserved(std::move(std::get<Result<RenewOutcome>>(job.out)));
        default: return found(std::move(std::get<Result<FindOutcome>>(job.out)));
    }
}

/// No result: refused at once, never reached, or no reply in time.
protocol::Event Call::lost_job(Error error) {
    // The driver may hold views of our parts for as long as it is stuck: from now on they are copied, never moved from.
    if (error.kind() == ErrorKind::maybe_applied) lent_ = true;
    switch (action_.kind) {
        case Action::Kind::enter: return entered(std::move(error));
        case Action::Kind::begin: return failed(Event::Kind::begin_failed, std::move(error));
        case Action::Kind::find: return failed(Event::Kind::find_failed, std::move(error));
        case Action::Kind::reserve: return failed(Event::Kind::reserved, std::move(error));
        default: operation_->metrics.finish_failures.add(); return failed(Event::Kind::finish_failed, std::move(error));
    }
}

BeginRequest Call::begin_request(const Action& action) {
    const config::OperationSettings& settings = operation_->settings;
    const bool grace = operation_->store->in_grace(settings.lease, now_);
    BeginRequest request;
    request.trace_id = execution_.trace_id;
    request.operation = *operation_->name;
    request.owner = execution_.owner;
    request.request_hash = hash_;
    request.status = settings.mode == Mode::mark ? RecordStatus::marked : RecordStatus::processing;
    request.lease_millis = settings.lease.count();
    request.retention_millis = settings.retention.count();
    request.unknown_retention_millis = settings.unknown_retention ? settings.unknown_retention->count() : 0;
    request.take_over_lease = action.take_over_lease && !grace;
    request.take_over_unknown = action.take_over_unknown;
    request.lapse = action.lapse && !grace;
    request.not_after = operation_->store->clock().at(deadline_of(action.until));
    request.instance = services_->instance;
    if (settings.store_request && snapshot_.empty()) snapshot_ = request_ ? redacted(*request_) : std::string();
    request.request_snapshot = snapshot_;
    return request;
}

std::optional<protocol::Event> Call::begin(const Action& action) {
    const BeginRequest request = begin_request(action);
    const Deadline deadline = deadline_of(action.until);
    if (operation_->store->direct()) return begun(operation_->store->begin(request, deadline, now_));
    return to_store(std::make_shared<StoreJob>(request, deadline, shared_from_this()));
}

std::optional<protocol::Event> Call::begun(Result<BeginOutcome> outcome) {
    if (!outcome) {
        const ErrorKind kind = outcome.error().kind();
        Event event = failed(Event::Kind::begin_failed, std::move(outcome).error());
        // `on-store-failure: allow` is for stores that are away, never for one that answers with damage.
        event.answered =
            kind != ErrorKind::unavailable && kind != ErrorKind::overloaded && kind != ErrorKind::maybe_applied;
        return event;
    }
    if (outcome->kind == BeginOutcome::Kind::other_scheme) return begin_under_scheme(*outcome);
    Event event = this->event(Event::Kind::begun, !operation_->store->direct());
    event.begin = outcome->kind;
    event.version = outcome->version;
    event.remaining = outcome->remaining_millis;
    learn(event, *outcome);
    return event;
}

/// What a begin says, whether the store or a transaction runner sent it.
void Call::learn(Event& event, BeginOutcome& outcome) {
    auto& metrics = operation_->metrics;
    using Kind = BeginOutcome::Kind;
    event.ours = outcome.kind == Kind::in_progress && outcome.owner == execution_.owner;
    other_version_ = outcome.version;
    if (outcome.record) {
        event.row = view(outcome.record, outcome.now);
        event.ours = event.row.ours;
        if (event.version == 0) event.version = outcome.record->version;
        record_ = std::move(outcome.record);
        record_seen_ = outcome.now;
    }
    if (outcome.kind == Kind::acquired)
        key_is(outcome.attempts == 1);
    else if (outcome.kind != Kind::late)
        key_is(event.ours);  // ours already: our own insert, whose reply was lost
    switch (outcome.kind) {
        case Kind::acquired:
            execution_.attempt.store(outcome.attempts, std::memory_order_release);
            metrics.inserts.add();
            if (outcome.took_over) {
                NEBIS_MARK("took over an attempt that had not finished");
                metrics.takeovers.add();
                metrics.recoveries[observe::RecoveredTo::retry].add();
            } else if (outcome.attempts > 1) {
                metrics.conflicts[observe::ConflictState::fail].add();
            }
            break;
        case Kind::in_progress: metrics.conflicts[observe::ConflictState::processing].add(); break;
        case Kind::unknown: metrics.conflicts[observe::ConflictState::unknown].add(); break;
        case Kind::finished:
            if (record_) metrics.conflicts[static_cast<observe::ConflictState>(record_->status)].add();
            break;
        case Kind::late: error_ = Error(ErrorKind::unavailable, "the store got this begin after its time"); break;
        default: break;
    }
}

/// The row was written under another hash scheme: it is compared under that one.
std::optional<protocol::Event> Call::begin_under_scheme(const BeginOutcome& outcome) {
    NEBIS_MARK("hashed again under the row's scheme");
    const std::uint8_t scheme = outcome.record ? outcome.record->request_hash.scheme : 0;
    if (!request_ || rehashed_++ > 0)
        return failed(Event::Kind::begin_failed,
                      Error(ErrorKind::unavailable, "the record's hash scheme keeps changing"));
    auto hash = operation_->identifier.hash(*request_, scheme);
    if (!hash) return failed(Event::Kind::begin_failed, std::move(hash).error());
    hash_ = *hash;
    return begin(action_);
}

std::optional<protocol::Event> Call::find(const Action& action) {
    const FindRequest request{execution_.trace_id};
    const Deadline deadline = deadline_of(action.until);
    if (operation_->store->direct()) return found(operation_->store->find(request, deadline, now_));
    return to_store(std::make_shared<StoreJob>(request, deadline, shared_from_this()));
}

protocol::Event Call::found(Result<FindOutcome> outcome) {
    if (!outcome) return failed(Event::Kind::find_failed, std::move(outcome).error());
    if (outcome->record && !same_scheme(outcome->record->request_hash))
        return failed(Event::Kind::find_failed,
                      Error(ErrorKind::unavailable, "the record's hash scheme isn't known to this version"));
    Event event = this->event(Event::Kind::found, !operation_->store->direct());
    event.row = view(outcome->record, outcome->now);
    other_version_ = event.row.version;
    if (outcome->record) {
        if (event.row.ours) key_is(outcome->record->attempts == 1);
        record_ = std::move(outcome->record);
        record_seen_ = outcome->now;
    }
    return event;
}

/// Our hash under the scheme of a stored one. False: that scheme isn't known here; then nothing is said about a
/// mismatch.
bool Call::same_scheme(const RequestHash& stored) {
    if (stored.scheme == hash_.scheme || !request_) return true;
    auto hash = operation_->identifier.hash(*request_, stored.scheme);
    if (!hash) return false;
    hash_ = *hash;
    return true;
}

protocol::RowView Call::view(const std::optional<Record>& record, StoreMillis now) const {
    protocol::RowView row;
    if (!record) return row;
    row.exists = true;
    row.status = record->status;
    row.version = record->version;
    row.ours = record->owner == execution_.owner;
    RowHead head;
    head.lease_expire_time = record->lease_expire_time;
    head.expire_time = record->expire_time;
    row.lease_over = lease_over(head, now);
    row.expired = is_final(record->status) && retention_over(head, now);
    // Once a blocking caller has left, only our own row matters, and it was written with our hash.
    row.fits = record->request_hash == hash_ || (!request_ && record->request_hash.scheme != hash_.scheme);
    row.remaining = std::max<std::int64_t>(0, record->lease_expire_time - now);
    return row;
}

/// `finish` in its three meanings, and `note`: hooked mode's writing of PROCESSING over PROCESSING.
std::optional<protocol::Event> Call::finish(const Action& action) {
    using What = Action::Finish;
    const bool note = action.kind == Action::Kind::note;
    const config::OperationSettings& settings = operation_->settings;
    FinishRequest request;
    request.trace_id = execution_.trace_id;
    request.version = action.version;
    request.owner = execution_.owner;
    request.status = note ? RecordStatus::processing : action.status;
    request.retention_millis = settings.retention.count();
    request.outcome_ref = transaction_;
    // `hooked` keeps the response before its commit, and while the commit's fate is open: recovery may need it.
    const bool needed_later =
        handler_ran_ && (note || (settings.mode == Mode::hooked && request.status == RecordStatus::unknown));
    if (needed_later || is_terminal(request.status)) request.response = kept_response();
    if (note) {
        request.from_unknown = false;
    } else if (action.what == What::give_back) {
        request.from_marked = settings.mode == Mode::mark;
        operation_->metrics.give_backs.add();
        NEBIS_MARK("gave a claim back");
    } else if (action.what == What::settle) {
        request.from_processing = false;
        request.owner = record_ ? record_->owner : Owner{};
        request.new_owner = execution_.owner;
    } else {
        probe("before-finish");
    }
    const Deadline deadline = deadline_of(action.until);
    if (operation_->store->direct()) return finished(operation_->store->finish(request, deadline, now_));
    return to_store(std::make_shared<StoreJob>(request, deadline, shared_from_this()));
}

protocol::Event Call::finished(Result<FinishOutcome> outcome) {
    if (!outcome) {
        operation_->metrics.finish_failures.add();
        return failed(Event::Kind::finish_failed, std::move(outcome).error());
    }
    Event event = this->event(Event::Kind::finished, !operation_->store->direct());
    event.applied = outcome->applied;
    if (!outcome->applied) {
        event.row = view(outcome->current, outcome->now);
        if (outcome->current) {
            record_ = std::move(outcome->current);
            record_seen_ = outcome->now;
        }
    }
    if (outcome->applied && action_.kind == Action::Kind::finish && action_.what == Action::Finish::own) {
        probe("after-finish");
        recorded_ = action_.status;
    }
    return event;
}

/// One asker at a time: it extends the UNKNOWN row's lease before it asks.
std::optional<protocol::Event> Call::reserve(const Action& action) {
    RenewRequest request;
    request.trace_id = execution_.trace_id;
    request.version = action.version;
    request.owner = record_ ? record_->owner : Owner{};
    request.lease_millis = operation_->settings.lease.count();
    request.ask = true;
    const Deadline deadline = deadline_of(action.until);
    if (operation_->store->direct()) return reserved(operation_->store->renew(request, deadline, now_));
    return to_store(std::make_shared<StoreJob>(request, deadline, shared_from_this()));
}

protocol::Event Call::reserved(Result<RenewOutcome> outcome) {
    if (!outcome) return failed(Event::Kind::reserved, std::move(outcome).error());
    Event event = this->event(Event::Kind::reserved, !operation_->store->direct());
    event.ok = outcome->kind == RenewOutcome::Kind::renewed;
    return event;
}

// ---- waiting

/// A wait is open while `signal_` holds its ticket. Time, a change of the store, the leader or the caller may end it;
/// whoever closes it goes on.
std::uint32_t Call::open_wait() {
    const std::uint32_t ticket = (signal_.load(std::memory_order_relaxed) | 1U) + 2U;
    signal_.store(ticket, std::memory_order_release);
    return ticket;
}

bool Call::close_wait(std::uint32_t ticket) {
    return (ticket & 1U) != 0 && signal_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
}

void Call::drop_timer() {
    Timers::Id timer;
    std::optional<ChangeWatch::Ticket> watched;
    {
        const std::lock_guard lock(wait_mutex_);
        timer = std::exchange(timer_, {});
        watched = std::exchange(watching_, std::nullopt);
    }
    if (timer.number != 0) services_->timers.cancel(timer);
    if (watched) operation_->changes->remove(*watched);
}

std::optional<protocol::Event> Call::wait(const Action& action) {
    const Deadline until = deadline_of(action.until);
    // Only a waiting duplicate is interested in the store's changes; the pauses between tries just pass.
    const bool for_change = machine_.state_name() == "waiting";
    waits_for_change_.store(for_change, std::memory_order_release);
    const std::uint32_t ticket = open_wait();
    const bool blocks = blocking();
    {
        const std::lock_guard lock(wait_mutex_);
        // Once its ticket is closed, a blocking call goes on at once and may change under the eyes of whoever woke it.
        auto wake = [weak = weak_from_this(), ticket, blocks] {
            const auto self = weak.lock();
            if (!self) return;
            if (!blocks) return self->woken(ticket);
            if (self->close_wait(ticket)) futex_wake(self->signal_);
        };
        if (for_change) {
            operation_->metrics.waiting.add();
            watching_ = operation_->changes->add(execution_.trace_id, other_version_, wake);
        }
        if (!blocks) {
            // The timer keeps the call alive while nothing else does.
            timer_ = services_->timers.at(until, [self = shared_from_this(), ticket] { self->woken(ticket); });
            if (gone_.load(std::memory_order_acquire))
                services_->timers.at(Clock::now(), [self = shared_from_this(), ticket] { self->woken(ticket); });
        }
    }
    if (!blocks) return std::nullopt;
    while (signal_.load(std::memory_order_acquire) == ticket && Clock::now() < until)
        futex_wait(signal_, ticket, until);
    close_wait(ticket);
    drop_timer();
    if (for_change) operation_->metrics.waiting.sub();
    return event(Event::Kind::timer);
}

/// A call that doesn't block: whoever closes the ticket drives on.
void Call::woken(std::uint32_t ticket) {
    if (!close_wait(ticket)) return;
    drop_timer();
    if (waits_for_change_.load(std::memory_order_acquire)) operation_->metrics.waiting.sub();
    drive(event(Event::Kind::timer));
}

}  // namespace nebis::runtime
