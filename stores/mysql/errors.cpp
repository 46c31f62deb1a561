// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace nebis::mysql {
namespace {

struct Rule {
    std::initializer_list<unsigned> numbers;
    ErrorKind kind;
    const char* word;
    const char* why;
    const char* hint;
    bool says = false;  ///< the server's words name things, never values
};

constexpr const char* schema_hint = "make it with `create-schema: true`; schema.sql shows what must be there";

// Numbers of both servers; those above 3000 are MySQL's, those above 4000 MariaDB's or MySQL's.
const Rule rules[] = {
    {{1205, 3572},
     ErrorKind::overloaded,
     "mysql-lock-timeout",
     "another transaction holds the row",
     "keep transactions that touch records short; information_schema.innodb_trx shows who holds it"},
    {{1213},
     ErrorKind::overloaded,
     "mysql-deadlock",
     "it deadlocked with another transaction, or a cluster's other "
     "node came first",
     "let other programs lock records in the order of their keys, or not at all"},
    {{1020},
     ErrorKind::overloaded,
     "mysql-serialization",
     "another transaction came first",
     "keep other transactions on the record table short"},
    {{1969, 3024},
     ErrorKind::unavailable,
     "mysql-statement-timeout",
     "it took too long",
     "look for a slow disk or a lock; `statement-timeout-millis` bounds it"},
    {{1317}, ErrorKind::unavailable, "mysql-killed", "somebody killed the statement", ""},
    {{1180},
     ErrorKind::maybe_applied,
     "mysql-lost",
     "the commit failed in the middle",
     "look at the server's log",
     true},
    {{1290, 1792, 1836, 3100},
     ErrorKind::misconfigured,
     "mysql-readonly",
     "the server is read-only",
     "point `address` at the primary; a replica can't keep records"},
    {{1047},
     ErrorKind::unavailable,
     "mysql-cluster",
     "this node of the cluster isn't ready",
     "name several nodes in `address`, or wait until it has joined"},
    {{1021, 1114},
     ErrorKind::unavailable,
     "mysql-full",
     "the disk or the tablespace is full",
     "free space on the server's disk"},
    {{3, 5, 28, 1026, 1030},
     ErrorKind::unavailable,
     "mysql-io",
     "the server's disk failed",
     "look at the server's log"},
    {{1040, 1203, 1226},
     ErrorKind::overloaded,
     "mysql-connections",
     "too many connections",
     "raise `max_connections` of the server or of the user, or run fewer instances: each opens two"},
    {{1037, 1038, 1041, 1135, 1206},
     ErrorKind::overloaded,
     "mysql-resources",
     "the server is out of a resource",
     "look at the server's memory"},
    {{1118, 1153},
     ErrorKind::rejected_input,
     "mysql-toobig",
     "the row is too large",
     "raise `max_allowed_packet` of the server, or keep smaller bodies"},
    {{1264, 1292, 1366, 1406, 3988},
     ErrorKind::rejected_input,
     "mysql-data",
     "a value can't be stored",
     "operation and instance must be UTF-8 text of at most 255 characters"},
    {{1062, 1586},
     ErrorKind::misconfigured,
     "mysql-duplicate",
     "a unique index that is not ours refused the row",
     "compare the table with schema.sql: no further unique index may refuse a record"},
    {{1048}, ErrorKind::misconfigured, "mysql-guard", "a column must not be null", "compare the table with schema.sql"},
    {{1216, 1364, 1442, 1452, 1644, 3819, 4025},
     ErrorKind::misconfigured,
     "mysql-constraint",
     "a constraint or a trigger that is not ours refused the row",
     "compare the table with schema.sql: no further constraint or trigger may refuse a record"},
    {{1044, 1142, 1143, 1227, 1370},
     ErrorKind::misconfigured,
     "mysql-permission",
     "a right is missing",
     "grant SELECT, INSERT, UPDATE and DELETE on the three tables, or let the same user make them",
     true},
    {{1146}, ErrorKind::misconfigured, "mysql-no-table", "a table is missing", schema_hint, true},
    {{1054}, ErrorKind::misconfigured, "mysql-column", "a column is missing", schema_hint, true},
    {{1176}, ErrorKind::misconfigured, "mysql-no-key", "an index is missing", schema_hint, true},
    {{1045, 1130, 1698, 1820, 1862, 2059, 2060, 3118, 3159, 4151},
     ErrorKind::misconfigured,
     "mysql-login",
     "the login was refused",
     "check `username`, `password` or `password-file`, `tls`, and the server's users",
     true},
    {{1049, 1046}, ErrorKind::misconfigured, "mysql-database", "the database doesn't exist", "check `database`", true},
    {{1665},
     ErrorKind::misconfigured,
     "mysql-binlog",
     "the server replicates statements",
     "set `binlog_format` of the server to ROW or MIXED"},
    {{126, 127, 144, 145, 1034, 1035, 1194, 1195, 1712},
     ErrorKind::corrupt,
     "mysql-corrupt",
     "the data is damaged",
     "stop, keep a copy, restore a backup"},
    {{1053, 1927, 4031}, ErrorKind::unavailable, "mysql-shutdown", "the server is stopping or ended the session", ""},
};

const Rule* rule_of(unsigned number) {
    const auto* const at = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& rule) {
        return std::find(rule.numbers.begin(), rule.numbers.end(), number) != rule.numbers.end();
    });
    return at == std::end(rules) ? nullptr : at;
}

