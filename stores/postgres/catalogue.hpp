// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::postgres {

/// What the server's catalogue says about one record table and the tables it shares.
struct Catalogue {
    struct Column {
        std::string name, type;
        bool required = false, has_default = false;
    };
    struct Index {
        std::string name, first_column;
        bool unique_alone = false;  ///< unique, whole, at once, on that one column
        bool usable = false, primary = false;
    };

    static Result<Catalogue> read(Connection& connection, const std::string& table, Deadline deadline);

    const Column* column(std::string_view name) const;
    bool has_index(std::string_view column, bool unique) const;
    const Index* index(std::string_view name) const;

    std::string kind;  ///< pg_class.relkind; empty: no such table
    std::vector<Column> columns;
    std::vector<Index> indexes;
    std::string time_zone;  ///< what the server would use for this role
    bool filling = false;   ///< the trigger of a takeover is there
    bool checking = false;  ///< its check constraint is there
    bool key_rule = false, meta = false;
    int version = 0;
    bool recorded = false;      ///< the newest version, for this table and for the shared ones
    std::int64_t checksum = 0;  ///< 0: not recorded
};

}  // namespace nebis::postgres
