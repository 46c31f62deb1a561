// SPDX-License-Identifier: Apache-2.0
#include "migrations.hpp"

#include "errors.hpp"
#include "runtime/schema_text.hpp"
#include "schema.hpp"
#include "takeover.hpp"

#include <algorithm>
#include <thread>

namespace nebis::mysql {

extern const char* const schema_text;

namespace {

using Kind = PlannedStep::Kind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds step_back{100};
/// Its row locks last some milliseconds.
constexpr const char* rows_of_a_batch = "500";
/// Locks of this kind are the server's, not the database's; their names are short.
constexpr const char* lock_name = "CONCAT('nebis schema ',MD5(DATABASE()))";

Error without_rights(const Error& error) {
    if (error.code() != "mysql-permission") return error;
    return Error(error.kind(), error.message(), error.detail(),
                 "it needs CREATE, ALTER, DROP, INDEX, TRIGGER and LOCK TABLES on the database (and, where the server "
                 "writes a binary log, `log_bin_trust_function_creators`). `--set datasources.NAME.username=…` names "
                 "another user")
        .with_code(error.code());
}

void put(std::string& sql, std::string_view mark, std::string_view value) {
    if (const auto at = sql.find(mark); at != std::string::npos) sql.replace(at, mark.size(), value);
}

/// Again while others hold what it needs.
template <class Step>
Result<void> patiently(Deadline deadline, Step step) {
    for (;;) {
        auto done = step();
        if (done || !is_lock_fault(done.error()) || steady_clock::now() + step_back >= deadline) return done;
        std::this_thread::sleep_for(step_back);
    }
}

class MysqlMigrations final : public Migrations {
public:
    MysqlMigrations(Options options, std::string table) : options_(std::move(options)), table_(std::move(table)) {}

    Result<SchemaStatus> status(const MigrateOptions& options, Deadline deadline) override;
    Result<std::vector<SchemaStep>> plan(int target, const MigrateOptions& options, Deadline deadline) override;
    Result<std::vector<SchemaStep>> up(const MigrateOptions& options, Deadline deadline) override;
    Result<std::int64_t> down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) override;

private:
    struct Found {
        SchemaStatus status;
        std::vector<PlannedStep> steps;
    };
    Result<std::unique_ptr<Connection>> connect(const MigrateOptions& options, Deadline deadline) const;
    static Result<void> take_lock(Connection& connection, const MigrateOptions& options, Deadline deadline);
    Result<Found> look(Connection& connection, const MigrateOptions& options, Deadline deadline) const;
    Result<Found> look_at_table(Connection& connection, const Catalogue& catalogue, const MigrateOptions& options,
                                Deadline deadline) const;
    std::vector<std::string> statements(std::string_view beginning) const;
    PlannedStep undoing() const;
    Result<void> run(Connection& connection, const PlannedStep& planned, Deadline deadline) const;
    Result<void> run_batches(Connection& connection, const std::vector<std::string>& statements,
                             Deadline deadline) const;
    static Result<void> quick(Connection& connection, const std::string& sql, Deadline deadline);

    Options options_;
    std::string table_;
};

std::vector<std::string> MysqlMigrations::statements(std::string_view beginning) const {
    auto all = schema_statements(table_);
    std::erase_if(all, [&](const std::string& one) { return !one.starts_with(beginning); });
    return all;
}

Result<std::unique_ptr<Connection>> MysqlMigrations::connect(const MigrateOptions& options, Deadline deadline) const {
    for (const char c : options.time_zone)
        if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("/_+-:").find(c) == std::string_view::npos)
            return Error(ErrorKind::misconfigured, "not a time zone", {}, "write it as Asia/Shanghai or +08:00")
                .with_code("schema-time-zone");
    auto connection = Connection::open(options_, deadline);
    if (!connection) return connection;
    // The sessions of a store are pinned to small statements; this one counts and fills whole tables.
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - steady_clock::now()).count();
    auto set = (*connection)
                   ->query("SET lock_wait_timeout=1/*M!,idle_transaction_timeout=0,max_statement_time=" +
                               std::to_string(std::clamp<std::int64_t>(left, 1, 31'536'000)) + "*/",
                           deadline);
    if (!set) return surely_not_applied(std::move(set).error());
    if (!options.time_zone.empty()) {
        auto known =
            (*connection)
                ->query("SELECT CONVERT_TZ('2024-05-01 00:00:00','" + options.time_zone + "','+00:00') IS NOT NULL",
                        deadline);
        if (!known) return surely_not_applied(std::move(known).error());
        if (known->number(0, 0) == 0)
            return Error(ErrorKind::misconfigured, "the server doesn't know the time zone " + options.time_zone, {},
                         "write it as +08:00, or load the names with mysql_tzinfo_to_sql")
                .with_code("schema-time-zone");
    }
    return connection;
}

