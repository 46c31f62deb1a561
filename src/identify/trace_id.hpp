// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nebis::identify {

/// Width of the column `trace_id`.
inline constexpr std::size_t max_trace_id = 128;
/// Begins every hashed trace id, and no other.
inline constexpr std::string_view hashed_tag = "sha256:";

/// The stored form of (tenant, principal, operation, key). Two quadruples never have the same one (Z20, Z21):
///  · readable, `tenant|principal|operation|key`, when that is at most 128 bytes of printable ASCII, the first three
///  hold no '|', nothing
///    begins or ends with a blank, and neither it nor the key begins with the tag;
///  · else the tag and the hex SHA-256 of the four, each with its length. A key that looks like a stored hash is hashed
///  again (N09, B020).
std::string make_trace_id(std::string_view tenant, std::string_view principal, std::string_view operation,
                          std::string_view key);

}  // namespace nebis::identify
