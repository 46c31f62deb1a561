// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <span>
#include <string>
#include <string_view>

namespace nebis::postgres {

/// [a-z0-9_]{1,55}: a table name is part of a statement's text, so it can't be data (B104); its indexes add to it.
bool good_table_name(std::string_view table) noexcept;
Error bad_table_name();

std::string schema_sql(std::string_view table);

/// What schema.sql says about a column of the record table.
struct ColumnRule {
    std::string_view name, type;
    bool required;
    const char* fallback = nullptr;  ///< its default, as SQL
};
std::span<const ColumnRule> column_rules() noexcept;

/// One at a time in a whole database: who makes or changes tables. An advisory lock of the session: it ends with the
/// connection at the latest.
class SchemaLock {
public:
    /// Tries until then; it never waits inside the server, for whoever waits there holds a snapshot that CREATE INDEX
    /// CONCURRENTLY waits for. **Errors**: `overloaded` "schema-lock".
    static Result<SchemaLock> take(Connection& connection, Deadline until);
    Result<void> give_back(Deadline deadline);

private:
    explicit SchemaLock(Connection& connection) : connection_(&connection) {}
    Connection* connection_;
};

/// Makes what is missing; changes nothing that is there. Several instances may do it at a time.
Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline);

/// Clock set, writable, table, columns, key and indexes as schema.sql makes them, no newer version (B106).
Result<void> verify_schema(Connection& connection, const std::string& table, Deadline deadline);

}  // namespace nebis::postgres