/// The session's: it ends with the connection at the latest.
Result<void> MysqlMigrations::take_lock(Connection& connection, const MigrateOptions& options, Deadline deadline) {
    const auto until = std::min(deadline, steady_clock::now() + options.lock_wait);
    for (;;) {
        auto mine = connection.query(std::string("SELECT GET_LOCK(") + lock_name + ",0)", deadline);
        if (!mine) return surely_not_applied(std::move(mine).error());
        if (mine->number(0, 0) == 1) return {};
        if (steady_clock::now() + step_back >= until)
            return Error(ErrorKind::overloaded, "another program is changing the schema of this database", {},
                         std::string("wait until it has ended; SELECT IS_USED_LOCK(") + lock_name +
                             ") names its connection")
                .with_code("schema-lock");
        std::this_thread::sleep_for(step_back);
    }
}

Result<MysqlMigrations::Found> MysqlMigrations::look(Connection& connection, const MigrateOptions& options,
                                                     Deadline deadline) const {
    auto catalogue = Catalogue::read(connection, table_, deadline);
    if (!catalogue) return without_rights(surely_not_applied(std::move(catalogue).error()));
    if (catalogue->version <= newest_schema &&
        (catalogue->checksum == 0 || catalogue->checksum == runtime::schema_checksum(schema_text)))
        return look_at_table(connection, *catalogue, options, deadline);
    Found found;
    found.status.state = catalogue->version > newest_schema ? SchemaState::newer : SchemaState::altered;
    found.status.version = catalogue->version;
    return found;
}

Result<MysqlMigrations::Found> MysqlMigrations::look_at_table(Connection& connection, const Catalogue& catalogue,
                                                              const MigrateOptions& options, Deadline deadline) const {
    Found found;
    auto& status = found.status;
    if (!catalogue.there()) {
        status.missing = {"the table " + table_ + " is missing"};
        found.steps = {{"make the tables", schema_statements(table_), Kind::quick}};
        return found;
    }
    auto zone = options.time_zone;
    if (zone.empty()) {
        auto told = connection.query("SELECT @@global.time_zone", deadline);
        if (!told) return surely_not_applied(std::move(told).error());
        zone = told->bytes(0, 0);
    }
    const Takeover takeover(catalogue, table_, zone);
    status.version = catalogue.version;
    for (const auto& [there, name] :
         {std::pair(catalogue.key_rule, "idempotent_key_rule"), std::pair(catalogue.meta, "idempotent_meta")})
        if (!there) status.missing.push_back("the table " + std::string(name) + " is missing");
    if (!status.missing.empty())
        found.steps.push_back(
            {"make the shared tables", statements("CREATE TABLE IF NOT EXISTS idempotent_"), Kind::quick});
    auto obstacles = takeover.obstacles(connection, deadline);
    if (!obstacles) return without_rights(surely_not_applied(std::move(obstacles).error()));
    status.obstacles = *std::move(obstacles);
    for (auto& one : takeover.missing()) status.missing.push_back(std::move(one));
    for (auto& step : takeover.steps()) found.steps.push_back(std::move(step));
    if (!catalogue.recorded || catalogue.checksum == 0) {
        status.missing.push_back("the version of " + table_ + " is not recorded");
        auto record = statements("INSERT IGNORE INTO idempotent_meta");
        record.push_back("UPDATE idempotent_meta SET value=" + std::to_string(newest_schema) +
                         " WHERE name IN ('schema','" + table_ + "/schema') AND value<" +
                         std::to_string(newest_schema));
        found.steps.push_back({"record the version", std::move(record), Kind::quick});
    }
    status.state = status.missing.empty() ? SchemaState::current : SchemaState::older;
    if (catalogue.before)
        status.notes.push_back("the table " + before_of(table_) +
                               " holds what was there before; when nobody needs it: DROP TABLE " + before_of(table_));
    return found;
}

Result<SchemaStatus> MysqlMigrations::status(const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    return std::move(found->status);
}

PlannedStep MysqlMigrations::undoing() const {
    const std::string table = "`" + table_ + "`";
    // The floor stays, so that fencing tokens grow over this, too.
    return {"drop the table " + table_,
            {"LOCK TABLES " + table + " WRITE, idempotent_meta WRITE",
             "INSERT INTO idempotent_meta (name,value) SELECT '" + table_ + "/version_floor',MAX(version) FROM " +
                 table + " HAVING COUNT(*)>0 ON DUPLICATE KEY UPDATE value=GREATEST(value,VALUES(value))",
             "DELETE FROM idempotent_meta WHERE name IN ('" + table_ + "/schema','" + table_ + "/schema/1')",
             "DROP TABLE " + table, "UNLOCK TABLES"},
            Kind::quick};
}

