// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nebis::mysql {

/// [a-z0-9_]{1,55}: a table name is part of a statement's text, so it can't be data (B104); what a migration makes adds
/// to it.
bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

/// The statements of schema.sql for a table of that name.
std::vector<std::string> schema_statements(std::string_view table);

/// Makes what is missing; changes nothing that is there. Two at a time are fine.
Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline);

/// The server's settings and clock, the tables, their version, columns, types and indexes: all that a promise rests on.
Result<void> verify_schema(Connection& connection, const Options& options, const std::string& table, Deadline deadline);

}  // namespace nebis::mysql
