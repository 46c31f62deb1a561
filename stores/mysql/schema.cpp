// SPDX-License-Identifier: Apache-2.0
#include "schema.hpp"

#include "errors.hpp"

#include <algorithm>
#include <array>

namespace nebis::mysql {

extern const char* const schema_text;  // schema.sql, put in by CMake

namespace {

constexpr std::string_view default_table = "idempotent_record";
constexpr std::size_t longest_name = 55;
constexpr std::string_view schema_version = "1";

struct ColumnRule {
    std::string_view name, type;  ///< the type, or what it starts with
    bool required;
};
constexpr std::array columns{
    ColumnRule{"id", "bigint", true},
    ColumnRule{"trace_id", "varbinary(255)", true},
    ColumnRule{"biz_type", "varchar(255)", true},
    ColumnRule{"status", "tinyint", true},
    ColumnRule{"version", "bigint", true},
    ColumnRule{"owner", "binary(16)", true},
    ColumnRule{"attempts", "bigint", true},
    ColumnRule{"request_hash", "varbinary(33)", true},
    ColumnRule{"lease_expire_time", "bigint", true},
    ColumnRule{"expire_time", "bigint", true},
    ColumnRule{"create_time", "bigint", true},
    ColumnRule{"update_time", "bigint", true},
    ColumnRule{"instance", "varchar(255)", true},
    ColumnRule{"outcome_ref", "varchar(512)", true},
    ColumnRule{"request_body", "longblob", false},
    ColumnRule{"response_body", "longblob", false},
};

Error wrong(std::string message, std::string detail, const char* word) {
    return Error(ErrorKind::misconfigured, std::move(message), std::move(detail),
                 "make it with `create-schema: true`; schema.sql shows what must be there")
        .with_code(word);
}

Result<Answer> ask(Connection& connection, const std::string& sql, Deadline deadline) {
    Script script;
    script.statement(sql);
    auto answers = connection.run(script, deadline);
    if (!answers) return std::move(answers).error();
    return std::move(answers->front());
}

Result<void> verify_server(Connection& connection, const Options& options, Deadline deadline) {
    auto state = ask(connection,
                     "SELECT @@global.read_only,@@innodb_flush_log_at_trx_commit,@@log_bin AND "
                     "@@binlog_format='STATEMENT'",
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
    return {};
}

Result<void> verify_version(Connection& connection, Deadline deadline) {
    auto version = ask(connection, "SELECT value FROM idempotent_meta WHERE name='schema'", deadline);
    if (!version) return std::move(version).error();
    if (version->size() != 1) return wrong("the schema has no version", {}, "mysql-schema-version");
    const std::string text(version->bytes(0, 0));
    if (text == schema_version) return {};
    return Error(ErrorKind::misconfigured,
                 "the schema is of version " + text + ", this program knows version " + std::string(schema_version), {},
                 "run the version of the program that made it")
        .with_code("mysql-schema-version");
}

Result<void> verify_columns(Connection& connection, const std::string& table, Deadline deadline) {
    auto engine =
        ask(connection,
            "SELECT engine FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name='" + table + "'",
            deadline);
    if (!engine) return std::move(engine).error();
    if (engine->size() == 0) return wrong("the table " + table + " is missing", {}, "mysql-no-table");
    if (engine->bytes(0, 0) != "InnoDB")
        return wrong("the table " + table + " must be of InnoDB", "it is '" + std::string(engine->bytes(0, 0)) + "'",
                     "mysql-engine");
    auto found =
        ask(connection,
            "SELECT column_name,column_type,is_nullable='NO',extra LIKE '%auto_increment%',collation_name FROM "
            "information_schema.columns WHERE table_schema=DATABASE() AND table_name='" +
                table + "'",
            deadline);
    if (!found) return std::move(found).error();
    for (const ColumnRule& rule : columns) {
        const std::string name = table + "." + std::string(rule.name);
        std::size_t at = 0;
        while (at < found->size() && found->bytes(at, 0) != rule.name) ++at;
        if (at == found->size()) return wrong("the column " + name + " is missing", {}, "mysql-column");
        const auto type = found->bytes(at, 1);
        if (!type.starts_with(rule.type))
            return wrong("the column " + name + " must be " + std::string(rule.type),
                         "it is '" + std::string(type) + "'", "mysql-column");
        if (rule.required && found->number(at, 2) != 1)
            return wrong("the column " + name + " must be NOT NULL", {}, "mysql-column");
        if (rule.name == "id" && found->number(at, 3) != 1)
            return wrong("the column " + name + " must be AUTO_INCREMENT", {}, "mysql-column");
        if (rule.type.starts_with("varchar") && found->bytes(at, 4) != "utf8mb4_bin")
            return wrong("the column " + name + " must have the collation utf8mb4_bin",
                         "it has '" + std::string(found->bytes(at, 4)) + "'", "mysql-collation");
    }
    return {};
}

/// An index on just these columns; of the table's key nothing but its whole length counts.
Result<void> verify_index(Connection& connection, const std::string& table, const std::string& index,
                          const std::string& on, bool unique, const char* word, Deadline deadline) {
    auto found = ask(connection,
                     "SELECT 1 FROM information_schema.statistics WHERE table_schema=DATABASE() AND table_name='" +
                         table + "'" + (index.empty() ? "" : " AND index_name='" + index + "'") +
                         " GROUP BY index_name HAVING GROUP_CONCAT(column_name ORDER BY seq_in_index)='" + on +
                         "' AND MAX(non_unique)" + (unique ? "=0" : ">=0") + " AND MAX(sub_part) IS NULL",
                     deadline);
    if (!found) return std::move(found).error();
    if (found->size() == 0)
        return wrong("the table " + table + " has no " + (unique ? "unique key" : "index " + index) + " on " + on, {},
                     word);
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

Result<void> create_schema(Connection& connection, const std::string& table, Deadline deadline) {
    std::string sql = schema_text;
    for (std::size_t at = 0; (at = sql.find(default_table, at)) != std::string::npos; at += table.size())
        sql.replace(at, default_table.size(), table);
    while (!sql.empty() && (sql.back() == '\n' || sql.back() == ';')) sql.pop_back();
    Script script;
    script.statement(sql);
    auto made = connection.run(script, deadline);
    if (!made) return surely_not_applied(std::move(made).error());
    return {};
}

Result<void> verify_schema(Connection& connection, const Options& options, const std::string& table,
                           Deadline deadline) {
    if (auto server = verify_server(connection, options, deadline); !server) return server;
    if (auto version = verify_version(connection, deadline); !version) return version;
    if (auto found = verify_columns(connection, table, deadline); !found) return found;
    // The protocol's one arbiter: unique, whole, on trace_id alone.
    if (auto key = verify_index(connection, table, {}, "trace_id", true, "mysql-no-key", deadline); !key) return key;
    if (auto lease =
            verify_index(connection, table, "idx_lease", "status,lease_expire_time", false, "mysql-no-index", deadline);
        !lease)
        return lease;
    if (auto expire =
            verify_index(connection, table, "idx_expire", "status,expire_time", false, "mysql-no-index", deadline);
        !expire)
        return expire;
    auto rule = ask(connection, "SELECT operation,digest,update_time FROM idempotent_key_rule LIMIT 0", deadline);
    if (!rule) return std::move(rule).error();
    return {};
}

}  // namespace nebis::mysql
