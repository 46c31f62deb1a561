// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include "errors.hpp"
#include "nebis/migrate.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace nebis::sqlite {

extern const char* const schema_text;  // schema.sql, put in by CMake

namespace {

constexpr std::string_view default_table = "idempotent_record";

constexpr std::array columns{
    ColumnRule{"trace_id", "BLOB", true},       ColumnRule{"biz_type", "TEXT", true},
    ColumnRule{"status", "INTEGER", true},      ColumnRule{"version", "INTEGER", true},
    ColumnRule{"owner", "BLOB", true},          ColumnRule{"attempts", "INTEGER", true},
    ColumnRule{"request_hash", "BLOB", true},   ColumnRule{"lease_expire_time", "INTEGER", true},
    ColumnRule{"expire_time", "INTEGER", true}, ColumnRule{"create_time", "INTEGER", true},
    ColumnRule{"update_time", "INTEGER", true}, ColumnRule{"instance", "TEXT", true},
    ColumnRule{"outcome_ref", "TEXT", true},    ColumnRule{"request_body", "BLOB", false},
    ColumnRule{"response_body", "BLOB", false},
};

constexpr const char* how_to_mend = "run `nebis migrate up`; `nebis migrate plan` shows what it would do";

Error wrong(std::string message, std::string detail, const char* word, const char* hint = how_to_mend) {
    return Error(ErrorKind::misconfigured, std::move(message), std::move(detail), hint).with_code(word);
}

Result<void> verify_file(Connection& connection) {
    auto mode = query(connection, "PRAGMA journal_mode");
    if (!mode) return std::move(mode).error();
    if (mode->empty() || mode->front().front() != "wal")
        return wrong("the SQLite file is not in write-ahead logging", mode->empty() ? "" : mode->front().front(),
                     "sqlite-not-wal", "run `nebis migrate up`, or `PRAGMA journal_mode = WAL` on the file once");
    // The only honest way to ask whether the file can be written. Nothing is.
    if (connection.begin_immediate() != SQLITE_OK) return error_of(connection.get(), "write to the database file");
    if (sqlite3_db_readonly(connection.get(), "main") == 1) {
        connection.rollback();
        return error_of(SQLITE_READONLY, "write to the database file", "opened read-only");
    }
    connection.rollback();
    return {};
}

Result<void> verify_version(Connection& connection, const std::string& table) {
    auto meta = query(connection, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'idempotent_meta'");
    if (!meta) return std::move(meta).error();
    if (meta->empty()) return wrong("the table idempotent_meta is missing", {}, "sqlite-no-table");
    // Of the shared tables, and of this one.
    auto versions =
        query(connection, "SELECT value FROM idempotent_meta WHERE name IN ('schema', '" + table + "/schema')");
    if (!versions) return std::move(versions).error();
    if (versions->empty()) return wrong("the schema has no version", {}, "sqlite-schema-version");
    for (const auto& row : *versions) {
        const std::string& text = row.front();
        if (text == std::to_string(newest_schema)) continue;
        const bool older = text == "0" || text.starts_with('-');
        return wrong(
            "the schema is of version " + text + ", this program knows version " + std::to_string(newest_schema), {},
            "sqlite-schema-version", older ? how_to_mend : "run the version of the program that made it");
    }
    return {};
}

/// A column of somebody else's that must have a value would refuse every record.
Result<void> verify_others(Connection& connection, const std::string& table) {
    auto found =
        query(connection,
              "SELECT name FROM pragma_table_info(?1) WHERE \"notnull\" = 1 AND dflt_value IS NULL AND pk = 0", table);
    if (!found) return std::move(found).error();
    for (const auto& row : *found)
        if (std::ranges::find(columns, row[0], &ColumnRule::name) == columns.end())
            return wrong("the column " + table + "." + row[0] + " must have a value, and Nebis has none for it", {},
                         "sqlite-column", "give it a default, or drop it");
    return {};
}

/// Leases and retentions are told by this machine's clock.
Result<void> verify_clock(StoreMillis now) {
    constexpr StoreMillis year_2020 = 1'577'836'800'000;
    if (now >= year_2020) return {};
    return wrong("the clock of this machine stands before 2020", {}, "sqlite-clock", "set it; let NTP keep it");
}

Result<void> verify_columns(Connection& connection, const std::string& table) {
    auto found = query(connection, "SELECT name, type, \"notnull\" FROM pragma_table_info(?1)", table);
    if (!found) return std::move(found).error();
    if (found->empty()) return wrong("the table " + table + " is missing", {}, "sqlite-no-table");
    for (const ColumnRule& rule : columns) {
        const auto at =
            std::find_if(found->begin(), found->end(), [&](const auto& row) { return row[0] == rule.name; });
        const std::string name = table + "." + std::string(rule.name);
        if (at == found->end()) return wrong("the column " + name + " is missing", {}, "sqlite-column");
        if ((*at)[1] != rule.type)
            return wrong("the column " + name + " must be " + std::string(rule.type), "it is '" + (*at)[1] + "'",
                         "sqlite-column");
        if (rule.required && (*at)[2] != "1")
            return wrong("the column " + name + " must be NOT NULL", {}, "sqlite-column");
    }
    return {};
}

Result<void> verify_upkeep_index(Connection& connection, const std::string& table, std::string_view column) {
    auto found = query(connection,
                       "SELECT 1 FROM pragma_index_list(?1) AS list, pragma_index_info(list.name) AS part WHERE "
                       "part.seqno = 0 AND part.name = '" +
                           std::string(column) + "'",
                       table);
    if (!found) return std::move(found).error();
    if (found->empty())
        return wrong("the index of " + table + " on " + std::string(column) + " is missing", {}, "sqlite-no-index");
    return {};
}

}  // namespace

std::span<const ColumnRule> column_rules() noexcept { return columns; }

Result<std::vector<std::vector<std::string>>> query(Connection& connection, const std::string& sql,
                                                    std::string_view bound) {
    Statement statement;
    if (statement.prepare(connection.get(), sql) != SQLITE_OK) return error_of(connection.get(), "read the schema");
    if (!bound.empty()) statement.bind_text(1, bound);
    std::vector<std::vector<std::string>> rows;
    int code = SQLITE_OK;
    while ((code = statement.step()) == SQLITE_ROW) {
        const int width = statement.width();
        auto& row = rows.emplace_back();
        for (int column = 0; column < width; ++column) row.emplace_back(statement.bytes(column));
    }
    if (code != SQLITE_DONE) return error_of(connection.get(), "read the schema");
    return rows;
}

// Uniqueness is the protocol's one arbiter, so its damage is looked for, too.
Result<void> verify_key(Connection& connection, const std::string& table) {
    auto indexes =
        query(connection, "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND partial = 0", table);
    if (!indexes) return std::move(indexes).error();
    std::optional<std::string> collation;
    for (const auto& index : *indexes) {
        auto parts = query(connection, "SELECT name, coll FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno",
                           index.front());
        if (!parts) return std::move(parts).error();
        if (parts->size() != 1 || parts->front()[0] != "trace_id") continue;
        if (parts->front()[1] == "BINARY") return {};
        collation = parts->front()[1];
    }
    if (collation)
        return wrong("the key of " + table + " must compare bytes", "its collation is " + *collation,
                     "sqlite-key-collation");
    return wrong("the table " + table + " has no unique key on trace_id", {}, "sqlite-no-key");
}

bool good_table_name(std::string_view table) noexcept {
    return !table.empty() && table.size() <= 63 &&
           std::all_of(table.begin(), table.end(),
                       [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }) &&
           !(table.front() >= '0' && table.front() <= '9') && !table.starts_with("sqlite_");
}

Error bad_table_name() {
    return Error(ErrorKind::misconfigured, "not a table name", {},
                 "use [a-z0-9_], at most 63 characters, not starting with a digit or sqlite_")
        .with_code("table-name");
}

std::string schema_sql(std::string_view table) {
    std::string sql = schema_text;
    for (std::size_t at = 0; (at = sql.find(default_table, at)) != std::string::npos; at += table.size())
        sql.replace(at, default_table.size(), table);
    return sql;
}

Result<void> create_schema(Connection& connection, const std::string& table) {
    // Journal mode can't change inside a transaction; the tables come all or none.
    if (connection.switch_to_write_ahead_log() != SQLITE_OK)
        return error_of(connection.get(), "switch the file to write-ahead logging");
    if (connection.begin_immediate() != SQLITE_OK) return error_of(connection.get(), "make the tables");
    if (connection.run(schema_sql(table).c_str()) != SQLITE_OK || connection.commit() != SQLITE_OK) {
        Error error = error_of(connection.get(), "make the tables");
        connection.rollback();
        return error;
    }
    return {};
}

Result<void> verify_schema(Connection& connection, const std::string& table, StoreMillis now) {
    if (auto clock = verify_clock(now); !clock) return clock;
    if (auto file = verify_file(connection); !file) return file;
    if (auto version = verify_version(connection, table); !version) return version;
    if (auto found = verify_columns(connection, table); !found) return found;
    if (auto key = verify_key(connection, table); !key) return key;
    if (auto others = verify_others(connection, table); !others) return others;
    if (auto lease = verify_upkeep_index(connection, table, "lease_expire_time"); !lease) return lease;
    if (auto expire = verify_upkeep_index(connection, table, "expire_time"); !expire) return expire;
    if (auto rule = query(connection, "SELECT operation, digest, update_time FROM idempotent_key_rule LIMIT 0"); !rule)
        return wrong("the table idempotent_key_rule is missing or not as it must be", rule.error().detail(),
                     "sqlite-no-table");
    return {};
}

}  // namespace nebis::sqlite
