// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <string>
#include <string_view>

namespace nebis::postgres {

/// [a-z0-9_]{1,55}: a table name is part of a statement's text, so it can't be data (B104); its indexes add to it.
bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

std::string schema_sql(std::string_view table);

/// Makes what is missing; changes nothing that is there. Several instances may do it at a time.
Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline);

/// Writable, table, columns, key and indexes as schema.sql makes them, no newer version (B106).
Result<void> verify_schema(Connection& connection, const std::string& table, Deadline deadline);

}  // namespace nebis::postgres
