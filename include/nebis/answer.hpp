// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/request.hpp"
#include "nebis/standard.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nebis {

/// What is kept and replayed: a status, the headers that may be replayed in order, the body bytes.
/// For function calls only `body` (the codec's bytes) is used; for a REJECTED one `body` is the message and `status`
/// its status.
struct Response {
    int status = 0;
    std::vector<Header> headers;
    std::string body;
    /// The body could not be kept, being too large or refused by its codec: the row is a tombstone. The first caller
    /// had the whole answer; duplicates learn that it is done.
    bool tombstone = false;
    friend bool operator==(const Response&, const Response&) = default;
};

/// How a protected call ended, seen by its caller.
enum class Outcome : std::uint8_t {
    fresh,            ///< the handler ran in this call; `response` or `failure` is its own
    replayed,         ///< SUCCESS or REJECTED of an earlier attempt, given again
    in_progress,      ///< another attempt holds the lease; see `retry_after`
    mismatch,         ///< same key, other request; nothing ran
    outcome_unknown,  ///< the record is UNKNOWN and held; nothing ran
    duplicate,        ///< `mark` mode: seen inside the window; or a finished record with `on-finished: refuse`
    fenced_off,       ///< the handler ran but lost its lease to another attempt; its result is not recorded
    unavailable,      ///< store (or lock without fail-open) unreachable or overloaded; nothing ran unless `handler_ran`
    refused,  ///< the request can't be identified (key missing, token forged …), or its caller may make no new
              ///< key now (S59, code "too-many-new-keys"); see `error`
};

std::string_view to_string(Outcome outcome) noexcept;

/// The whole answer to one protected call. A plain value.
struct Answer {
    Outcome outcome = Outcome::refused;
    Response response;           ///< for fresh (when the handler returned) and replayed
    std::exception_ptr failure;  ///< fresh only: what the handler threw
    bool rejected = false;       ///< the record is REJECTED: `response` is a refusal (fresh or replayed)
    bool recorded = true;        ///< fresh: the result is durable. False: true answer, record still being written
    bool handler_ran = false;    ///< the handler was started by this very call
    bool unprotected = false;    ///< `on-store-failure: allow` or observe mode let it through
    bool joined = false;         ///< answered by an attempt of the same process without any I/O
    std::chrono::milliseconds retry_after{0};  ///< in_progress, unavailable: when to try again
    std::uint64_t fencing_token = 0;           ///< version of the record that answered; 0 when none
    std::uint32_t attempt = 0;                 ///< attempt number of the record that answered
    bool produced = false;                     ///< `response` was made by the ResponseProducer for a refused duplicate
    std::string message;         ///< what to tell the caller of a refused duplicate; from the catalogue (S63)
    std::string request_id;      ///< passed through or derived
    std::optional<Error> error;  ///< unavailable and refused: why
};

}  // namespace nebis
