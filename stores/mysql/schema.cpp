// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include "catalogue.hpp"
#include "errors.hpp"
#include "nebis/migrate.hpp"
#include "runtime/schema_text.hpp"

#include <algorithm>

namespace nebis::mysql {

extern const char* const schema_text;  // schema.sql, put in by CMake

namespace {

constexpr std::string_view default_table = "idempotent_record";
constexpr std::size_t longest_name = 55;
constexpr std::int64_t year_2020 = 1577836800;

Error wrong(std::string message, std::string detail, const char* word) {
    return Error(ErrorKind::misconfigured, std::move(message), std::move(detail),
                 "run `nebis migrate up`; `nebis migrate plan` shows what it would do")
        .with_code(word);
}

Result<void> verify_server(Connection& connection, const Options& options, Deadline deadline) {
    auto state = connection.query(
        "SELECT @@global.read_only,@@innodb_flush_log_at_trx_commit,@@log_bin AND "
        "@@binlog_format='STATEMENT',UNIX_TIMESTAMP()",
        deadline);
    if (!state) return std::move(state).error();
    if (state->number(0, 0) != 0) return error_of(1290, {});
    if (options.require_durable_commits && state->number(0, 1) != 1)
        return Error(ErrorKind::misconfigured, "the server forgets commits when it dies",
                     "innodb_flush_log_at_trx_commit is " + std::string(state->bytes(0, 1)),
                     "set it to 1, or `require-durable-commits: false` if effects that happen twice after a crash are "
                     "acceptable")
            .with_code("mysql-not-durable");
    if (state->number(0, 2) != 0) return error_of(1665, {});
    // Leases and retentions are told by it.
    if (state->number(0, 3) < year_2020)
        return Error(ErrorKind::misconfigured, "the clock of the MySQL server stands before 2020", {},
                     "set it; let NTP keep it")
            .with_code("mysql-clock");
    return {};
}

Result<void> verify_version(Connection& connection, const std::string& table, Deadline deadline) {
    // Of the shared tables, and of this one.
    auto versions =
        connection.query("SELECT value FROM idempotent_meta WHERE name IN ('schema','" + table + "/schema')", deadline);
    if (!versions) return std::move(versions).error();
    if (versions->size() == 0) return wrong("the schema has no version", {}, "mysql-schema-version");
    for (std::size_t at = 0; at < versions->size(); ++at) {
        const auto version = versions->number(at, 0);
        if (version == newest_schema) continue;
        Error other = wrong("the schema is of version " + std::to_string(version) + ", this program knows version " +
                                std::to_string(newest_schema),
                            {}, "mysql-schema-version");
        if (version < newest_schema) return other;
        return std::move(other).with_hint("run the version of the program that made it");
    }
    return {};
}

}  // namespace

bool good_table_name(std::string_view table) noexcept {
    return !table.empty() && table.size() <= longest_name && std::all_of(table.begin(), table.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    }) && !(table.front() >= '0' && table.front() <= '9');
}

Error bad_table_name() {
    return Error(ErrorKind::misconfigured, "not a table name", {},
                 "use [a-z0-9_], at most 55 characters, not starting with a digit")
        .with_code("table-name");
}

std::vector<std::string> schema_statements(std::string_view table) {
    auto statements = runtime::statements_in(schema_text);
    for (auto& sql : statements)
        for (std::size_t at = 0; (at = sql.find(default_table, at)) != std::string::npos; at += table.size())
            sql.replace(at, default_table.size(), table);
    return statements;
}

Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline) {
    Script script;
    for (const auto& statement : schema_statements(table)) script.statement(statement);
    auto made = connection.run(script, deadline);
    if (!made) return surely_not_applied(std::move(made).error());
    return {};
}

Result<void> verify_schema(Connection& connection, const Options& options, const std::string& table,
                           Deadline deadline) {
    if (auto server = verify_server(connection, options, deadline); !server) return server;
    if (auto version = verify_version(connection, table, deadline); !version) return version;
    auto catalogue = Catalogue::read(connection, table, deadline);
    if (!catalogue) return std::move(catalogue).error();
    for (auto& fault : faults_of(*catalogue, table))
        return wrong(std::move(fault.message), std::move(fault.detail), fault.word);
    if (const auto* const foreign = catalogue->needs_a_value())
        return Error(ErrorKind::misconfigured,
                     "the column " + table + "." + foreign->name + " must have a value, and Nebis has none for it", {},
                     "give it a default, or drop it")
            .with_code("mysql-column");
    auto rule = connection.query("SELECT operation,digest,update_time FROM idempotent_key_rule LIMIT 0", deadline);
    if (!rule) return std::move(rule).error();
    return {};
}

}  // namespace nebis::mysql
