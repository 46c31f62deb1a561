// SPDX-License-Identifier: Apache-2.0
#include "migrations.hpp"

#include "errors.hpp"
#include "runtime/schema_text.hpp"
#include "schema.hpp"
#include "takeover.hpp"

#include <algorithm>
#include <charconv>
#include <thread>

namespace nebis::postgres {

extern const char* const schema_text;

namespace {

using Kind = PlannedStep::Kind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Whoever waits for a table lock makes everybody behind it wait, too: so long, and not longer, before it steps back.
constexpr const char* short_waits = "SET lock_timeout = 100";
constexpr const char* long_waits = "SET lock_timeout = 0";
constexpr milliseconds step_back{100};
/// Some thousand rows: its row locks last some ten milliseconds.
constexpr std::int64_t pages_of_a_batch = 64;

std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

Error without_rights(const Error& error) {
    if (error.code() != "postgres-permission") return error;
    return Error(error.kind(), error.message(), error.detail(),
                 "run it as the role that owns the tables; new ones need CREATE on the schema. `--set "
                 "datasources.NAME.username=…` names another role")
        .with_code(error.code());
}

void put_number(std::string& sql, std::string_view mark, std::int64_t number) {
    if (const auto at = sql.find(mark); at != std::string::npos) sql.replace(at, mark.size(), std::to_string(number));
}

class PostgresMigrations final : public Migrations {
public:
    PostgresMigrations(Options options, std::string table) : options_(std::move(options)), table_(std::move(table)) {}

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
    Result<Found> look(Connection& connection, const MigrateOptions& options, Deadline deadline) const;
    Result<Found> look_at_table(Connection& connection, const Catalogue& catalogue, const MigrateOptions& options,
                                Deadline deadline) const;
    /// Of schema.sql, for this table: those that begin so.
    std::string statements(std::string_view beginning) const;
    SchemaStep undoing() const;
    Result<void> run(Connection& connection, const PlannedStep& planned, Deadline deadline) const;
    static Result<void> quick(Connection& connection, const std::string& sql, Deadline deadline);

