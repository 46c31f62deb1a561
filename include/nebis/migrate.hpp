// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/extend.hpp"
#include "nebis/standard.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Versions of a store's tables (S14): what is there, what is missing, the SQL that brings it, and doing it. The
/// program `nebis migrate` is made of this; a store driver offers it through `Drivers::migrations`.
namespace nebis {

/// The version that this release makes and needs. 0: no record table.
inline constexpr int newest_schema = 1;

enum class SchemaState : std::uint8_t {
    missing,  ///< there is no record table
    current,  ///< nothing to do
    older,    ///< there, but `up` has something to do: made by hand, of an earlier version, incomplete or interrupted
    newer,    ///< made by a later release: nothing here may touch it
    altered,  ///< a version was applied from another text than this release has
};
std::string_view to_string(SchemaState state) noexcept;

/// Why `up` refuses. With a count where rows are the reason; never with a key.
struct SchemaObstacle {
    std::string what;
    std::string hint;  ///< what to do about it
};

struct SchemaStatus {
    SchemaState state = SchemaState::missing;
    int version = 0;                        ///< greatest that is recorded
    std::vector<std::string> missing;       ///< one sentence for each thing that `up` will bring
    std::vector<SchemaObstacle> obstacles;  ///< not empty: `up` refuses
    std::vector<std::string> notes;         ///< what a person should know; nothing to do for `up`
};

/// A piece of a plan that is done or not done, as a whole.
struct SchemaStep {
    std::string about;
    std::string sql;
};

struct MigrateOptions {
    /// The longest wait for another migration of the same database.
    std::chrono::milliseconds lock_wait{30'000};
    /// What times without a zone in a table made by hand mean; empty: the server's setting for this role. Only where
    /// the store has such columns.
    std::string time_zone = {};
    /// Called after each step, on the calling thread.
    std::function<void(const SchemaStep&)> done = {};
};

/// One record table and the small tables it shares with its neighbours. **Threads**: one at a time. Two programs that
/// migrate one database at a time do it once: the second waits. **Time**: every call ends at its deadline; what was
/// done until then stays, and the next `up` goes on from there, as it does after a crash. **Errors**: `misconfigured`
/// with a code "schema-…" where it refuses, see `is_refusal`; `overloaded` "schema-lock" when another migration took
/// too long; else what the store says.
class Migrations {
public:
    virtual ~Migrations() = default;
    /// Changes nothing.
    virtual Result<SchemaStatus> status(const MigrateOptions& options, Deadline deadline) = 0;
    /// What `up` (target `newest_schema`) or `down` (target 0) would do now; changes nothing. Empty: nothing.
    virtual Result<std::vector<SchemaStep>> plan(int target, const MigrateOptions& options, Deadline deadline) = 0;
    /// Brings what is missing; loses nothing. The steps that were done.
    virtual Result<std::vector<SchemaStep>> up(const MigrateOptions& options, Deadline deadline) = 0;
    /// Undoes the newest version, if at most `may_lose` records go with it. How many went.
    virtual Result<std::int64_t> down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) = 0;
};

/// The refusals that are the same for every store. What `status` says about `table` forbids going up.
Result<void> may_go_up(const SchemaStatus& status, std::string_view table);
Result<void> may_go_down(const SchemaStatus& status, std::string_view table);
Error would_lose(std::string_view table, std::int64_t records, std::int64_t in_progress, std::int64_t may_lose);
/// True: somebody must decide or mend something; trying again doesn't help.
bool is_refusal(const Error& error) noexcept;

struct OpenOptions;  // engine.hpp

/// A record table that a configuration file names.
struct RecordTable {
    std::string data_source;
    std::string driver;
    std::string table;
    std::shared_ptr<Migrations> migrations;  ///< null: this driver keeps no schema
};

/// What to migrate: the tables that the file names for one data source, or `table` alone if it isn't empty. Reads the
/// configuration as `Engine::open` does; connects to nothing. **Errors**: `misconfigured`.
Result<std::vector<RecordTable>> record_tables(const std::string& file, const Drivers& drivers,
                                               const OpenOptions& options, const std::string& data_source,
                                               const std::string& table = {});

}  // namespace nebis
