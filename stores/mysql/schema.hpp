// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <string>
#include <string_view>

namespace nebis::mysql {

bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

/// Makes what is missing. Two at a time are fine.
Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline);

/// The server's settings, the tables, their columns, types and indexes: all that a promise rests on.
Result<void> verify_schema(Connection& connection, const Options& options, const std::string& table, Deadline deadline);

}  // namespace nebis::mysql
