// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

#include <cstdint>
#include <optional>

/// What the runners of `atomic` have in common, whatever their database is.
namespace nebis::driver {

inline constexpr const char* default_table = "idempotent_record";

AtomicReport ended(AtomicReport::Kind kind, std::optional<Error> error = {});
/// Claim inside: somebody was there before.
AtomicReport found(BeginOutcome begun);
/// The body ran, and for the library's sake nothing of it counts. `error` is told in place of a refusal: one that isn't
/// on record is none.
AtomicReport not_committed(AtomicReport report, Error error);

Error body_ended_it();
Error body_ignored_an_error();
Error body_left_it_unusable();

/// What is written into that attempt's record, whose version it will be: larger bodies leave a tombstone (0: keep
/// whatever it is), and what is kept is sealed where there are keys. The first caller gets the whole answer.
/// **Errors**: as sealing's; then nothing may be committed.
Result<Response> kept(const Execution& execution, std::uint64_t version, const Response& response,
                      std::size_t max_body);

/// How a body ended: `report` holds its response and status, or what it threw.
struct BodyEnd {
    AtomicReport report;
    bool threw = false;  ///< anything but a `Rejected`: to be rolled back
};
BodyEnd run_body(const TransactionRunner::Body& body, void* transaction);

/// The end of the record of that claim; `response` is only pointed at.
FinishRequest end_of(const AtomicClaim& claim, std::uint64_t version, RecordStatus status, const Response& response);

/// Claim inside: the attempt learns its fencing token.
void tell(const Execution& execution, const BeginOutcome& begun);

// ---- finish_in

/// **Errors**: `misconfigured` for a status that `finish_in` doesn't write.
Result<void> check(const FinishIn& how);
/// What it writes; `response` is only pointed at.
FinishRequest end_of(const Execution& execution, const FinishIn& how, const Response& response);
Error no_transaction(const char* begin);
Error not_read_committed();
Error taken_over();

}  // namespace nebis::driver
