// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/body.hpp"
#include "identify/digest.hpp"
#include "identify/limits.hpp"
#include "identify/noise.hpp"
#include "nebis/error.hpp"
#include "nebis/request.hpp"
#include "nebis/store.hpp"

#include <cstddef>
#include <cstdint>

/// The request hash: SHA-256 of the canonical request. Two requests that mean the same have the same hash, and no
/// others (C02–C04, C09):
///
///  · method and path as they are;
///  · query: its name=value pieces sorted by name, repeats in their order, bytes untouched, empty pieces dropped
///  (scheme 1: in the order sent); · media type in lower case without parameters (for raw bodies with its charset); ·
///  the headers If-*, Range, Content-Encoding and X-HTTP-Method-Override, sorted by name; · the body by its kind. JSON:
///  members sorted by the bytes of their unescaped names, strings unescaped, numbers as canonical decimal text,
///    array order kept, noise left out; a member that repeats in one object is refused. Form: pairs decoded and sorted
///    by name, repeats in their order. Empty: no byte at all (`{}` is not empty; a body that was never sent can be told
///    from an empty one only by its missing content type). Raw: every byte counts.
///
/// Everything is written with lengths or tags before it reaches SHA-256, so that no two requests meet by concatenation.
/// The bytes depend on no locale, platform or build (C10). Who may ask is not part of it: that is the scope, in the
/// trace id.
namespace nebis::identify {

/// Of rows taken over from a table that kept no hash: their key alone says whose they are.
inline constexpr std::uint8_t no_scheme = 0;
inline constexpr std::uint8_t previous_scheme = 1;
inline constexpr std::uint8_t current_scheme = 2;

struct CanonicalHash {
    RequestHash hash;
    std::size_t parameters =
        0;  ///< route parameters, query pieces, and values of the body that are neither null nor noise
};

/// **Errors**: `rejected_input` with code "body-invalid" or "body-too-large"; `unsupported` with code "scheme-unknown"
/// for a scheme that is neither the current nor the previous one: that row can't be compared here and is never a
/// mismatch. Nothing of the request is ever quoted. **Time**: about 1 µs for 300 bytes of JSON; allocates nothing once
/// a thread is warm.
Result<CanonicalHash> canonical_hash(const Request& request, Body& body, const NoiseFilter& noise,
                                     const HashLimits& limits, std::uint8_t scheme = current_scheme);

/// SHA-256 of everything the request hash is made of, byte for byte as it came: equal for two requests only if they are
/// the same text, so that their request hashes are equal, too. A client's retry usually is, and this costs half as
/// much. Never stored, never compared between processes.
Digest verbatim_digest(const Request& request, BodyKind kind);

Result<RequestHash> hash_request(const Request& request, const NoiseFilter& noise, const HashLimits& limits,
                                 std::uint8_t scheme = current_scheme);

}  // namespace nebis::identify
