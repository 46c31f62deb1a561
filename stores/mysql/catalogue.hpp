// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::mysql {

/// What schema.sql says about a column of the record table.
struct ColumnRule {
    std::string_view name, type;  ///< the type, or what it starts with
    bool required;
};
std::span<const ColumnRule> column_rules() noexcept;

/// What information_schema says about one record table and the tables it shares.
struct Catalogue {
    struct Column {
        std::string name;
        std::string kind;  ///< "varchar"
        std::string type;  ///< "varchar(128)"
        bool required = false, has_default = false, counts = false;
        std::string collation;
    };
    struct Index {
        std::string name, columns;  ///< "status,expire_time"
        bool unique = false, whole = false;
    };

    /// In one round trip and nothing changed.
    static Result<Catalogue> read(Connection& connection, const std::string& table, Deadline deadline);

    const Column* column(std::string_view name) const;
    const Index* index(std::string_view name) const;
    /// Unique, whole, on trace_id alone: the protocol's one arbiter. Whatever its name is.
    bool has_key() const;
    /// A column of somebody else's that would refuse every record.
    const Column* needs_a_value() const;
    bool there() const { return !kind.empty(); }

    std::string kind;    ///< "BASE TABLE"; empty: no such table
    std::string engine;  ///< "InnoDB"
    std::vector<Column> columns;
    std::vector<Index> indexes;
    bool referred = false;              ///< a foreign key leads to it or away
    std::vector<std::string> triggers;  ///< on this table, or with a name that a takeover of it gives
    bool key_rule = false, meta = false;
    bool copy = false;    ///< the table that a takeover fills
    bool before = false;  ///< the table that one has set aside
    int version = 0;
    bool recorded = false;      ///< the newest version, for this table and for the shared ones
    std::int64_t checksum = 0;  ///< 0: not recorded
};

/// Names that belong to a takeover of a table.
std::string copy_of(const std::string& table);
std::string before_of(const std::string& table);

struct SchemaFault {
    std::string message, detail;
    const char* word;
    bool in_rows;  ///< the table must be made anew to mend it; false: an index will do
};
/// How the record table differs from what schema.sql makes; the worst first.
std::vector<SchemaFault> faults_of(const Catalogue& catalogue, const std::string& table);

}  // namespace nebis::mysql
