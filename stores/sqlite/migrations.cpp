// SPDX-License-Identifier: Apache-2.0
#include "migrations.hpp"

#include "errors.hpp"
#include "file.hpp"
#include "runtime/schema_text.hpp"
#include "schema.hpp"
#include "takeover.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace nebis::sqlite {

extern const char* const schema_text;

namespace {

constexpr const char* to_wal = "PRAGMA journal_mode = WAL;";

std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

class SqliteMigrations final : public Migrations {
public:
    SqliteMigrations(Options options, std::string table) : options_(std::move(options)), table_(std::move(table)) {}

    Result<SchemaStatus> status(const MigrateOptions& options, Deadline deadline) override;
    Result<std::vector<SchemaStep>> plan(int target, const MigrateOptions& options, Deadline deadline) override;
    Result<std::vector<SchemaStep>> up(const MigrateOptions& options, Deadline deadline) override;
    Result<std::int64_t> down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) override;

private:
    /// What is there, and what `up` would do about it.
    struct Found {
        SchemaStatus status;
        std::optional<Takeover> table;
        bool wal = false;
        std::vector<SchemaStep> steps;  ///< inside the transaction
    };

    bool no_file() const {
        std::error_code failed;
        return !std::filesystem::exists(options_.path, failed);
    }
    Result<std::unique_ptr<Connection>> connect(bool create, const MigrateOptions& options, Deadline deadline) const;
    Result<Found> look(Connection& connection) const;
    Result<void> look_at_shared(Connection& connection, Found& found) const;
    Found nothing() const;
    std::vector<SchemaStep> undoing() const;
    Result<void> write(Connection& connection, const std::vector<SchemaStep>& steps) const;

    Options options_;
    std::string table_;
};

Result<std::unique_ptr<Connection>> SqliteMigrations::connect(bool create, const MigrateOptions& options,
                                                              Deadline deadline) const {
    if (!options.time_zone.empty())
        return Error(ErrorKind::misconfigured, "times in a SQLite file are UTC", {}, "leave the time zone out")
            .with_code("schema-time-zone");
    Options own = options_;
    own.create_schema = create;
    auto connection = detail::File(std::move(own)).connect(deadline);
    if (!connection) return connection;
    (*connection)->wait_until(std::min(deadline, std::chrono::steady_clock::now() + options.lock_wait));
    if (Takeover::add_functions(**connection) != SQLITE_OK) return error_of((*connection)->get(), "add its functions");
    return connection;
}

SqliteMigrations::Found SqliteMigrations::nothing() const {
    Found found;
    found.status.missing = {"the table " + table_ + " is missing"};
    found.steps = {{"make the tables", schema_sql(table_)}};
    return found;
}

