// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"

#include <optional>
#include <string>
#include <string_view>

/// What lies in Redis under which name.
namespace nebis::redis {

/// The two names of one key. The hash tag puts them into one slot of a Cluster.
struct Names {
    std::string lock;
    std::string result;
};

/// S9, S29: `<prefix>idempotent:lock:{<SHA-256 of the trace id, in hex>}` and `…:record:{…}`; never a caller's bytes.
Names names_of(std::string_view prefix, std::string_view trace_id);
/// Where leaves are told (S54).
std::string channel_of(std::string_view prefix);

/// How every result that answers this request begins: its format and the request's hash.
std::string beginning_of(const RequestHash& hash);
std::string encode(const CachedResult& result);
/// Empty: damaged, of another version, or of another key. `trace_id` is what was asked for; its digest must stand in
/// the entry.
std::optional<CachedResult> decode(std::string_view bytes, std::string_view trace_id);

}  // namespace nebis::redis
