// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "nebis/migrate.hpp"

#include <string>
#include <vector>

/// A record table that isn't as schema.sql makes it: made by hand from the article's DDL, or with a piece missing.
/// SQLite can't change a column, so the table is made anew and the rows are copied; the old one stays as
/// `<table>_before`.
namespace nebis::sqlite {

class Takeover {
public:
    /// Reads what is there. **Errors**: what SQLite says.
    static Result<Takeover> look(Connection& connection, const std::string& table);

    bool there() const noexcept { return !columns_.empty(); }
    bool needs_copy() const noexcept { return !wrong_.empty(); }
    /// What doesn't fit, a sentence each.
    const std::vector<std::string>& wrong() const noexcept { return wrong_; }
    /// Why its rows can't be taken over. Reads them all.
    Result<std::vector<SchemaObstacle>> obstacles(Connection& connection) const;

    std::string before() const { return table_ + "_before"; }
    std::vector<SchemaStep> set_aside() const;
    SchemaStep copy() const;

    /// The SQL functions that `copy` calls.
    static int add_functions(Connection& connection);

private:
    struct Column {
        std::string name, type;
        bool required = false;
    };
    const Column* column(std::string_view name) const;
    std::string value_of(std::string_view name) const;
    std::string millis_of(std::string_view name) const;
    std::string key() const;

    std::string table_;
    std::vector<Column> columns_;
    std::vector<std::string> wrong_;
    bool ours_ = false;  ///< trace_id is a BLOB: the form in which Nebis keeps it
};

}  // namespace nebis::sqlite
