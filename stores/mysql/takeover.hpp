// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalogue.hpp"
#include "nebis/migrate.hpp"

#include <string>
#include <string_view>
#include <vector>

/// A record table that isn't as schema.sql makes it: made by hand from the article's DDL, or with a piece missing.
///
/// A missing index is added. For anything else a table as schema.sql makes it is filled beside the old one,
/// `<table>_nebis`: by triggers with whatever others write meanwhile, by batches with the rows that are there; then
/// both change names in one statement, and the old one stays as `<table>_before`. DDL here commits by itself, so an
/// interrupted takeover is thrown away by the next one, which begins anew: the old table has lost nothing.
namespace nebis::mysql {

struct PlannedStep {
    enum class Kind : std::uint8_t {
        quick,   ///< each statement holds the table for a moment; tried again until it gets it
        long_,   ///< lets others read and write
        batches  ///< once for each run of ids: $from, $to
    };
    std::string about;
    std::vector<std::string> statements;
    Kind kind = Kind::quick;

    SchemaStep shown() const;
};

class Takeover {
public:
    Takeover(const Catalogue& catalogue, std::string table, std::string time_zone);

    /// One sentence for each thing that the steps bring.
    std::vector<std::string> missing() const;
    std::vector<PlannedStep> steps() const;
    /// Reads all rows if the table must be made anew.
    Result<std::vector<SchemaObstacle>> obstacles(Connection& connection, Deadline deadline) const;

private:
    struct Check {
        std::string count, what, hint;
    };
    std::vector<SchemaObstacle> obstacles_of_the_table() const;
    std::vector<Check> checks_of_the_rows() const;
    bool interrupted() const { return catalogue_.copy || !catalogue_.triggers.empty(); }
    std::string millis(std::string_view row, std::string_view name) const;
    std::string bytes(std::string_view row, std::string_view name) const;
    std::string key(std::string_view row) const;
    std::string value_of(std::string_view row, std::string_view name) const;
    std::string values(std::string_view row) const;
    std::string assignments(std::string_view row) const;

    const Catalogue& catalogue_;
    std::string table_, time_zone_;
    std::vector<SchemaFault> faults_;
    bool ours_ = false;  ///< trace_id is binary: the form in which Nebis keeps it
    bool anew_ = false;  ///< the table must be made anew
};

}  // namespace nebis::mysql