Error made(const Rule& rule, unsigned number, std::string_view message) {
    return Error(rule.kind, "MySQL refused: " + std::string(rule.why),
                 rule.says ? std::string(message) : "error " + std::to_string(number), rule.hint)
        .with_code(rule.word);
}

bool has_code(const Error& error, std::initializer_list<std::string_view> codes) {
    return std::find(codes.begin(), codes.end(), error.code()) != codes.end();
}

constexpr unsigned tls_failed = 2026;

}  // namespace

Error error_of(unsigned number, std::string_view message) {
    if (const Rule* const rule = rule_of(number)) return made(*rule, number, message);
    return Error(ErrorKind::internal, "MySQL answered something unexpected", "error " + std::to_string(number))
        .with_code("mysql-" + std::to_string(number));
}

Error connect_error(unsigned number, std::string message) {
    if (number == tls_failed)
        return Error(ErrorKind::misconfigured, "TLS with MySQL failed", std::move(message),
                     "check the server's certificate, `tls-ca-file`, `tls-cert-file` and `tls-key-file`")
            .with_code("mysql-tls");
    if (const Rule* const rule = rule_of(number)) return made(*rule, number, message);
    return Error(ErrorKind::unavailable, "MySQL can't be reached", std::move(message),
                 "check that it runs and that `address` is right")
        .with_code("mysql-connection");
}

Error lost(std::string message) {
    return Error(ErrorKind::maybe_applied, "the answer of MySQL was lost", std::move(message)).with_code("mysql-lost");
}

Error surely_not_applied(Error error) {
    if (error.kind() != ErrorKind::maybe_applied) return error;
    return Error(ErrorKind::unavailable, error.message(), error.detail(), error.hint()).with_code(error.code());
}

Error too_late() {
    return Error(ErrorKind::unavailable, "MySQL was too slow for the caller's deadline").with_code("mysql-slow");
}

Error too_big() { return made(*rule_of(1153), 1153, {}); }

bool is_farewell(unsigned number) noexcept { return number == 1053 || number == 1927 || number == 4031; }

bool is_guard(const Error& error) noexcept { return has_code(error, {"mysql-guard"}); }

bool is_lock_fault(const Error& error) noexcept {
    return has_code(error, {"mysql-lock-timeout", "mysql-deadlock", "mysql-serialization"});
}

bool is_duplicate(const Error& error) noexcept { return has_code(error, {"mysql-duplicate"}); }

bool perhaps_one_row(const Error& error) noexcept {
    return is_lock_fault(error) || is_duplicate(error) || is_guard(error) ||
           has_code(error, {"mysql-constraint", "mysql-data", "mysql-toobig"});
}

bool connection_is_spent(const Error& error) noexcept { return has_code(error, {"mysql-readonly", "mysql-cluster"}); }

}  // namespace nebis::mysql
