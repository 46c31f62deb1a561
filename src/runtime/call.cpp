// SPDX-License-Identifier: Apache-2.0
#include "runtime/call.hpp"

#include "runtime/futex.hpp"
#include "runtime/owner.hpp"
#include "runtime/recycled.hpp"
#include "runtime/sealed_store.hpp"

#include <utility>

namespace nebis::runtime {
namespace {

/// Wrong wiring is told at the first call, as an answer like any other.
std::optional<Error> wiring(const OperationState& operation, const Handler& handler) {
    const bool atomic = operation.settings.mode == Mode::atomic;
    if (atomic != (handler.runner() != nullptr)) {
        return Error(ErrorKind::misconfigured,
                     atomic ? "operation '" + *operation.name + "' is atomic, but its handler isn't bound to a database"
                            : "the handler of operation '" + *operation.name +
                                  "' is bound to a database, but the operation isn't atomic",
                     {}, atomic ? "wrap it with nebis::sqlite::atomic(db, body)" : "set mode: atomic");
    }
    if (atomic && !handler.runner()->serves(without_seals(*operation.store->store())))
        return Error(
            ErrorKind::misconfigured,
            "operation '" + *operation.name + "' keeps its records in another database than its handler works in", {},
            "set datasource-name to the handler's database");
    if (!handler.blocking() && !handler.later() && !handler.in_transaction())
        return Error(ErrorKind::misconfigured, "operation '" + *operation.name + "' was called with an empty handler");
    return std::nullopt;
}

}  // namespace

Call::Call(std::shared_ptr<Services> services, std::shared_ptr<OperationState> operation)
    : services_(std::move(services)), operation_(std::move(operation)), machine_(&operation_->rules) {
    execution_.sealing = services_->sealing.get();
}

/// A call that is dropped half-way (a cancelled thread unwinds through the handler) leaves its record to its lease, and
/// nothing else behind.
Call::~Call() {
    end_attempt();
    key_is(false);
    if (leads_) {
        Answer dropped;
        dropped.outcome = Outcome::fenced_off;
        land(dropped, protocol::Verdict::fenced_off);
    }
    if (counted_) services_->call_ended();
    if (options_.done) {  // dropped on the way out of a process: its caller is answered all the same
        Answer dropped = bare(Outcome::unavailable);
        dropped.error = Error(ErrorKind::unavailable, "the engine was closed before this request ended");
        std::exchange(options_.done, nullptr)(std::move(dropped));
    }
}

// ---- in

Call::Admission Call::admit(Services& services, OperationState& operation, const Request& request,
                            const Handler& handler) {
    Admission admission;
    admission.at = Clock::now();
    const auto refuse = [&](Error error, Outcome outcome = Outcome::refused) {
        Answer answer;
        answer.outcome = outcome;
        answer.message = services.watch->messages.text(error.code(), error.message());
        answer.request_id = request.request_id;
        answer.error = std::move(error);
        operation.metrics.answered(answer);
        admission.answer = std::move(answer);
    };
    if (services.closed.load(std::memory_order_acquire)) {
        refuse(Error(ErrorKind::unavailable, "the engine is shutting down").with_code("unavailable"),
               Outcome::unavailable);
        return admission;
    }
    if (auto wrong = wiring(operation, handler)) {
        refuse(*std::move(wrong));
        return admission;
    }
    if (operation.settings.enforcement == Enforcement::off) return admission;
    if (request.body.size() > operation.settings.max_request_bytes) {
        refuse(
            Error(ErrorKind::rejected_input, "the request is larger than this operation takes", {}, "max-request-bytes")
                .with_code("request-too-large"));
        return admission;
    }
    identify::Identification who(operation.identifier, request);
    LocalCache::Found near;
    auto identity = who.key();
    if (identity && identity->keyed) {
        admission.hash = TraceKey(identity->trace_id).hash;
        near = look_near(services, operation, {identity->trace_id, admission.hash}, admission.at);
        auto hash = hash_of(services, who, near, {identity->trace_id, admission.hash});
        if (hash)
            identity->hash = *hash;
        else
            identity = std::move(hash).error();
    }
    if (!identity) {
        if (operation.settings.enforcement == Enforcement::observe) {
            operation.metrics.observed[observe::Would::refuse_key].add();
            admission.identity.keyed = false;
            return admission;
        }
        refuse(std::move(identity).error());
        return admission;
    }
    admission.identity = *std::move(identity);
    if (near.result) admission.answer = from_cache(services, operation, request, admission.identity, *near.result);
    return admission;
}

/// A finished result that this very process has seen lately.
LocalCache::Found Call::look_near(Services& services, const OperationState& operation, const TraceKey& key,
                                  Clock::time_point now) {
    if (operation.settings.local_cache.count() == 0 || operation.settings.enforcement != Enforcement::enforce)
        return {};
    auto found = services.cache.find(key, now);
    if (!found.result) services.watch->metrics.instance().local_cache[observe::CacheResult::miss].add();
    return found;
}

/// The request hash, without making it when the very same bytes were hashed before.
Result<RequestHash> Call::hash_of(Services& services, identify::Identification& who, const LocalCache::Found& near,
                                  const TraceKey& key) {
    if (!near.result || who.hashed()) return who.hash();
    const auto& known = near.result->request_hash;
    const identify::Digest verbatim = who.verbatim();
    if (near.verbatim == verbatim && known.scheme == identify::current_scheme) return known;
    auto made = who.hash();
    if (made && *made == known) services.cache.learn(key, near.result, verbatim);
    return made;
}

std::optional<Answer> Call::from_cache(Services& services, OperationState& operation, const Request& request,
                                       const identify::Identity& identity, const CachedResult& hit) {
    auto& counters = services.watch->metrics.instance().local_cache;
    if (hit.request_hash != identity.hash) {
        counters[observe::CacheResult::other_request].add();
        return std::nullopt;  // the store's word decides about a mismatch
    }
    counters[observe::CacheResult::hit].add();
    Answer answer;
    if (operation.settings.on_finished == OnFinished::refuse) {
        answer.outcome = Outcome::duplicate;
        answer.message = services.watch->messages.text(observe::Message::duplicate);
    } else {
        answer.outcome = Outcome::replayed;
        answer.response = hit.response;
        answer.rejected = hit.status == RecordStatus::rejected;
    }
    answer.joined = true;
    answer.fencing_token = hit.version;
    answer.attempt = hit.attempts;
    answer.request_id = identify::request_id_for(request, identity);
    operation.metrics.joined.add();
    operation.metrics.answered(answer);
    return answer;
}

Answer Call::run(const std::shared_ptr<Services>& services, const std::shared_ptr<OperationState>& operation,
                 const Request& request, const Handler& handler) {
    Admission admission = admit(*services, *operation, request, handler);
    if (admission.answer) return *std::move(admission.answer);
    const auto call = std::allocate_shared<Call>(Recycled<Call>(), services, operation);
    call->request_ = &request;
    call->handler_ = &handler;
    call->identified(std::move(admission));
    call->begin_work();
    return call->take_answer();
}

void Call::start(const std::shared_ptr<Services>& services, const std::shared_ptr<OperationState>& operation,
                 Request request, Handler handler, CallOptions options) {
    Admission admission = admit(*services, *operation, request, handler);
    if (auto& answer = admission.answer) {
        Executor& executor = options.answers ? *options.answers : *options.executor;
        if (&executor == &inline_executor()) return options.done(*std::move(answer));
        auto kept = std::make_shared<Answer>(*std::move(answer));
        return executor.post([done = std::move(options.done), kept] { done(std::move(*kept)); });
    }
    const auto call = std::allocate_shared<Call>(Recycled<Call>(), services, operation);
    call->own_request_.emplace(std::move(request));
    call->own_handler_.emplace(std::move(handler));
    call->request_ = &*call->own_request_;
    call->handler_ = &*call->own_handler_;
    call->options_ = std::move(options);
    call->identified(std::move(admission));
    if (call->options_.caller_gone.stop_possible()) {
        call->on_caller_gone_.emplace(call->options_.caller_gone, [weak = std::weak_ptr<Call>(call)] {
            if (const auto alive = weak.lock()) alive->caller_left();
        });
    }
    call->begin_work();
}

void Call::identified(Admission admission) {
    identify::Identity& identity = admission.identity;
    started_ = now_ = admission.at;
    trace_hash_ = admission.hash;
    keyed_ = identity.keyed;
    hash_ = identity.hash;
    execution_.request_id = identify::request_id_for(*request_, identity);
    execution_.key = std::move(identity.key);
    execution_.trace_id = std::move(identity.trace_id);
    execution_.operation = operation_->name;
    execution_.owner = fresh_owner();
}

void Call::begin_work() {
    if (!counted_) {
        counted_ = true;
        services_->calls.fetch_add(1, std::memory_order_acq_rel);
    }
    if (services_->closed.load(std::memory_order_acquire))
        return end_with(refused(Error(ErrorKind::unavailable, "the engine is shutting down"), Outcome::unavailable));
    if (!keyed_ || operation_->settings.enforcement != Enforcement::enforce) return drive(event(Event::Kind::start));
    if (operation_->store->store()->waits_for_this_thread())
        return end_with(
            refused(Error(ErrorKind::unsupported, "a protected call inside an atomic body of the same database", {},
                          "make it before or after the body, or in another database")));
    if (services_->attempts.load(std::memory_order_relaxed) >=
        static_cast<std::int64_t>(services_->settings.limits.attempts_max))
        return end_with(
            refused(Error(ErrorKind::overloaded, "too many attempts run in this process", {}, "limits.attempts-max"),
                    Outcome::unavailable));
    if (!join_or_lead()) return;
    drive(first_event());
}

// ---- the loop

void Call::drive(Event first) {
    std::optional<Event> next = first;
    while (next) {
        if (gone_.load(std::memory_order_acquire) && !told_gone_) {
            told_gone_ = true;
            if (!handler_ran_) {
                const Action action = next_action(event(Event::Kind::abandon));
                if (action.kind !=
                    Action::Kind::none) {  // it was waiting, and stops: what ended the wait doesn't matter any more
                    next = perform(action);
                    continue;
                }
            }
        }
        next = perform(next_action(*next));
    }
}

protocol::Action Call::next_action(const Event& event) {
    const bool enforced = keyed_ && operation_->settings.enforcement == Enforcement::enforce;
    return enforced ? machine_.on(event) : unprotected(event);
}

void Call::job_done(const std::shared_ptr<Job>& job, std::optional<Error> lost) noexcept {
    const auto self = shared_from_this();
    std::optional<Event> next;
    if (lost) {
        next = lost_job(*std::move(lost));
    } else if (auto* store = dynamic_cast<StoreJob*>(job.get())) {
        next = from_store(*store);
    } else {
        next = entered(std::move(std::get<Result<EnterOutcome>>(static_cast<GateJob&>(*job).out)));
    }
    if (next) drive(*next);
}

// ---- out

/// An answer without the machine.
void Call::end_with(Answer answer) {
    count(answer);
    deliver(std::move(answer));
    finish_call();
}

void Call::deliver(Answer answer) {
    if (!options_.executor) {
        answer_ = std::move(answer);
        left_ = true;  // what is still to be done is done without the caller
        request_ = nullptr;
        handler_ = nullptr;
        return;
    }
    Executor& executor = options_.answers ? *options_.answers : *options_.executor;
    auto done = std::exchange(options_.done, nullptr);
    if (&executor == &inline_executor()) return done(std::move(answer));
    auto kept = std::make_shared<Answer>(std::move(answer));
    try {
        executor.post([done, kept] { done(std::move(*kept)); });
    } catch (...) {
        done(std::move(*kept));  // an executor that is gone must not lose an answer
    }
}

void Call::finish_call() {
    end_attempt();
    key_is(false);  // unless it was found to be new
    if (leads_) {
        // The record came later than its caller's answer, or not at all.
        Answer late = bare(recorded_ ? Outcome::fresh : Outcome::in_progress);
        late.response = response_;
        late.failure = failure_;
        late.rejected = recorded_ == RecordStatus::rejected;
        if (failure_ && !late.rejected) late.response = {};
        late.fencing_token = machine_.version();
        late.attempt = execution_.attempt.load(std::memory_order_relaxed);
        land(late, recorded_ ? protocol::Verdict::fresh : protocol::Verdict::in_progress);
    }
    if (counted_) {
        counted_ = false;
        services_->call_ended();
    }
}

Answer Call::take_answer() {
    Answer answer = *std::move(answer_);
    answer_.reset();
    return answer;
}

void Call::caller_left() {
    if (gone_.exchange(true, std::memory_order_acq_rel)) return;
    const auto self = shared_from_this();
    leader_timed_out();  // if it waits for a leader
    if (waits_for_change_.load(std::memory_order_acquire)) woken(signal_.load(std::memory_order_acquire));
}

}  // namespace nebis::runtime
