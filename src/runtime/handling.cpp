// SPDX-License-Identifier: Apache-2.0
#include "observe/mark.hpp"
#include "runtime/call.hpp"
#include "runtime/caretaker.hpp"
#include "runtime/completion_state.hpp"
#include "runtime/futex.hpp"
#include "runtime/probe.hpp"
#include "runtime/redaction.hpp"
#include "runtime/sealed_store.hpp"

#include <cxxabi.h>

#include <utility>

namespace nebis::runtime {
namespace {
using std::chrono::milliseconds;

/// I8: an executor may take longer than the lease, and then the handler must not start.
bool came_too_late(ExecutionState& state) { return !state.holds_lease(); }

}  // namespace

Execution Call::execution() { return Execution(std::shared_ptr<ExecutionState>(shared_from_this(), &execution_)); }

/// From here on the attempt is ours and alive: its lease is renewed, those who don't wait for it are told.
void Call::start_attempt(const Action& action) {
    if (in_attempt_) return;
    in_attempt_ = true;
    services_->attempts.fetch_add(1, std::memory_order_relaxed);
    operation_->metrics.in_flight.add();
    const bool leased =
        !action.unprotected && operation_->settings.mode != Mode::mark && !operation_->rules.claim_inside;
    if (!action.unprotected) execution_.version.store(action.version, std::memory_order_release);
    if (leased) {
        const protocol::Millis end = machine_.lease_end();
        execution_.lease_end.store(Clock::time_point(milliseconds(end)).time_since_epoch().count(),
                                   std::memory_order_release);
        lease_ = services_->renewer.add(end - operation_->rules.lease + operation_->rules.margin, operation_->terms,
                                        std::shared_ptr<ExecutionState>(shared_from_this(), &execution_),
                                        operation_->store.get(), operation_->gate.get());
        probe("after-begin");
    }
    // With `claim: inside` it isn't known yet whether there is anything to run: the insert tells (see transact).
    if (!action.unprotected && !operation_->rules.claim_inside) mark_running();
}

void Call::end_attempt() {
    if (!in_attempt_) return;
    in_attempt_ = false;
    if (lease_) services_->renewer.remove(*std::exchange(lease_, std::nullopt));
    execution_.lease_end.store(
        0, std::memory_order_release);  // an Execution that outlives its call says that the lease is lost
    services_->attempts.fetch_sub(1, std::memory_order_relaxed);
    operation_->metrics.in_flight.sub();
}

// ---- plain handlers

std::optional<protocol::Event> Call::run_handler(const Action& action) {
    start_attempt(action);
    const bool later = static_cast<bool>(handler_->later());
    return elsewhere(Event::Kind::handled, [this, later]() -> Next {
        if (!blocking() && came_too_late(execution_))
            return not_started(Event::Kind::handled, "the lease ended before the executor came to it");
        return later ? run_later() : Next(call_handler());
    });
}

protocol::Event Call::not_started(Event::Kind ended, const char* why) {
    Event event = failed(ended, Error(ErrorKind::overloaded, why));
    event.not_started = true;
    return event;
}

protocol::Event Call::call_handler() {
    // `atomic` without a record (switched off, or the store is away and the policy allows it): a plain transaction.
    if (handler_->runner()) return atomic_unprotected();
    handler_ran_ = true;
    handler_started_ = now_;
    std::optional<Response> response;
    std::exception_ptr failure;
    Execution execution = this->execution();
    try {
        response = handler_->blocking()(*request_, execution);
    } catch (const abi::__forced_unwind&) {
        end_attempt();  // the thread is being cancelled: the record is left to its lease
        throw;
    } catch (...) {
        failure = std::current_exception();
    }
    return handler_ended(std::move(response), std::move(failure));
}

/// A handler that answers through its Completion. In the blocking shape its caller sleeps meanwhile.
std::optional<protocol::Event> Call::run_later() {
    handler_ran_ = true;
    handler_started_ = Clock::now();
    const bool blocks = blocking();
    const std::uint32_t ticket = blocks ? open_wait() : 0;
    auto state = std::make_shared<CompletionState>(shared_from_this());
    try {
        handler_->later()(*request_, execution(), Completion(state));
    } catch (...) {
        state->end(std::nullopt, std::current_exception());
    }
    state.reset();
    if (!blocks) return std::nullopt;
    while (signal_.load(std::memory_order_acquire) == ticket)
        futex_wait(signal_, ticket, Clock::now() + std::chrono::hours(1));
    return handler_ended(std::move(later_response_), std::move(later_failure_));
}

void Call::completed(std::optional<Response> response, std::exception_ptr failure) {
    if (!blocking()) return drive(handler_ended(std::move(response), std::move(failure)));
    later_response_ = std::move(response);
    later_failure_ = std::move(failure);
    close_wait(signal_.load(std::memory_order_acquire));
    futex_wake(signal_);
}

protocol::Event Call::handler_ended(std::optional<Response> response, std::exception_ptr failure) {
    Event event = this->event(Event::Kind::handled);
    if (failure) {
        ending(failure, event);
    } else {
        response_ = *std::move(response);
        event.result = RecordStatus::success;
    }
    note_size();
    count_handler(event.result);
    return event;
}

/// What the handler's exception means for the record.
void Call::ending(std::exception_ptr failure, Event& event) {
    Ending ending = classify(operation_->settings, failure);
    failure_ = std::move(failure);
    response_ = std::move(ending.refusal);
    event.result = ending.status;
    if (ending.status == RecordStatus::success) failure_ = nullptr;  // a classifier knows that it is done all the same
}

void Call::count_handler(RecordStatus result) {
    using observe::HandlerResult;
    const HandlerResult label = result == RecordStatus::success    ? HandlerResult::success
                                : result == RecordStatus::rejected ? HandlerResult::rejected
                                : result == RecordStatus::fail     ? HandlerResult::fail
                                                                   : HandlerResult::unknown;
    operation_->metrics.handler_duration[label].observe(now_ - handler_started_);
}

/// S53: the answer is given whole; what is kept of one too large, or of one that can't be written down (C23), says only
/// that it is done.
void Call::note_size() {
    std::size_t size = response_.body.size();
    for (const Header& header : response_.headers) size += header.name.size() + header.value.size();
    too_large_ = response_.tombstone || size > operation_->settings.max_response_bytes;
    if (!too_large_) return;
    operation_->metrics.tombstones.add();
    tombstone_.status = response_.status;
    tombstone_.tombstone = true;
}

/// A snapshot that can't be cleaned isn't kept.
std::string Call::redacted(const Request& request) const {
    const config::OperationSettings& settings = operation_->settings;
    try {
        std::string body = request.body;
        if (!settings.redact.empty() && !body.empty()) {
            auto cleaned = redacted_json(body, operation_->redact, settings.max_request_bytes);
            if (!cleaned) return {};
            body = *std::move(cleaned);
        }
        return settings.redactor.object ? settings.redactor.object->redact(body, request.content_type) : body;
    } catch (...) {
        NEBIS_MARK("the redactor threw");
        return {};
    }
}

const Response* Call::kept_response() const { return too_large_ ? &tombstone_ : &response_; }

// ---- atomic

std::optional<protocol::Event> Call::run_atomic(const Action& action) {
    start_attempt(action);
    return elsewhere(Event::Kind::atomic_ended, [this, action]() -> Next { return atomic_ended(transact(action)); });
}

/// What a runner inserts, SealedStore's sessions don't see.
std::optional<Error> Call::seal_request(BeginRequest& begin, std::string& body) const {
    if (begin.request_snapshot.empty()) return std::nullopt;
    if (!services_->sealing->on()) {
        begin.request_snapshot = kept_unsealed(begin.request_snapshot);
        return std::nullopt;
    }
    auto sealed = services_->sealing->seal_request(begin.request_snapshot, begin.trace_id, begin.request_hash);
    if (!sealed) return std::move(sealed).error();
    begin.request_snapshot = body = *std::move(sealed);
    return std::nullopt;
}

AtomicReport Call::transact(const Action& action) {
    const config::OperationSettings& settings = operation_->settings;
    AtomicClaim claim;
    claim.inside = operation_->rules.claim_inside && !action.unprotected;
    claim.unprotected = action.unprotected;
    std::string request_body;  // sealed; outlives the claim
    if (claim.inside) {
        claim.begin = begin_request(action);
        if (auto error = seal_request(claim.begin, request_body)) {
            AtomicReport report;
            report.error = std::move(error);
            return report;
        }
    }
    claim.version = action.version;
    claim.owner = execution_.owner;
    claim.trace_id = execution_.trace_id;
    claim.retention_millis = settings.retention.count();
    claim.max_response_bytes = settings.max_response_bytes;
    claim.lock_wait = operation_->rules.wait_for_answer ? std::max(settings.budget, settings.wait) : settings.budget;
    claim.store = &without_seals(*operation_->store->store());
    execution_.keeps_no_answer = settings.max_response_bytes == 0;
    handler_started_ = Clock::now();
    Execution execution = this->execution();
    // A transaction has no lease to renew once it holds its row; what bounds it is the lease's greatest length.
    const Deadline deadline = Clock::now() + settings.lease_max;
    try {
        return handler_->runner()->run(
            claim, execution,
            [&](void* transaction) {
                handler_ran_ = true;
                if (claim.inside) {
                    probe("after-begin");
                    mark_running();
                }
                Response response = handler_->in_transaction()(*request_, transaction, execution);
                probe("before-finish");
                return response;
            },
            deadline);
    } catch (const abi::__forced_unwind&) {
        end_attempt();
        throw;
    } catch (...) {
        AtomicReport report;  // a runner throws nothing; one that does has told nothing about its commit
        report.kind = AtomicReport::Kind::ambiguous;
        report.error = Error(ErrorKind::internal, "the transaction runner threw");
        return report;
    }
}

protocol::Event Call::atomic_ended(AtomicReport report) {
    Event event = this->event(Event::Kind::atomic_ended);
    event.report = report.kind;
    if (report.error) error_ = std::move(report.error);
    switch (report.kind) {
        case AtomicReport::Kind::committed:
            probe("after-finish");
            event.result = report.status;
            event.version = execution_.version.load(std::memory_order_acquire);
            response_ = std::move(report.response);
            failure_ = std::move(report.failure);
            if (report.status == RecordStatus::rejected &&
                !failure_)  // a runner may tell the refusal as a response alone
                failure_ = std::make_exception_ptr(Rejected(response_.body, response_.status));
            recorded_ = report.status;
            note_size();
            if (operation_->rules.claim_inside) {
                operation_->metrics.inserts.add();
                key_is(execution_.attempt.load(std::memory_order_relaxed) == 1);
            }
            count_handler(report.status);
            break;
        case AtomicReport::Kind::rolled_back:
            if (report.failure) {
                ending(std::move(report.failure), event);
                if (event.result == RecordStatus::success)
                    event.result = RecordStatus::fail;  // nothing was committed, whatever a classifier says
                note_size();
                count_handler(event.result);
            } else {
                event.not_started = true;
                handler_ran_ = false;
            }
            break;
        case AtomicReport::Kind::found:
            handler_ran_ = false;
            if (report.begun && report.begun->record) {
                if (auto opened = services_->sealing->open(*report.begun->record); !opened) {
                    event.report = AtomicReport::Kind::rolled_back;
                    event.not_started = true;
                    error_ = std::move(opened).error();
                    break;
                }
            }
            if (report.begun) {
                event.begin = report.begun->kind;
                event.remaining = report.begun->remaining_millis;
                event.version = report.begun->version;
                learn(event, *report.begun);
            }
            break;
        case AtomicReport::Kind::fenced_off:
        case AtomicReport::Kind::ambiguous: break;
    }
    return event;
}

protocol::Event Call::atomic_unprotected() {
    Action action;
    action.unprotected = true;
    AtomicReport report = transact(action);
    Event event = this->event(Event::Kind::handled);
    switch (report.kind) {
        case AtomicReport::Kind::committed:
            response_ = std::move(report.response);
            failure_ = std::move(report.failure);
            event.result = report.status;
            break;
        case AtomicReport::Kind::rolled_back:
            if (report.failure) {
                ending(std::move(report.failure), event);
                break;
            }
            [[fallthrough]];
        default:
            handler_ran_ = false;
            event = not_started(Event::Kind::handled, "the handler's transaction could not be made");
            if (report.error) error_ = std::move(report.error);
            return event;
    }
    note_size();
    count_handler(event.result);
    return event;
}

// ---- hooked, ask

/// `hooked`: the coordinator's id goes into the row before anything else, the response before the commit.
std::optional<protocol::Event> Call::hook(const Action& action) {
    start_attempt(action);
    return elsewhere(Event::Kind::hooked, [this, kind = action.kind]() -> Next {
        TransactionHooks& hooks = *operation_->settings.transaction_hooks.object;
        Event event = this->event(Event::Kind::hooked);
        try {
            std::optional<Error> trouble;
            if (kind == Action::Kind::hook_before) {
                auto transaction = hooks.before_transaction(execution());
                if (transaction && transaction->empty())
                    trouble = Error(ErrorKind::rejected_input, "the coordinator gave an empty transaction id");
                else if (transaction)
                    transaction_ = *std::move(transaction);
                else
                    trouble = std::move(transaction).error();
            } else {
                auto done =
                    kind == Action::Kind::hook_commit ? hooks.commit(transaction_) : hooks.rollback(transaction_);
                if (!done) trouble = std::move(done).error();
            }
            event.now = millis_of(Clock::now());
            event.ok = !trouble;
            event.ambiguous = trouble && trouble->kind() == ErrorKind::maybe_applied;
            if (trouble) error_ = std::move(trouble);
        } catch (...) {
            event.ok = false;
            event.ambiguous = kind != Action::Kind::hook_before;  // it may have done its work before it threw
            error_ = Error(ErrorKind::maybe_applied, "a transaction hook threw");
        }
        return event;
    });
}

std::optional<protocol::Event> Call::ask(const Action& action) {
    return elsewhere(Event::Kind::resolved, [this, until = action.until]() -> Next {
        Event event = this->event(Event::Kind::resolved);
        event.resolution = Resolution::Kind::dont_know;
        try {
            const config::OperationSettings& settings = operation_->settings;
            const Record record = record_ ? *record_ : Record{};
            Resolution resolution =
                settings.outcome_resolver.object
                    ? settings.outcome_resolver.object->resolve(record, Deadline(milliseconds(until)))
                    : ask_coordinator(*settings.transaction_hooks.object, record);
            response_ = std::move(resolution.response);
            event.resolution = resolution.kind;
            note_size();
        } catch (...) {
            NEBIS_MARK("the resolver threw");
        }
        event.now = millis_of(Clock::now());
        return event;
    });
}

}  // namespace nebis::runtime
