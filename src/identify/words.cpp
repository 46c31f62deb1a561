// SPDX-License-Identifier: Apache-2.0
// The stable words for the enumerators of the public headers. They reach metrics, logs and problem types: never change
// one.
#include "nebis/answer.hpp"
#include "nebis/error.hpp"
#include "nebis/store.hpp"

namespace nebis {

std::string_view to_string(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::unavailable: return "unavailable";
        case ErrorKind::overloaded: return "overloaded";
        case ErrorKind::maybe_applied: return "maybe_applied";
        case ErrorKind::rejected_input: return "rejected_input";
        case ErrorKind::misconfigured: return "misconfigured";
        case ErrorKind::unsupported: return "unsupported";
        case ErrorKind::corrupt: return "corrupt";
        case ErrorKind::internal: return "internal";
    }
    return "invalid";
}

std::string_view to_string(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::fresh: return "fresh";
        case Outcome::replayed: return "replayed";
        case Outcome::in_progress: return "in_progress";
        case Outcome::mismatch: return "mismatch";
        case Outcome::outcome_unknown: return "outcome_unknown";
        case Outcome::duplicate: return "duplicate";
        case Outcome::fenced_off: return "fenced_off";
        case Outcome::unavailable: return "unavailable";
        case Outcome::refused: return "refused";
    }
    return "invalid";
}

std::string_view to_string(RecordStatus status) noexcept {
    switch (status) {
        case RecordStatus::processing: return "PROCESSING";
        case RecordStatus::success: return "SUCCESS";
        case RecordStatus::fail: return "FAIL";
        case RecordStatus::rejected: return "REJECTED";
        case RecordStatus::unknown: return "UNKNOWN";
        case RecordStatus::marked: return "MARKED";
    }
    return "INVALID";
}

std::string Error::text() const {
    std::string text = message_;
    if (!detail_.empty()) text.append(": ").append(detail_);
    if (!hint_.empty()) text.append(" (").append(hint_).append(")");
    return text;
}

}  // namespace nebis
