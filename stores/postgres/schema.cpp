// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include "errors.hpp"
#include "nebis/migrate.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace nebis::postgres {

extern const char* const schema_text;  // schema.sql, put in by CMake

namespace {

constexpr std::string_view default_table = "idempotent_record";
constexpr std::size_t longest_name = 55;

constexpr std::array columns{
    ColumnRule{"trace_id", "bytea", true},
    ColumnRule{"biz_type", "text", true},
    ColumnRule{"status", "smallint", true},
    ColumnRule{"version", "bigint", true},
    ColumnRule{"owner", "bytea", true},
    ColumnRule{"attempts", "bigint", true},
    ColumnRule{"request_hash", "bytea", true},
    ColumnRule{"lease_expire_time", "bigint", true},
    ColumnRule{"expire_time", "bigint", true},
    ColumnRule{"create_time", "bigint", true},
    ColumnRule{"update_time", "bigint", true},
    ColumnRule{"instance", "text", true, "''"},
    ColumnRule{"outcome_ref", "text", true, "''"},
    ColumnRule{"request_body", "bytea", false},
    ColumnRule{"response_body", "bytea", false},
};

Error wrong(std::string message, std::string detail, const char* word) {
    return Error(ErrorKind::misconfigured, std::move(message), std::move(detail),
                 "run `nebis migrate up`; `nebis migrate plan` shows what it would do")
        .with_code(word);
}

Result<void> verify_server(Connection& connection, Deadline deadline) {
    auto state = connection.query("SELECT current_setting('transaction_read_only')", deadline);
    if (!state) return std::move(state).error();
    if (state->bytes(0, 0) != "off") return error_of("25006", "transaction_read_only is on");
    // Leases and retentions are told by it.
    auto clock = connection.query("SELECT (clock_timestamp() < '2020-01-01Z')::int", deadline);
    if (!clock) return std::move(clock).error();
    if (clock->bytes(0, 0) != "0")
        return Error(ErrorKind::misconfigured, "the clock of the PostgreSQL server stands before 2020", {},
                     "set it; let NTP keep it")
            .with_code("postgres-clock");
    return {};
}

Result<void> verify_version(Connection& connection, const std::string& table, Deadline deadline) {
    // Of the shared tables, and of this one.
    auto versions = connection.query("SELECT value, (value < " + std::to_string(newest_schema) +
                                         ")::int FROM idempotent_meta WHERE name IN ('schema', '" + table + "/schema')",
                                     deadline);
    if (!versions) return std::move(versions).error();
    if (versions->size() == 0) return wrong("the schema has no version", {}, "postgres-schema-version");
    for (int at = 0; at < versions->size(); ++at) {
        const std::string text(versions->bytes(at, 0));
        if (text == std::to_string(newest_schema)) continue;
        Error other =
            wrong("the schema is of version " + text + ", this program knows version " + std::to_string(newest_schema),
                  {}, "postgres-schema-version");
        if (versions->bytes(at, 1) == "1") return other;
        return std::move(other).with_hint("run the version of the program that made it");
    }
    return {};
}

Result<void> verify_columns(Connection& connection, const std::string& table, Deadline deadline) {
    auto found = connection.query(
        "SELECT attname, format_type(atttypid, NULL), attnotnull::int, (atthasdef OR attidentity <> '' OR attgenerated "
        "<> '')::int FROM pg_attribute WHERE attrelid = "
        "to_regclass('\"" +
            table + "\"') AND attnum > 0 AND NOT attisdropped",
        deadline);
    if (!found) return std::move(found).error();
    if (found->size() == 0) return wrong("the table " + table + " is missing", {}, "postgres-no-table");
    for (const ColumnRule& rule : columns) {
        const std::string name = table + "." + std::string(rule.name);
        int at = 0;
        while (at < found->size() && found->bytes(at, 0) != rule.name) ++at;
        if (at == found->size()) return wrong("the column " + name + " is missing", {}, "postgres-column");
        if (found->bytes(at, 1) != rule.type)
            return wrong("the column " + name + " must be " + std::string(rule.type),
                         "it is '" + std::string(found->bytes(at, 1)) + "'", "postgres-column");
        if (rule.required && found->bytes(at, 2) != "1")
            return wrong("the column " + name + " must be NOT NULL", {}, "postgres-column");
    }
    // A column of somebody else's that must have a value would refuse every record.
    for (int at = 0; at < found->size(); ++at)
        if (found->bytes(at, 2) == "1" && found->bytes(at, 3) != "1" &&
            std::ranges::find(columns, found->bytes(at, 0), &ColumnRule::name) == columns.end())
            return Error(ErrorKind::misconfigured,
                         "the column " + table + "." + std::string(found->bytes(at, 0)) +
                             " must have a value, and Nebis has none for it",
                         {}, "give it a default, or drop it")
                .with_code("postgres-column");
    return {};
}

Result<void> verify_index(Connection& connection, const std::string& table, std::string_view column,
                          std::string_view more, const char* word, std::string_view what, Deadline deadline) {
    auto found = connection.query(
        "SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = "
        "i.indkey[0] WHERE i.indrelid = to_regclass('\"" +
            table + "\"') AND a.attname = '" + std::string(column) + "' AND i.indisvalid AND i.indisready" +
            std::string(more),
        deadline);
    if (!found) return std::move(found).error();
    if (found->size() == 0) return wrong("the table " + table + " has no " + std::string(what), {}, word);
    return {};
}

}  // namespace

