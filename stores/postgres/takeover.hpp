// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalogue.hpp"
#include "nebis/migrate.hpp"
#include "schema.hpp"

#include <string>
#include <string_view>
#include <vector>

/// A record table that isn't as schema.sql makes it: made by hand from the article's DDL, or with a piece missing.
///
/// A column of another type gets a new one beside it, `nebis_<name>`; a trigger fills that for whatever others write
/// meanwhile, batches fill it for the rows that are there, and at the end both change names in one transaction. The old
/// one stays as `<name>_before`. All is derived from the catalogue, so an interrupted takeover goes on where it was.
namespace nebis::postgres {

struct PlannedStep {
    enum class Kind : std::uint8_t {
        quick,   ///< holds the table for a moment; tried again until it gets it
        long_,   ///< lets others read and write; no transaction may be around it
        batches  ///< once for each run of pages: $from, $to
    };
    SchemaStep step;
    Kind kind = Kind::quick;
};

class Takeover {
public:
    Takeover(const Catalogue& catalogue, std::string table, std::string time_zone);

    const std::vector<std::string>& missing() const noexcept { return missing_; }
    std::vector<std::string> left_over() const;
    std::vector<PlannedStep> steps() const;
    /// Reads all rows if some must be changed.
    Result<std::vector<SchemaObstacle>> obstacles(Connection& connection, Deadline deadline) const;

private:
    enum class Need : std::uint8_t { nothing, add, widen, fill, require };
    struct Column {
        const ColumnRule* rule;
        const Catalogue::Column* found;  ///< null: missing
        Need need = Need::nothing;
    };
    void look();
    bool filled(std::string_view name) const;
    bool any(Need need) const;
    /// Under which name the column of the finished table is found now.
    std::string live(std::string_view name) const;
    std::string millis(std::string_view row, std::string_view name) const;
    std::string bytes(std::string_view row, std::string_view name) const;
    std::string key(std::string_view row) const;
    std::string value_of(std::string_view row, std::string_view name) const;
    std::string quoted() const { return "\"" + table_ + "\""; }
    void add_columns(std::vector<PlannedStep>& steps) const;
    void fill_columns(std::vector<PlannedStep>& steps) const;
    void require_values(std::vector<PlannedStep>& steps) const;
    void make_indexes(std::vector<PlannedStep>& steps) const;
    void change_names(std::vector<PlannedStep>& steps) const;

    const Catalogue& catalogue_;
    std::string table_, time_zone_;
    bool ours_ = false;  ///< trace_id is bytea: the form in which Nebis keeps it
    std::vector<Column> columns_;
    std::vector<std::string> missing_;
};

}  // namespace nebis::postgres
