// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "identify/digest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nebis::postgres {
namespace {

/// A SQLSTATE or, with two characters, its class. The first that fits counts.
struct Rule {
    std::string_view state;
    ErrorKind kind;
    const char* word;
    const char* why;
    const char* hint;
};

constexpr const char* schema_hint = "run `nebis migrate up`; `nebis migrate plan` shows what it would do";

constexpr std::array rules{
    Rule{"40P01", ErrorKind::overloaded, "postgres-deadlock", "it deadlocked with another transaction",
         "let other programs lock records in the order of their keys, or not at all"},
    Rule{"40003", ErrorKind::maybe_applied, "postgres-lost", "the server doesn't know whether it happened", ""},
    Rule{"40", ErrorKind::overloaded, "postgres-serialization", "another transaction came first",
         "keep other transactions on the record table short"},
    Rule{"55P03", ErrorKind::overloaded, "postgres-lock-timeout", "another transaction holds the row",
         "keep transactions that touch records short; pg_stat_activity shows who holds it"},
    Rule{"57014", ErrorKind::unavailable, "postgres-statement-timeout", "it took too long",
         "look for a slow disk, bloat or a lock; `statement-timeout-millis` bounds it"},
    Rule{"57P", ErrorKind::unavailable, "postgres-shutdown", "the server is starting, stopping or ended the connection",
         ""},
    Rule{"25006", ErrorKind::misconfigured, "postgres-readonly", "the server is read-only",
         "point `address` at the primary; a standby can't keep records"},
    Rule{"25P03", ErrorKind::unavailable, "postgres-idle", "the server ended an idle transaction", ""},
    Rule{"53100", ErrorKind::unavailable, "postgres-full", "the disk is full", "free space on the server's disk"},
    Rule{"53300", ErrorKind::overloaded, "postgres-connections", "too many connections",
         "raise `max_connections` of the server, or run fewer instances: each opens two"},
    Rule{"53", ErrorKind::overloaded, "postgres-resources", "the server is out of a resource",
         "look at the server's memory and `max_locks_per_transaction`"},
    Rule{"54", ErrorKind::rejected_input, "postgres-toobig", "the row is too large", ""},
    Rule{"22", ErrorKind::rejected_input, "postgres-data", "a value can't be stored",
         "operation and instance must be UTF-8 text without zero bytes"},
    Rule{"23", ErrorKind::misconfigured, "postgres-constraint", "a constraint that is not ours refused the row",
         "compare the table with schema.sql: no further constraint, index or trigger may refuse a record"},
    Rule{"42501", ErrorKind::misconfigured, "postgres-permission", "a right is missing",
         "grant SELECT, INSERT, UPDATE and DELETE on the three tables, or let the same user make them"},
    Rule{"42P01", ErrorKind::misconfigured, "postgres-no-table", "a table is missing", schema_hint},
    Rule{"42703", ErrorKind::misconfigured, "postgres-column", "a column is missing", schema_hint},
    Rule{"42", ErrorKind::misconfigured, "postgres-schema", "the table is not as it must be", schema_hint},
    Rule{"3F", ErrorKind::misconfigured, "postgres-schema", "no schema to look in",
         "set the user's search_path to a schema that exists"},
    Rule{"28", ErrorKind::misconfigured, "postgres-login", "the login was refused",
         "check `username`, `password` or `password-file`, and the server's pg_hba.conf"},
    Rule{"3D", ErrorKind::misconfigured, "postgres-database", "the database doesn't exist", "check `database`"},
    Rule{"08", ErrorKind::unavailable, "postgres-connection", "the connection failed", ""},
    Rule{"58", ErrorKind::unavailable, "postgres-io", "the server's disk failed", "look at the server's log"},
    Rule{"XX001", ErrorKind::corrupt, "postgres-corrupt", "the data is damaged", "stop, keep a copy, restore a backup"},
    Rule{"XX002", ErrorKind::corrupt, "postgres-corrupt", "an index is damaged", "REINDEX the record table"},
};

Error made(const Rule& rule, std::string detail) {
    return Error(rule.kind, "PostgreSQL refused: " + std::string(rule.why), std::move(detail), rule.hint)
        .with_code(rule.word);
}

const Rule& rule_of(std::string_view state) {
    return *std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.state == state; });
}

}  // namespace

Error error_of(std::string_view sqlstate, std::string message) {
    for (const Rule& rule : rules)
        if (sqlstate.starts_with(rule.state)) return made(rule, std::move(message));
    return Error(ErrorKind::internal, "PostgreSQL answered something unexpected", std::move(message))
        .with_code("postgres-" + std::string(sqlstate));
}

Error connect_error(std::string message) {
    while (message.ends_with('\n')) message.pop_back();
    const auto says = [&](std::string_view words) { return message.find(words) != std::string::npos; };
    if (says("too many clients") || says("connection slots") || says("too many connections"))
        return made(rule_of("53300"), std::move(message));
    if (says("authentication") || says("no password") || says("pg_hba.conf") || says("role \""))
        return made(rule_of("28"), std::move(message));
    if (says("database \"") && says("does not exist")) return made(rule_of("3D"), std::move(message));
    if (says("session is read-only") || says("hot standby")) return made(rule_of("25006"), std::move(message));
    if (says("certificate") || says("does not support SSL"))
        return Error(ErrorKind::misconfigured, "TLS with PostgreSQL failed", std::move(message),
                     "check the server's certificate, `tls-ca-file`, `tls-cert-file` and `tls-key-file`")
            .with_code("postgres-tls");
    return Error(ErrorKind::unavailable, "PostgreSQL can't be reached", std::move(message),
                 "check that it runs and that `address` is right")
        .with_code("postgres-connection");
}

Error lost(std::string message) {
    while (message.ends_with('\n')) message.pop_back();
    return Error(ErrorKind::maybe_applied, "the answer of PostgreSQL was lost", std::move(message))
        .with_code("postgres-lost");
}

Error surely_not_applied(Error error) {
    if (error.kind() != ErrorKind::maybe_applied) return error;
    return Error(ErrorKind::unavailable, error.message(), error.detail(), error.hint()).with_code(error.code());
}

bool is_lock_fault(std::string_view code) noexcept {
    return code == "postgres-lock-timeout" || code == "postgres-deadlock" || code == "postgres-serialization";
}

bool perhaps_one_row(std::string_view code) noexcept {
    return is_lock_fault(code) || code == "postgres-constraint" || code == "postgres-data" || code == "postgres-toobig";
}

bool connection_is_spent(std::string_view code) noexcept {
    return code == "postgres-readonly" || code == "postgres-schema" || code == "postgres-no-table" ||
           code == "postgres-column" || code == "postgres-0A000" || code == "postgres-26000";
}

std::string shown(std::string_view trace_id) {
    return "key " + identify::to_hex(identify::sha256(trace_id)).substr(0, 12) + "…";
}

}  // namespace nebis::postgres
