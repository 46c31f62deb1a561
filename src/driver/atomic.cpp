// SPDX-License-Identifier: Apache-2.0
#include "driver/atomic.hpp"

#include "runtime/execution_state.hpp"
#include "runtime/sealing.hpp"

#include <cxxabi.h>

#include <utility>

namespace nebis::driver {

AtomicReport ended(AtomicReport::Kind kind, std::optional<Error> error) {
    AtomicReport report;
    report.kind = kind;
    report.error = std::move(error);
    return report;
}

AtomicReport found(BeginOutcome begun) {
    AtomicReport report = ended(AtomicReport::Kind::found);
    report.begun = std::move(begun);
    return report;
}

AtomicReport not_committed(AtomicReport report, Error error) {
    report.kind = AtomicReport::Kind::rolled_back;
    report.failure = nullptr;
    report.error = std::move(error);
    return report;
}

Error body_ended_it() {
    return Error(ErrorKind::misconfigured, "the `atomic` body ended the transaction it was given", {},
                 "leave BEGIN, COMMIT and ROLLBACK to the library; throw to roll back")
        .with_code("transaction-ended");
}

Error body_ignored_an_error() {
    return Error(ErrorKind::misconfigured, "the `atomic` body returned although one of its statements had failed", {},
                 "throw, or go back to a savepoint of the body's own")
        .with_code("transaction-aborted");
}

Error body_left_it_unusable() {
    return Error(ErrorKind::unavailable, "the `atomic` body left its connection broken or busy", {},
                 "read every answer before returning")
        .with_code("transaction-lost");
}

Result<Response> kept(const Execution& execution, std::uint64_t version, const Response& response,
                      std::size_t max_body) {
    const bool whole = max_body == 0 || response.body.size() <= max_body;
    return runtime::sealed_for(execution.state().get(), whole ? response : Response{response.status, {}, {}, true},
                               execution.trace_id(), version);
}

BodyEnd run_body(const TransactionRunner::Body& body, void* transaction) {
    BodyEnd end;
    try {
        end.report.response = body(transaction);
        end.report.status = RecordStatus::success;
    } catch (const abi::__forced_unwind&) {
        throw;  // the thread is being ended
    } catch (const Rejected& refusal) {
        end.report.failure = std::current_exception();
        end.report.status = RecordStatus::rejected;
        end.report.response.status = refusal.status();
        end.report.response.body = refusal.what();
    } catch (...) {
        end.report.failure = std::current_exception();
        end.threw = true;
    }
    return end;
}

FinishRequest end_of(const AtomicClaim& claim, std::uint64_t version, RecordStatus status, const Response& response) {
    FinishRequest request;
    request.trace_id = claim.trace_id;
    request.version = version;
    request.owner = claim.owner;
    request.status = status;
    request.response = &response;
    request.retention_millis = claim.retention_millis;
    return request;
}

void tell(const Execution& execution, const BeginOutcome& begun) {
    const auto& state = execution.state();
    if (!state) return;
    state->version.store(begun.version);
    state->attempt.store(begun.attempts);
}

Result<void> check(const FinishIn& how) {
    if (how.status == RecordStatus::success || how.status == RecordStatus::rejected) return {};
    return Error(ErrorKind::misconfigured, "finish_in writes SUCCESS or REJECTED", {}, "to fail, roll back and throw")
        .with_code("finish-status");
}

FinishRequest end_of(const Execution& execution, const FinishIn& how, const Response& response) {
    FinishRequest request;
    request.trace_id = execution.trace_id();
    request.version = execution.fencing_token();
    request.owner = execution.state()->owner;
    request.status = how.status;
    request.response = &response;
    request.retention_millis = how.retention.count();
    return request;
}

Error no_transaction(const char* begin) {
    return Error(ErrorKind::misconfigured, "finish_in needs an open transaction", {},
                 std::string("run ") + begin + " first")
        .with_code("no-transaction");
}

Error not_read_committed() {
    return Error(ErrorKind::misconfigured, "finish_in needs a transaction that is READ COMMITTED", {},
                 "run SET TRANSACTION ISOLATION LEVEL READ COMMITTED at its beginning")
        .with_code("isolation-level");
}

Error taken_over() {
    return Error(ErrorKind::unavailable, "another attempt has taken this record over", {},
                 "roll back: this attempt's effect must not count")
        .with_code("fenced-off");
}

}  // namespace nebis::driver
