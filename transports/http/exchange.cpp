// SPDX-License-Identifier: Apache-2.0
#include "headers.hpp"
#include "nebis/http.hpp"
#include "problems.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace nebis::http {

struct Exchange::State {
    std::shared_ptr<const Presentation> presentation;
    std::vector<Header> headers;  ///< of the handler's reply, those included that only the first caller may see
    std::optional<Response>
        unkept;  ///< a reply that says "didn't happen" or "nobody knows": given to its caller, never recorded
    bool replied = false;

    Response keep(Response reply);
};

namespace {

long long seconds(std::chrono::milliseconds wait, const Presentation& presentation) {
    double spread = 0;
    if (presentation.jitter) {
        spread = std::clamp(presentation.jitter(), -1.0, 1.0);
    } else {
        thread_local std::minstd_rand chance{std::random_device{}()};
        spread = std::uniform_real_distribution<double>(-1, 1)(chance);
    }
    return std::max(1LL,
                    static_cast<long long>(std::ceil(static_cast<double>(wait.count()) * (1 + 0.2 * spread) / 1000)));
}

std::string_view word_for(const Error& error) {
    if (!error.code().empty() && problem_type(error.code()).word == error.code())
        return problem_type(error.code()).word;
    switch (error.kind()) {
        case ErrorKind::rejected_input: return "bad-request";
        case ErrorKind::unavailable:
        case ErrorKind::maybe_applied: return "unavailable";
        case ErrorKind::overloaded: return "overloaded";
        case ErrorKind::misconfigured:
        case ErrorKind::unsupported: return "misconfigured";
        case ErrorKind::corrupt: return "corrupt";
        case ErrorKind::internal: return "internal";
    }
    return "internal";
}

/// What a handler threw, for its own caller. Only texts that were written for callers are shown.
Problem problem_for(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const Rejected& refusal) {
        return {.word = "rejected", .detail = refusal.what(), .status = refusal.status()};
    } catch (const NotExecuted&) {
        return {.word = "not-executed", .retry_after = 1};
    } catch (const RepeatSubmitException& repeat) {
        return {.word = "not-accepted", .retry_after = (repeat.retry_after_millis() + 999) / 1000};
    } catch (const OutcomeUnknown&) {
        return {.word = "outcome-unknown"};
    } catch (...) {
        return {.word = "handler-failed"};
    }
}

bool retryable(std::string_view word) noexcept {
    return word == "unavailable" || word == "overloaded" || word == "too-many-new-keys";
}

Problem problem_for(const Answer& answer, const Presentation& presentation) {
    Problem problem;
    switch (answer.outcome) {
        case Outcome::fresh: problem = problem_for(answer.failure); break;
        case Outcome::replayed: problem = {.word = "done-not-stored", .original_status = answer.response.status}; break;
        case Outcome::in_progress:
            problem = {.word = "in-progress",
                       .detail = answer.message,
                       .status = presentation.in_progress_status,
                       .retry_after = seconds(answer.retry_after, presentation)};
            break;
        case Outcome::mismatch:
            problem = {.word = "mismatch", .detail = answer.message, .status = presentation.mismatch_status};
            break;
        case Outcome::outcome_unknown:
            problem = {.word = "outcome-unknown", .detail = answer.message};
            if (answer.retry_after.count() > 0)
                problem.retry_after = seconds(answer.retry_after, presentation);  // somebody is asking
            break;
        case Outcome::duplicate: problem = {.word = "duplicate", .detail = answer.message}; break;
        case Outcome::fenced_off:
            problem = {.word = "fenced-off", .retry_after = seconds(answer.retry_after, presentation)};
            break;
        case Outcome::unavailable:
        case Outcome::refused:
            problem.word = answer.error ? word_for(*answer.error)
                                        : (answer.outcome == Outcome::refused ? "bad-request" : "unavailable");
            if (answer.error) problem.detail = answer.error->message();
            // Trying again helps, or did no harm: a store that can't be used is never a fault of the request.
            if (answer.outcome == Outcome::unavailable && problem_type(problem.word).status < 500)
                problem.word = "unavailable";
            if (retryable(problem.word)) problem.retry_after = seconds(answer.retry_after, presentation);
            break;
    }
    problem.request_id = answer.request_id;
    return problem;
}

/// The same bytes for the first caller and for each duplicate: no request id, no time.
Response refusal(const Answer& answer, const Presentation& presentation) {
    return problem_response({.word = "rejected", .detail = answer.response.body, .status = answer.response.status},
                            presentation);
}