Result<std::vector<SchemaStep>> MysqlMigrations::plan(int target, const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    std::vector<SchemaStep> steps;
    if (target == 0) {
        if (auto may = may_go_down(found->status, table_); !may) return std::move(may).error();
        if (found->status.state != SchemaState::missing) steps.push_back(undoing().shown());
        return steps;
    }
    if (auto may = may_go_up(found->status, table_); !may) return std::move(may).error();
    for (const auto& step : found->steps) steps.push_back(step.shown());
    return steps;
}

Result<void> MysqlMigrations::quick(Connection& connection, const std::string& sql, Deadline deadline) {
    return patiently(deadline, [&]() -> Result<void> {
        auto done = connection.query(sql, deadline);
        return done ? Result<void>() : Result<void>(std::move(done).error());
    });
}

Result<void> MysqlMigrations::run_batches(Connection& connection, const std::vector<std::string>& statements,
                                          Deadline deadline) const {
    // Only now, when the triggers write what comes: rows may have come since the look at the table.
    std::string after;
    for (;;) {
        auto run_of_ids = connection.query("SELECT MIN(id),MAX(id) FROM (SELECT id FROM `" + table_ + "`" + after +
                                               " ORDER BY id LIMIT " + rows_of_a_batch + ") AS batch",
                                           deadline);
        if (!run_of_ids) return surely_not_applied(std::move(run_of_ids).error());
        if (run_of_ids->is_null(0, 1)) return {};
        Script batch;
        batch.statement("START TRANSACTION");
        for (std::string sql : statements) {
            put(sql, "$from", run_of_ids->bytes(0, 0));
            put(sql, "$to", run_of_ids->bytes(0, 1));
            batch.statement(sql);
        }
        batch.statement("COMMIT");
        const auto write = [&]() -> Result<void> {
            auto written = connection.run(batch, deadline);
            if (written) return {};
            (void)connection.query("ROLLBACK", deadline);  // not `tidy`, which gives up the lock of the migration, too
            return std::move(written).error();
        };
        if (auto done = patiently(deadline, write); !done) return done;
        after = " WHERE id>" + std::string(run_of_ids->bytes(0, 1));
    }
}

Result<void> MysqlMigrations::run(Connection& connection, const PlannedStep& planned, Deadline deadline) const {
    if (planned.kind == Kind::batches) return run_batches(connection, planned.statements, deadline);
    for (const auto& sql : planned.statements)
        if (auto done = quick(connection, sql, deadline); !done) return done;
    return {};
}

Result<std::vector<SchemaStep>> MysqlMigrations::up(const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    if (auto lock = take_lock(**connection, options, deadline); !lock) return std::move(lock).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    if (auto may = may_go_up(found->status, table_); !may) return std::move(may).error();
    std::vector<SchemaStep> done;
    for (const auto& planned : found->steps) {
        if (auto applied = run(**connection, planned, deadline); !applied) {
            const Error& why = applied.error();
            return without_rights(
                Error(why.kind(), "step '" + planned.about + "': " + why.message(), why.detail(),
                      why.hint().empty() ? "the old table has lost nothing; run up again" : why.hint())
                    .with_code(why.code()));
        }
        done.push_back(planned.shown());
        if (options.done) options.done(done.back());
    }
    return done;  // the lock ends with the connection
}

Result<std::int64_t> MysqlMigrations::down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    if (auto lock = take_lock(**connection, options, deadline); !lock) return std::move(lock).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    if (auto may = may_go_down(found->status, table_); !may) return std::move(may).error();
    if (found->status.state == SchemaState::missing) return std::int64_t{0};
    if (found->status.state == SchemaState::older)
        return Error(ErrorKind::misconfigured, "the table " + table_ + " is not as this release makes it", {},
                     "run `nebis migrate up` first; what isn't whole can't be undone")
            .with_code("schema-incomplete");
    const auto step = undoing();
    std::int64_t records = 0;
    for (const auto& sql : step.statements) {
        if (auto done = quick(**connection, sql, deadline); !done) return without_rights(std::move(done).error());
        if (&sql != &step.statements.front()) continue;
        // Locked: from here to the end nobody adds a record that wasn't counted.
        auto count = (*connection)->query("SELECT COUNT(*),COALESCE(SUM(status=0),0) FROM `" + table_ + "`", deadline);
        if (!count) return surely_not_applied(std::move(count).error());
        records = count->number(0, 0);
        if (records > may_lose) return would_lose(table_, records, count->number(0, 1), may_lose);
    }
    if (options.done) options.done(step.shown());
    return records;
}

}  // namespace

std::shared_ptr<Migrations> migrations(Options options, std::string table) {
    return std::make_shared<MysqlMigrations>(std::move(options), std::move(table));
}

}  // namespace nebis::mysql
