// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "seal/key_ring.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace nebis::runtime {

struct ExecutionState;

/// What goes into stores and caches in place of bodies, and back. A sealed response is bound to its record and that
/// record's version; a sealed request to its record and the request's hash, because a store decides on the version
/// while it writes. On its way through a driver a sealed response is a Response too: one that only `open` reads, and
/// that a driver of an older version takes for damage. **Threads**: safe.
class Sealing {
public:
    /// Without keys: seals nothing, and refuses what was sealed.
    Sealing() = default;
    /// `required`: what isn't sealed is refused.
    Sealing(seal::KeyRing ring, bool required) : ring_(std::move(ring)), required_(required) {}

    bool on() const noexcept { return !ring_.empty(); }

    /// **Errors**: as KeyRing::seal.
    Result<Response> seal(const Response& response, std::string_view trace_id, std::uint64_t version) const;
    Result<std::string> seal_request(std::string_view body, std::string_view trace_id, const RequestHash& hash) const;

    /// In place. **Errors**: `corrupt`, as KeyRing::open, or code `snapshot-unsealed`: required, and it isn't. Then
    /// nothing has changed.
    Result<void> open(Response& response, std::string_view trace_id, std::uint64_t version) const;
    /// Both bodies of a row, or none.
    Result<void> open(Record& record) const;

    /// The same record, its open bodies sealed. **Errors**: as KeyRing::seal.
    Result<Record> resealed(const Record& open) const;
    /// False when both bodies stand as this ring would seal them now: nothing to do for a re-sealing.
    bool outdated(const Record& stored) const;

private:
    Result<std::string> opened_request(const Record& record) const;

    seal::KeyRing ring_;
    bool required_ = false;
};

/// Whether it is one that only Sealing::open reads.
bool is_sealed(const Response& response) noexcept;
/// What a transaction runner writes in place of a response, for the attempt of `state`: sealed if there are keys, a
/// tombstone where no answer is kept. Null: the response itself. **Errors**: as Sealing::seal.
Result<Response> sealed_for(const ExecutionState* state, Response response, std::string_view trace_id,
                            std::uint64_t version);
/// What is kept of a request body when nothing seals: what looks sealed could never be read again.
inline std::string_view kept_unsealed(std::string_view body) noexcept {
    return seal::is_sealed(body) ? std::string_view() : body;
}

}  // namespace nebis::runtime
