// SPDX-License-Identifier: Apache-2.0
#include "identify/body.hpp"
#include "observe/mark.hpp"
#include "runtime/call.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

using observe::Message;
using protocol::Verdict;
using std::chrono::milliseconds;

std::optional<Message> message_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::in_progress: return Message::in_progress;
        case Outcome::outcome_unknown: return Message::outcome_unknown;
        case Outcome::duplicate: return Message::duplicate;
        case Outcome::mismatch: return Message::mismatch;
        case Outcome::fenced_off: return Message::fenced_off;
        case Outcome::unavailable: return Message::unavailable;
        default: return std::nullopt;
    }
}

}  // namespace

Answer Call::bare(Outcome outcome) const {
    Answer answer;
    answer.outcome = outcome;
    answer.request_id = execution_.request_id;
    answer.handler_ran = handler_ran_;
    answer.message = words(outcome);
    return answer;
}

/// The catalogue's sentence. A body that is compared byte by byte may hold the same in other bytes at each try: who
/// meets a mismatch with one is told so (B043, B044). It says nothing of the first request.
std::string Call::words(Outcome outcome) const {
    const auto message = message_of(outcome);
    if (!message) return {};
    const observe::Messages& texts = services_->watch->messages;
    std::string text(texts.text(*message));
    if (outcome != Outcome::mismatch || !request_) return text;
    if (identify::is_compressed(*request_))
        text.append(" ").append(texts.text(Message::mismatch_compressed));
    else if (identify::is_multipart(identify::media_type(request_->content_type)))
        text.append(" ").append(texts.text(Message::mismatch_multipart));
    return text;
}

Answer Call::refused(Error error, Outcome outcome) const {
    Answer answer = bare(outcome);
    answer.message = services_->watch->messages.text(error.code(), error.message());
    answer.error = std::move(error);
    if (outcome == Outcome::unavailable) answer.retry_after = services_->settings.breaker.open;
    return answer;
}

/// A record that can't be trusted needs a person: counted, and named in the log (B105).
void Call::met_damage(const Error& error) {
    NEBIS_MARK("met a damaged record");
    operation_->metrics.damaged.add();
    services_->watch->log->write({.level = observe::Level::error,
                                  .message = "a record is damaged; the request was refused",
                                  .operation = *operation_->name,
                                  .key_hash = observe::key_hash(execution_.trace_id),
                                  .store = operation_->store->data_source(),
                                  .detail = error.text()});
}

/// `duplicate-handler: return`: the ResponseProducer's value, if there is one.
void Call::refused_duplicate(Answer& answer) const {
    const config::OperationSettings& settings = operation_->settings;
    const bool duplicate = answer.outcome == Outcome::in_progress || answer.outcome == Outcome::outcome_unknown ||
                           answer.outcome == Outcome::duplicate;
    if (!duplicate || settings.on_duplicate != OnDuplicate::give || !settings.response_producer.object || !request_)
        return;
    try {
        answer.response = settings.response_producer.object->produce(
            {*operation_->name, answer.outcome, answer.retry_after.count()}, *request_);
        answer.produced = true;
    } catch (...) {
        NEBIS_MARK("the response producer threw");  // then the duplicate is refused in plain words
    }
}

void Call::replay(Answer& answer, RecordStatus status, Response response, std::uint64_t version,
                  std::uint32_t attempts) const {
    answer.outcome = Outcome::replayed;
    answer.rejected = status == RecordStatus::rejected;
    answer.response = std::move(response);
    answer.fencing_token = version;
    answer.attempt = attempts;
}

