// SPDX-License-Identifier: Apache-2.0
#include "nebis/idempotent.hpp"

namespace nebis {
namespace {

std::string words(const Answer& answer, const char* otherwise) {
    return answer.message.empty() ? std::string(otherwise) : answer.message;
}

}  // namespace

void throw_for(const Answer& answer) {
    if (answer.failure) std::rethrow_exception(answer.failure);
    if (answer.rejected)
        throw Rejected(answer.response.body, answer.response.status == 0 ? 422 : answer.response.status);
    switch (answer.outcome) {
        case Outcome::in_progress:
            throw RepeatSubmitException(words(answer, "this request is being processed"), answer.retry_after.count());
        case Outcome::duplicate: throw RepeatSubmitException(words(answer, "this request was submitted before"));
        case Outcome::outcome_unknown: throw OutcomeUnknown(words(answer, "the outcome of this request is not known"));
        case Outcome::mismatch:
            throw IdempotentException(
                Error(ErrorKind::rejected_input, words(answer, "this key was used for another request"))
                    .with_code("mismatch"));
        case Outcome::fenced_off:
            throw IdempotentException(
                Error(ErrorKind::unavailable,
                      words(answer, "another attempt took over; this one's result was not recorded"))
                    .with_code("fenced-off"));
        default: break;
    }
    if (answer.error) throw IdempotentException(*answer.error);
    throw IdempotentException(Error(ErrorKind::internal, "an answer without a value and without a reason"));
}

}  // namespace nebis
