// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/error.hpp"

#include <string>
#include <string_view>

namespace nebis::runtime {

/// A response as one blob: the same bytes in every store and every cache, readable by every later version.
std::string encode_response(const Response& response);

/// The blob of a body whose status and headers nobody kept: of a table that was taken over.
std::string bare_response(std::string_view body);

/// The status of a Response whose body is a sealed snapshot (Sealing): its blob is that body as it is, for it has a tag
/// of its own. No handler's status is this one.
constexpr int sealed_status = -0x5EA1ED;

/// **Errors**: `corrupt` when the blob is cut, altered, or of a format this version doesn't know. Never guesses.
Result<Response> decode_response(std::string_view blob);

}  // namespace nebis::runtime