bool good_table_name(std::string_view table) noexcept {
    return !table.empty() && table.size() <= longest_name &&
           std::all_of(table.begin(), table.end(),
                       [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }) &&
           !(table.front() >= '0' && table.front() <= '9') && !table.starts_with("pg_");
}

Error bad_table_name() {
    return Error(ErrorKind::misconfigured, "not a table name", {},
                 "use [a-z0-9_], at most 55 characters, not starting with a digit or pg_")
        .with_code("table-name");
}

std::string schema_sql(std::string_view table) {
    std::string sql = schema_text;
    for (std::size_t at = 0; (at = sql.find(default_table, at)) != std::string::npos; at += table.size())
        sql.replace(at, default_table.size(), table);
    return sql;
}

std::span<const ColumnRule> column_rules() noexcept { return columns; }

Result<SchemaLock> SchemaLock::take(Connection& connection, Deadline until) {
    constexpr auto step = std::chrono::milliseconds(20);
    for (;;) {
        auto mine = connection.query("SELECT pg_try_advisory_lock(hashtextextended('nebis schema', 0))::int", until);
        if (!mine) return surely_not_applied(std::move(mine).error());
        if (mine->bytes(0, 0) == "1") return SchemaLock(connection);
        if (std::chrono::steady_clock::now() + step >= until)
            return Error(ErrorKind::overloaded, "another program is changing the schema of this database", {},
                         "wait until it has ended; pg_locks shows it as an advisory lock")
                .with_code("schema-lock");
        std::this_thread::sleep_for(step);
    }
}

Result<void> SchemaLock::give_back(Deadline deadline) {
    auto gone = connection_->query("SELECT pg_advisory_unlock(hashtextextended('nebis schema', 0))", deadline);
    if (gone) return {};
    connection_->spend();
    return surely_not_applied(std::move(gone).error());
}

Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline) {
    // Two CREATE … IF NOT EXISTS at a time may fail on each other.
    auto lock = SchemaLock::take(connection, deadline);
    if (!lock) return std::move(lock).error();
    auto made = connection.query("BEGIN; " + schema_sql(table) + "; COMMIT", deadline);
    if (made) return lock->give_back(deadline);
    connection.spend();  // it may be inside the failed transaction
    return surely_not_applied(std::move(made).error());
}

Result<void> verify_schema(Connection& connection, const std::string& table, Deadline deadline) {
    if (auto server = verify_server(connection, deadline); !server) return server;
    if (auto version = verify_version(connection, table, deadline); !version) return version;
    if (auto found = verify_columns(connection, table, deadline); !found) return found;
    // The protocol's one arbiter: unique, whole, at once, on trace_id alone.
    if (auto key = verify_index(connection, table, "trace_id",
                                " AND i.indisunique AND i.indimmediate AND i.indnkeyatts = 1 AND i.indpred IS NULL",
                                "postgres-no-key", "unique key on trace_id", deadline);
        !key)
        return key;
    for (const std::string_view column : {"lease_expire_time", "expire_time"})
        if (auto index = verify_index(connection, table, column, "", "postgres-no-index",
                                      "index on " + std::string(column), deadline);
            !index)
            return index;
    auto rule = connection.query("SELECT operation, digest, update_time FROM idempotent_key_rule LIMIT 0", deadline);
    if (!rule) return std::move(rule).error();
    return {};
}

}  // namespace nebis::postgres
