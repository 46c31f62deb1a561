// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What every SQL store does with its schema.sql.
namespace nebis::runtime {

/// The statements, each on one line, without comments.
std::vector<std::string> statements_in(std::string_view sql);

/// Of what a schema makes (CREATE …), whatever its comments and blanks: 63 bits, so that it fits a column of the meta
/// table. The text names the default table, so one number serves all tables.
std::int64_t schema_checksum(std::string_view sql);

/// An article's PROCESSING row has no lease: its owner is believed alive for this long after its last change, as the
/// article's own recovery does.
inline constexpr StoreMillis adopted_lease = 300'000;

}  // namespace nebis::runtime
