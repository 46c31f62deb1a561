// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <string>
#include <string_view>

namespace nebis::sqlite {

/// [a-z0-9_]{1,63}: a table name is part of a statement's text, so it can't be data (B104).
bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

/// The text of schema.sql for this table.
std::string schema_sql(std::string_view table);

/// Makes what is missing; changes nothing that is there.
Result<void> create_schema(Connection& connection, const std::string& table);

/// The file writable and in write-ahead logging, table, columns, key and indexes as schema.sql makes them, no newer
/// version (B106).
Result<void> verify_schema(Connection& connection, const std::string& table);

}  // namespace nebis::sqlite