Answer Call::make_answer(const Action& action) {
    Answer answer = bare(action.verdict == Verdict::fresh ? Outcome::fresh : Outcome::unavailable);
    answer.fencing_token = action.version;
    answer.attempt = action.version != 0 || handler_ran_ ? execution_.attempt.load(std::memory_order_relaxed) : 0;
    answer.recorded = action.recorded;
    answer.unprotected = action.unprotected;
    const auto become = [&](Outcome outcome) {
        answer.outcome = outcome;
        answer.message = words(outcome);
    };
    switch (action.verdict) {
        case Verdict::fresh:
            become(Outcome::fresh);
            answer.rejected = response_.status != 0 && failure_ && action.status == RecordStatus::rejected;
            answer.failure = failure_;
            // A record still being written, or a driver that is stuck, goes on using ours.
            answer.response = action.recorded && !lent_ ? std::move(response_) : response_;
            if (failure_ && !answer.rejected) answer.response = {};
            if (!action.unprotected && action.version == 0)
                answer.fencing_token = execution_.version.load(std::memory_order_relaxed);
            break;
        case Verdict::row:
            if (record_ && is_terminal(record_->status)) {
                become(Outcome::replayed);
                replay(answer, record_->status, record_->response.value_or(Response{}), record_->version,
                       record_->attempts);
            } else {
                // An operator settled this very attempt as not executed: its word stands, and the key may run again.
                answer.error = Error(ErrorKind::unavailable, "an operator has settled this request as not executed");
            }
            break;
        case Verdict::cached:
            become(Outcome::replayed);
            replay(answer, cached_->status, cached_->response, cached_->version, cached_->attempts);
            break;
        case Verdict::resolved:
            become(Outcome::replayed);
            replay(answer, action.status, lent_ ? response_ : std::move(response_), record_ ? record_->version : 0,
                   record_ ? record_->attempts : 0);
            break;
        case Verdict::in_progress:
        case Verdict::abandoned:
            become(Outcome::in_progress);
            answer.retry_after = milliseconds(action.retry_after > 0 ? action.retry_after : busy_retry_millis);
            break;
        case Verdict::mismatch: become(Outcome::mismatch); break;
        case Verdict::unknown:
            become(Outcome::outcome_unknown);
            if (handler_ran_) answer.failure = failure_;
            // Somebody is asked, and may know by then; what is held waits for a person.
            if (operation_->rules.on_unknown == OnUnknown::ask && operation_->rules.resolver)
                answer.retry_after = milliseconds(busy_retry_millis);
            break;
        case Verdict::duplicate: become(Outcome::duplicate); break;
        case Verdict::fenced_off:
            become(Outcome::fenced_off);
            operation_->metrics.fenced_off.add();
            NEBIS_MARK("an attempt was fenced off");
            break;
        case Verdict::over_quota:
            become(Outcome::refused);
            answer.error = Error(ErrorKind::overloaded, "this caller has made as many new keys as it may for now", {},
                                 "quota.new-keys")
                               .with_code("too-many-new-keys");
            answer.message = services_->watch->messages.text(Message::too_many_new_keys);
            answer.retry_after = quota_wait_;
            break;
        case Verdict::unavailable:
        case Verdict::none:
            answer.error = error_ ? *error_ : Error(ErrorKind::unavailable, "the request could not be begun in time");
            if (action.maybe)
                answer.error =
                    Error(ErrorKind::maybe_applied, "the commit's fate is not known", answer.error->detail());
            answer.retry_after = services_->settings.breaker.open;
            if (answer.error->kind() == ErrorKind::overloaded)
                answer.message = services_->watch->messages.text(Message::overloaded);
            if (answer.error->kind() == ErrorKind::corrupt) met_damage(*answer.error);
            break;
    }
    if (record_ && answer.outcome != Outcome::fresh && answer.outcome != Outcome::unavailable &&
        answer.fencing_token == 0) {
        answer.fencing_token = record_->version;
        answer.attempt = record_->attempts;
    }
    refused_duplicate(answer);
    return answer;
}

/// Finished results are kept for this process's duplicates, and for the gate when it keeps results.
void Call::keep(const Action& action) {
    RecordStatus status{};
    std::int64_t rest = operation_->settings.retention.count();
    const Response* response = kept_response();
    std::uint64_t version = action.version != 0 ? action.version : execution_.version.load(std::memory_order_relaxed);
    std::uint32_t attempts = execution_.attempt.load(std::memory_order_relaxed);
    switch (action.verdict) {
        case Verdict::fresh:
            if (!action.recorded || !is_terminal(action.status)) return;
            // `mark` replays nothing, and what ran unprotected left no record that a duplicate could be answered from.
            if (action.unprotected || operation_->settings.mode == Mode::mark) return;
            status = action.status;
            break;
        case Verdict::row:
            if (!record_ || !is_terminal(record_->status) || !record_->response) return;
            status = record_->status;
            response = &*record_->response;
            version = record_->version;
            attempts = record_->attempts;
            rest = record_->expire_time - record_seen_;
            break;
        case Verdict::cached: {
            // The gate's result stands there already; here it may live no longer than our own.
            if (operation_->settings.local_cache.count() > 0)
                services_->cache.put(cached_, trace_hash_, now_ + operation_->settings.local_cache);
            return;
        }
        default: return;
    }
    // A store in this very process answers the first duplicate as fast; most requests never have one, so only what was
    // asked for again is worth a copy.
    const bool near = operation_->store->direct() && action.verdict == Verdict::fresh;
    const milliseconds local = near ? milliseconds(0) : std::min(operation_->settings.local_cache, milliseconds(rest));
    const bool for_gate = operation_->gate && !operation_->gate->direct();
    if (local.count() <= 0 && !for_gate) return;
    auto result = std::make_shared<CachedResult>();
    result->status = status;
    result->version = version;
    result->attempts = attempts;
    result->request_hash = hash_;
    result->trace_id = execution_.trace_id;
    result->response = *response;
    cached_ = std::move(result);
    if (for_gate) cache_ttl_ = std::min(gate_results_live, milliseconds(rest) - operation_->settings.lease);
    if (local.count() > 0) services_->cache.put(cached_, trace_hash_, now_ + local);
}

std::optional<protocol::Event> Call::answer(const Action& action) {
    keep(action);
    count_over_quota(action.verdict);
    ended_as_ = action.status;
    Answer answer = make_answer(action);
    if (action.recorded || action.unprotected || action.verdict != Verdict::fresh) {
        end_attempt();
        land(answer, action.verdict);
    } else {
        NEBIS_MARK("answered before the record was written");
    }
    count(answer);
    deliver(std::move(answer));
    return event(Event::Kind::proceed, false);
}

void Call::count(const Answer& answer) const { operation_->metrics.answered(answer); }

}  // namespace nebis::runtime