bool has_value(const Answer& answer) {
    return !answer.failure &&
           (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed || answer.produced);
}

}  // namespace

Certainty certainty_of(const Reply& reply) noexcept {
    switch (reply.status) {
        case 408:
        case 425:
        case 429: return Certainty::not_executed;
        case 502:
        case 504: return Certainty::unknown;
        case 503:
            return find_header(reply.headers, "Retry-After") != nullptr ? Certainty::not_executed : Certainty::unknown;
        default: return Certainty::done;
    }
}

/// Called with what the handler returned. Throws when it says that it isn't an answer to keep; the record then ends as
/// FAIL or UNKNOWN.
Response Exchange::State::keep(Response reply) {
    if (reply.status < 200 || reply.status > 599)
        throw std::logic_error("an HTTP handler answered status " + std::to_string(reply.status) + ", which is none");
    reply.headers = end_to_end(std::move(reply.headers));
    Reply seen{reply.status, std::move(reply.body), std::move(reply.headers)};
    const auto certainty = presentation->certainty ? presentation->certainty(seen) : certainty_of(seen);
    reply.body = std::move(seen.body);
    reply.headers = kept_headers(seen.headers, presentation->replay_headers);
    headers = std::move(seen.headers);
    replied = true;
    unkept.reset();  // an atomic body may be run again after a deadlock
    if (certainty != Certainty::not_executed && certainty != Certainty::unknown) return reply;
    unkept = std::move(reply);
    if (certainty == Certainty::not_executed) throw NotExecuted("the handler answered that nothing happened");
    throw OutcomeUnknown("the handler answered that the outcome is unknown");
}

Response problem_for(const Error& error, const Presentation& presentation, std::string_view request_id) {
    Problem problem{
        .word = word_for(error), .detail = error.message(), .request_id = std::string(sane_request_id(request_id))};
    if (retryable(problem.word)) problem.retry_after = seconds(std::chrono::milliseconds(0), presentation);
    return problem_response(problem, presentation);
}

Exchange::Exchange(std::shared_ptr<const Presentation> presentation)
    : state_(std::make_shared<State>(State{std::move(presentation), {}, {}, false})) {}

Handler Exchange::wrap(std::shared_ptr<const Handler> handler) const {
    if (handler->later())
        throw IdempotentException(Error(ErrorKind::misconfigured, "an HTTP route can't have a Handler::later", {},
                                        "answer from the handler itself; it runs on a thread of its own"));
    if (handler->in_transaction())
        return Handler::atomic(handler->runner(), [state = state_, handler](const Request& request, void* transaction,
                                                                            Execution& execution) {
            return state->keep(handler->in_transaction()(request, transaction, execution));
        });
    return Handler([state = state_, handler](const Request& request, Execution& execution) {
        return state->keep(handler->blocking()(request, execution));
    });
}

Response Exchange::respond(Answer answer) const {
    const auto& presentation = *state_->presentation;
    const bool own = answer.outcome == Outcome::fresh && state_->replied;
    Response response;
    if (own && answer.failure && state_->unkept) {
        response = std::move(*state_->unkept);
        response.headers = state_->headers;
    } else if (answer.rejected && (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed) &&
               !answer.response.tombstone) {
        response = refusal(answer, presentation);
    } else if (has_value(answer) && (own || !answer.response.tombstone)) {
        response = std::move(answer.response);
        // What others stored is looked at again: a record may come from an older version, or from a hand.
        response.headers = own ? state_->headers : kept_headers(response.headers, presentation.replay_headers);
        if (response.status < 200 || response.status > 599)
            response.status = 200;  // of a ResponseProducer that knows no HTTP
    } else {
        response = problem_response(problem_for(answer, presentation), presentation);
    }
    if (answer.outcome == Outcome::replayed && !answer.response.tombstone)
        response.headers.push_back({presentation.replayed_header, "true"});
    if (answer.outcome == Outcome::replayed && answer.response.tombstone)
        response.headers.push_back({"Idempotency-Status", "done-not-stored"});
    else if (answer.unprotected)
        response.headers.push_back({"Idempotency-Status", "unprotected"});
    else if (answer.outcome == Outcome::fresh && !answer.recorded)
        response.headers.push_back({"Idempotency-Status", "not-recorded"});
    if (!answer.request_id.empty() && find_header(response.headers, "X-Request-Id") == nullptr)
        response.headers.push_back({"X-Request-Id", answer.request_id});
    response.tombstone = false;
    return response;
}

}  // namespace nebis::http