    Options options_;
    std::string table_;
};

std::string PostgresMigrations::statements(std::string_view beginning) const {
    std::string all;
    for (const auto& one : runtime::statements_in(schema_sql(table_)))
        if (one.starts_with(beginning)) all.append(all.empty() ? "" : "\n").append(one).append(";");
    return all;
}

Result<std::unique_ptr<Connection>> PostgresMigrations::connect(const MigrateOptions& options,
                                                                Deadline deadline) const {
    for (const char c : options.time_zone)
        if (!std::isalnum(static_cast<unsigned char>(c)) && std::string_view("/_+-").find(c) == std::string_view::npos)
            return Error(ErrorKind::misconfigured, "not a time zone", {}, "write it as Asia/Shanghai or UTC")
                .with_code("schema-time-zone");
    auto connection = Connection::open(options_, deadline);
    if (!connection) return connection;
    // The sessions of a store are pinned to small plans; this one counts whole tables. A role's own bound on statements
    // would end an index in the middle: the deadline bounds us, the server hears of it below.
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    auto set = (*connection)
                   ->query("SET enable_seqscan = on; SET enable_hashjoin = on; SET statement_timeout = " +
                               std::to_string(std::clamp<std::int64_t>(left, 1, 2'000'000'000)) + "; " + short_waits,
                           deadline);
    if (!set) return surely_not_applied(std::move(set).error());
    if (!options.time_zone.empty()) {
        auto known =
            (*connection)->query("SELECT FROM pg_timezone_names WHERE name = '" + options.time_zone + "'", deadline);
        if (!known) return surely_not_applied(std::move(known).error());
        if (known->size() == 0)
            return Error(ErrorKind::misconfigured, "the server doesn't know the time zone " + options.time_zone, {},
                         "pg_timezone_names has them all")
                .with_code("schema-time-zone");
    }
    return connection;
}

Result<PostgresMigrations::Found> PostgresMigrations::look(Connection& connection, const MigrateOptions& options,
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

Result<PostgresMigrations::Found> PostgresMigrations::look_at_table(Connection& connection, const Catalogue& catalogue,
                                                                    const MigrateOptions& options,
                                                                    Deadline deadline) const {
    Found found;
    auto& status = found.status;
    const std::string newest = std::to_string(newest_schema);
    if (catalogue.kind.empty()) {
        status.missing = {"the table " + table_ + " is missing"};
        found.steps = {{{"make the tables", schema_sql(table_)}, Kind::quick}};
        return found;
    }
    const Takeover takeover(catalogue, table_, options.time_zone.empty() ? catalogue.time_zone : options.time_zone);
    status.version = catalogue.version;
    for (const auto& [there, name] :
         {std::pair(catalogue.key_rule, "idempotent_key_rule"), std::pair(catalogue.meta, "idempotent_meta")})
        if (!there) status.missing.push_back("the table " + std::string(name) + " is missing");
    if (!status.missing.empty())
        found.steps.push_back(
            {{"make the shared tables", statements("CREATE TABLE IF NOT EXISTS idempotent_")}, Kind::quick});
    auto obstacles = takeover.obstacles(connection, deadline);
    if (!obstacles) return without_rights(surely_not_applied(std::move(obstacles).error()));
    status.obstacles = *std::move(obstacles);
    status.missing.insert(status.missing.end(), takeover.missing().begin(), takeover.missing().end());
    if (catalogue.checking) status.missing.emplace_back("a check constraint of an interrupted `up` is left");
    for (auto& step : takeover.steps()) found.steps.push_back(std::move(step));
    if (!catalogue.recorded || catalogue.checksum == 0)
        status.missing.push_back("the version of " + table_ + " is not recorded");
    if (!catalogue.recorded || catalogue.checksum == 0)
        found.steps.push_back(
            {{"record the version",
              statements("INSERT INTO idempotent_meta") + "\nUPDATE idempotent_meta SET value = " + newest +
                  " WHERE name IN ('schema', '" + table_ + "/schema') AND value < " + newest + ";"},
             Kind::quick});
    status.state = status.missing.empty() ? SchemaState::current : SchemaState::older;
    if (status.missing.empty()) found.steps.clear();
    std::string columns, drops;
    for (const auto& name : takeover.left_over()) {
        columns.append(columns.empty() ? "" : ", ").append(name);
        drops.append(drops.empty() ? "" : ", ").append("DROP COLUMN ").append(name);
    }
    if (!columns.empty())
        status.notes.push_back("the columns " + columns +
                               " hold what was there before; when nobody needs them: ALTER TABLE " + table_ + " " +
                               drops);
    return found;
}

Result<SchemaStatus> PostgresMigrations::status(const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    return std::move(found->status);
}

SchemaStep PostgresMigrations::undoing() const {
    const std::string name = "\"" + table_ + "\"";
    // The floor stays, so that fencing tokens grow over this, too.
    return {"drop the table " + table_,
            "INSERT INTO idempotent_meta AS m (name, value) SELECT '" + table_ + "/version_floor', max(version) FROM " +
                name +
                " HAVING count(*) > 0\n    ON CONFLICT (name) DO UPDATE SET value = greatest(m.value, "
                "excluded.value);\nDROP TABLE " +
                name + ";\nDELETE FROM idempotent_meta WHERE name IN ('" + table_ + "/schema', '" + table_ +
                "/schema/1');"};
}

Result<std::vector<SchemaStep>> PostgresMigrations::plan(int target, const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    std::vector<SchemaStep> steps;
    if (target == 0) {
        if (auto may = may_go_down(found->status, table_); !may) return std::move(may).error();
        if (found->status.state != SchemaState::missing) steps.push_back(undoing());
        return steps;
    }
    if (auto may = may_go_up(found->status, table_); !may) return std::move(may).error();
    for (auto& [step, kind] : found->steps) steps.push_back(std::move(step));
    return steps;
}

Result<void> PostgresMigrations::quick(Connection& connection, const std::string& sql, Deadline deadline) {
    for (;;) {
        auto done = connection.query(sql, deadline);
        if (done) return {};
        if (!is_lock_fault(done.error().code()) || steady_clock::now() + step_back >= deadline)
            return std::move(done).error();
        std::this_thread::sleep_for(step_back);
    }
}

Result<void> PostgresMigrations::run(Connection& connection, const PlannedStep& planned, Deadline deadline) const {
    const std::string& sql = planned.step.sql;
    if (planned.kind == Kind::quick) return quick(connection, sql, deadline);
    if (planned.kind == Kind::batches) {
        // Only now, when the trigger fills what comes: rows may have come since the look at the catalogue.
        auto size = connection.query(
            "SELECT pg_relation_size('\"" + table_ + "\"') / current_setting('block_size')::int", deadline);
        if (!size) return surely_not_applied(std::move(size).error());
        const auto pages = number_in(size->bytes(0, 0));
        for (std::int64_t page = 0; page <= pages; page += pages_of_a_batch) {
            std::string batch = sql;
            put_number(batch, "$from", page);
            put_number(batch, "$to", page + pages_of_a_batch);
            if (auto done = quick(connection, batch, deadline); !done) return done;
        }
        return {};
    }
    if (auto set = connection.query(long_waits, deadline); !set) return std::move(set).error();
    if (auto done = connection.query(sql, deadline); !done) return std::move(done).error();
    if (auto set = connection.query(short_waits, deadline); !set) return std::move(set).error();
    return {};
}

Result<std::vector<SchemaStep>> PostgresMigrations::up(const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto lock = SchemaLock::take(**connection, std::min(deadline, steady_clock::now() + options.lock_wait));
    if (!lock) return std::move(lock).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    if (auto may = may_go_up(found->status, table_); !may) return std::move(may).error();
    std::vector<SchemaStep> done;
    for (auto& planned : found->steps) {
        if (auto applied = run(**connection, planned, deadline); !applied) {
            const Error& why = applied.error();
            return without_rights(Error(why.kind(), "step '" + planned.step.about + "': " + why.message(), why.detail(),
                                        why.hint().empty() ? "what is done stays; run up again" : why.hint())
                                      .with_code(why.code()));
        }
        if (options.done) options.done(planned.step);
        done.push_back(std::move(planned.step));
    }
    return done;  // the lock ends with the connection
}

Result<std::int64_t> PostgresMigrations::down(std::int64_t may_lose, const MigrateOptions& options, Deadline deadline) {
    auto connection = connect(options, deadline);
    if (!connection) return std::move(connection).error();
    auto lock = SchemaLock::take(**connection, std::min(deadline, steady_clock::now() + options.lock_wait));
    if (!lock) return std::move(lock).error();
    auto found = look(**connection, options, deadline);
    if (!found) return std::move(found).error();
    if (auto may = may_go_down(found->status, table_); !may) return std::move(may).error();
    if (found->status.state == SchemaState::missing) return std::int64_t{0};
    if (found->status.state == SchemaState::older)
        return Error(ErrorKind::misconfigured, "the table " + table_ + " is not as this release makes it", {},
                     "run `nebis migrate up` first; what isn't whole can't be undone")
            .with_code("schema-incomplete");
    // From here to the end nobody adds a record that wasn't counted.
    const std::string name = "\"" + table_ + "\"";
    for (;;) {
        auto locked = (*connection)->query("BEGIN; LOCK TABLE " + name + " IN ACCESS EXCLUSIVE MODE", deadline);
        if (locked) break;
        const bool again = is_lock_fault(locked.error().code()) && steady_clock::now() + step_back < deadline;
        if (!again) return without_rights(surely_not_applied(std::move(locked).error()));
        if (auto back = (*connection)->query("ROLLBACK", deadline); !back) return std::move(back).error();
        std::this_thread::sleep_for(step_back);
    }
    auto count = (*connection)->query("SELECT count(*), count(*) FILTER (WHERE status = 0) FROM " + name, deadline);
    if (!count) return surely_not_applied(std::move(count).error());
    const auto records = number_in(count->bytes(0, 0));
    if (records > may_lose) return would_lose(table_, records, number_in(count->bytes(0, 1)), may_lose);
    const SchemaStep step = undoing();
    if (auto gone = (*connection)->query(step.sql + " COMMIT", deadline); !gone)
        return without_rights(std::move(gone).error());
    if (options.done) options.done(step);
    return records;
}

}  // namespace

std::shared_ptr<Migrations> migrations(Options options, std::string table) {
    return std::make_shared<PostgresMigrations>(std::move(options), std::move(table));
}

}  // namespace nebis::postgres