Result<void> SqliteMigrations::look_at_shared(Connection& connection, Found& found) const {
    auto& missing = found.status.missing;
    for (const char* const name : {"idempotent_key_rule", "idempotent_meta"}) {
        auto there = query(connection, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", name);
        if (!there) return std::move(there).error();
        if (there->empty()) missing.push_back("the table " + std::string(name) + " is missing");
        if (there->empty() && std::string_view(name) == "idempotent_meta") return {};
    }
    auto rows = query(connection, "SELECT name, value FROM idempotent_meta");
    if (!rows) return std::move(rows).error();
    bool recorded = false, summed = false, older = false;
    for (const auto& row : *rows) {
        if (row[0] == "schema" || row[0] == table_ + "/schema")
            found.status.version = std::max(found.status.version, static_cast<int>(number_in(row[1])));
        older |= (row[0] == "schema" || row[0] == table_ + "/schema") && number_in(row[1]) < newest_schema;
        recorded |= row[0] == table_ + "/schema";
        if (row[0] != table_ + "/schema/" + std::to_string(newest_schema)) continue;
        summed = true;
        if (number_in(row[1]) != runtime::schema_checksum(schema_text)) found.status.state = SchemaState::altered;
    }
    if (!recorded || !summed || older) missing.push_back("the version of " + table_ + " is not recorded");
    if (found.status.version > newest_schema) found.status.state = SchemaState::newer;
    return {};
}

Result<SqliteMigrations::Found> SqliteMigrations::look(Connection& connection) const {
    Found found;
    auto table = Takeover::look(connection, table_);
    if (!table) return std::move(table).error();
    auto mode = query(connection, "PRAGMA journal_mode");
    if (!mode) return std::move(mode).error();
    found.wal = !mode->empty() && mode->front().front() == "wal";
    if (!found.wal) found.status.missing.emplace_back("the file is not in write-ahead logging");
    if (auto shared = look_at_shared(connection, found); !shared) return std::move(shared).error();
    if (found.status.state != SchemaState::missing) return found;  // newer, altered: not ours to judge
    if (!table->there()) {
        Found fresh = nothing();
        fresh.status.version = 0;
        fresh.wal = found.wal;
        return fresh;
    }
    auto& missing = found.status.missing;
    missing.insert(missing.end(), table->wrong().begin(), table->wrong().end());
    for (const std::string column : {"lease_expire_time", "expire_time"}) {
        auto index = query(connection,
                           "SELECT 1 FROM pragma_index_list(?1) AS list, pragma_index_info(list.name) AS part WHERE "
                           "part.seqno = 0 AND part.name = '" +
                               column + "'",
                           table_);
        if (!index) return std::move(index).error();
        if (index->empty() && !table->needs_copy())
            missing.push_back("the index of " + table_ + " on " + column + " is missing");
    }
    found.status.state = missing.empty() ? SchemaState::current : SchemaState::older;
    auto before = query(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?1", table->before());
    if (!before) return std::move(before).error();
    if (!before->empty())
        found.status.notes.push_back("the table " + table->before() +
                                     " holds what was there before; when nobody needs it: DROP TABLE " +
                                     table->before());
    auto obstacles = table->obstacles(connection);
    if (!obstacles) return std::move(obstacles).error();
    found.status.obstacles = *std::move(obstacles);
    if (table->needs_copy()) found.steps = table->set_aside();
    if (!missing.empty()) found.steps.push_back({"make what is missing", schema_sql(table_)});
    if (table->needs_copy()) found.steps.push_back(table->copy());
    // The insert of schema.sql leaves what an earlier version recorded.
    const std::string newest = std::to_string(newest_schema);
    if (!missing.empty())
        found.steps.push_back({"record the version", "UPDATE idempotent_meta SET value = " + newest +
                                                         " WHERE name IN ('schema', '" + table_ +
                                                         "/schema') AND value < " + newest + ";"});
    found.table = *std::move(table);
    return found;
}

Result<SchemaStatus> SqliteMigrations::status(const MigrateOptions& options, Deadline deadline) {
    if (no_file()) return nothing().status;
    auto connection = connect(false, options, deadline);
    if (!connection) return std::move(connection).error();
    auto found = look(**connection);
    if (!found) return std::move(found).error();
    return std::move(found->status);
}

std::vector<SchemaStep> SqliteMigrations::undoing() const {
    // The floor stays, so that fencing tokens grow over this, too.
    return {
        {"drop the table " + table_,
         "INSERT INTO idempotent_meta (name, value) SELECT '" + table_ + "/version_floor', max(version) FROM " +
             table_ +
             " HAVING count(*) > 0 ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value);\nDROP TABLE " +
             table_ + ";\nDELETE FROM idempotent_meta WHERE name IN ('" + table_ + "/schema', '" + table_ +
             "/schema/1');"}};
}

Result<std::vector<SchemaStep>> SqliteMigrations::plan(int target, const MigrateOptions& options, Deadline deadline) {
    Found found = nothing();
    if (!no_file()) {
        auto connection = connect(false, options, deadline);
        if (!connection) return std::move(connection).error();
        auto looked = look(**connection);
        if (!looked) return std::move(looked).error();
        found = *std::move(looked);
    }
    if (target == 0) {
        if (auto may = may_go_down(found.status, table_); !may) return std::move(may).error();
        return found.status.state == SchemaState::missing ? std::vector<SchemaStep>{} : undoing();
    }
    if (auto may = may_go_up(found.status, table_); !may) return std::move(may).error();
    if (!found.wal) found.steps.insert(found.steps.begin(), {"switch the file to write-ahead logging", to_wal});
    return std::move(found.steps);
}

Result<void> SqliteMigrations::write(Connection& connection, const std::vector<SchemaStep>& steps) const {
    for (const auto& step : steps)
        if (connection.run(step.sql.c_str()) != SQLITE_OK) return error_of(connection.get(), step.about);
    if (connection.commit() != SQLITE_OK) return error_of(connection.get(), "commit");
    return {};
}

Result<std::vector<SchemaStep>> SqliteMigrations::up(const MigrateOptions& options, Deadline deadline) {
    // A refusal must not make a file, nor change its mode.
    auto planned = plan(newest_schema, options, deadline);
    if (!planned || planned->empty()) return planned;
    auto connection = connect(true, options, deadline);
    if (!connection) return std::move(connection).error();
    if ((*connection)->begin_immediate() != SQLITE_OK) return error_of((*connection)->get(), "begin the migration");
    // Whoever held the lock before may have done it.
    auto found = look(**connection);
    if (!found) return std::move(found).error();
    if (auto may = may_go_up(found->status, table_); !may) return std::move(may).error();
    if (auto written = write(**connection, found->steps); !written) return std::move(written).error();
    if (planned->front().sql == to_wal) found->steps.insert(found->steps.begin(), planned->front());
    if (options.done)
        for (const auto& step : found->steps) options.done(step);
    return std::move(found->steps);
}

Result<std::int64_t> SqliteMigrations::down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) {
    if (no_file()) return std::int64_t{0};
    auto connection = connect(false, options, deadline);
    if (!connection) return std::move(connection).error();
    if ((*connection)->begin_immediate() != SQLITE_OK) return error_of((*connection)->get(), "begin the migration");
    auto found = look(**connection);
    if (!found) return std::move(found).error();
    if (auto may = may_go_down(found->status, table_); !may) return std::move(may).error();
    if (found->status.state == SchemaState::missing) return std::int64_t{0};
    if (found->status.state == SchemaState::older)
        return Error(ErrorKind::misconfigured, "the table " + table_ + " is not as this release makes it", {},
                     "run `nebis migrate up` first; what isn't whole can't be undone")
            .with_code("schema-incomplete");
    auto count = query(**connection, "SELECT count(*), count(*) FILTER (WHERE status = 0) FROM " + table_);
    if (!count) return std::move(count).error();
    const std::int64_t records = number_in(count->front()[0]);
    if (records > may_lose) return would_lose(table_, records, number_in(count->front()[1]), may_lose);
    const auto steps = undoing();
    if (auto written = write(**connection, steps); !written) return std::move(written).error();
    if (options.done)
        for (const auto& step : steps) options.done(step);
    return records;
}

}  // namespace

std::shared_ptr<Migrations> migrations(Options options, std::string table) {
    return std::make_shared<SqliteMigrations>(std::move(options), std::move(table));
}

}  // namespace nebis::sqlite
