// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::sqlite {

/// [a-z0-9_]{1,63}: a table name is part of a statement's text, so it can't be data (B104).
bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

/// The text of schema.sql for this table.
std::string schema_sql(std::string_view table);

/// What schema.sql says about a column of the record table.
struct ColumnRule {
    std::string_view name;
    std::string_view type;
    bool required;
};
std::span<const ColumnRule> column_rules() noexcept;

/// All rows of a query as text; NULL is the empty text.
Result<std::vector<std::vector<std::string>>> query(Connection& connection, const std::string& sql,
                                                    std::string_view bound = {});

/// A unique, whole index on trace_id alone that compares bytes: the protocol's one arbiter.
Result<void> verify_key(Connection& connection, const std::string& table);

/// Makes what is missing; changes nothing that is there.
Result<void> create_schema(Connection& connection, const std::string& table);

/// The clock set, the file writable and in write-ahead logging, table, columns, key and indexes as schema.sql makes
/// them, no newer version (B106).
Result<void> verify_schema(Connection& connection, const std::string& table, StoreMillis now);

}  // namespace nebis::sqlite
