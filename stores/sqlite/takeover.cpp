// SPDX-License-Identifier: Apache-2.0
#include "takeover.hpp"

#include "errors.hpp"
#include "identify/limits.hpp"
#include "identify/trace_id.hpp"
#include "runtime/schema_text.hpp"
#include "runtime/snapshot.hpp"
#include "schema.hpp"

#include <algorithm>

namespace nebis::sqlite {
namespace {

constexpr const char* now_millis = "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)";

std::string_view text_of(sqlite3_value* value) {
    const void* const bytes = sqlite3_value_blob(value);
    return {static_cast<const char*>(bytes), bytes ? static_cast<std::size_t>(sqlite3_value_bytes(value)) : 0};
}

void give(sqlite3_context* context, const std::string& bytes) {
    sqlite3_result_blob64(context, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

/// nebis_trace_id(biz_type, key): where an engine whose operation has that name, and whose scope is nobody's, looks for
/// that key.
void trace_id(sqlite3_context* context, int, sqlite3_value** values) {
    give(context, identify::make_trace_id({}, {}, text_of(values[0]), text_of(values[1])));
}

/// nebis_snapshot(status, body): what a duplicate will be answered with.
void snapshot(sqlite3_context* context, int, sqlite3_value** values) {
    if (sqlite3_value_int(values[0]) != static_cast<int>(RecordStatus::success)) return sqlite3_result_null(context);
    const bool kept = sqlite3_value_type(values[1]) != SQLITE_NULL;
    give(context, kept ? runtime::bare_response(text_of(values[1])) : runtime::encode_response({200, {}, {}, true}));
}

}  // namespace

int Takeover::add_functions(Connection& connection) {
    constexpr int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    const int made = sqlite3_create_function_v2(connection.get(), "nebis_trace_id", 2, flags, nullptr, trace_id,
                                                nullptr, nullptr, nullptr);
    if (made != SQLITE_OK) return made;
    return sqlite3_create_function_v2(connection.get(), "nebis_snapshot", 2, flags, nullptr, snapshot, nullptr, nullptr,
                                      nullptr);
}

Result<Takeover> Takeover::look(Connection& connection, const std::string& table) {
    Takeover found;
    found.table_ = table;
    auto columns = query(connection,
                         "SELECT name, type, \"notnull\" OR pk > 0, dflt_value IS NULL AND \"notnull\" = 1 AND pk = 0 "
                         "FROM pragma_table_info(?1)",
                         table);
    if (!columns) return std::move(columns).error();
    for (const auto& row : *columns) found.columns_.push_back({row[0], row[1], row[2] == "1"});
    if (!found.there()) return found;
    const Column* const key = found.column("trace_id");
    found.ours_ = key && key->type == "BLOB";
    for (const ColumnRule& rule : column_rules()) {
        const std::string name = table + "." + std::string(rule.name);
        const Column* const column = found.column(rule.name);
        if (!column)
            found.wrong_.push_back("the column " + name + " is missing");
        else if (column->type != rule.type)
            found.wrong_.push_back("the column " + name + " must be " + std::string(rule.type) + ", it is '" +
                                   column->type + "'");
        else if (rule.required && !column->required)
            found.wrong_.push_back("the column " + name + " must be NOT NULL");
    }
    for (const auto& row : *columns)
        if (row[3] == "1" && std::ranges::find(column_rules(), row[0], &ColumnRule::name) == column_rules().end())
            found.wrong_.push_back("the column " + table + "." + row[0] + " must have a value and has no default");
    if (auto unique = verify_key(connection, table); !unique) {
        if (unique.error().kind() != ErrorKind::misconfigured) return std::move(unique).error();
        found.wrong_.push_back(unique.error().message());
    }
    return found;
}

const Takeover::Column* Takeover::column(std::string_view name) const {
    const auto at = std::ranges::find(columns_, name, &Column::name);
    return at == columns_.end() ? nullptr : &*at;
}

std::string Takeover::key() const { return ours_ ? "CAST(trace_id AS BLOB)" : "nebis_trace_id(biz_type, trace_id)"; }

/// Whole numbers are milliseconds already (what some drivers write for DATETIME); texts are UTC, as CURRENT_TIMESTAMP
/// is.
std::string Takeover::millis_of(std::string_view name) const {
    if (!column(name)) return now_millis;
    const std::string n(name);
    return "CASE typeof(" + n + ") WHEN 'integer' THEN " + n + " WHEN 'text' THEN CAST(round((julianday(" + n +
           ") - 2440587.5) * 86400000.0) AS INTEGER) END";
}

std::string Takeover::value_of(std::string_view name) const {
    std::string n(name);
    if (name == "trace_id") return key();
    if (name == "biz_type") return "CAST(biz_type AS TEXT)";
    if (name == "create_time" || name == "update_time") return millis_of(name);
    const std::string updated = millis_of("update_time");
    std::string lease_end = updated + " + " + std::to_string(runtime::adopted_lease);
    if (name == "expire_time")
        return ours_ ? millis_of(name)
                     : "CASE WHEN status = 0 THEN max(" + millis_of(name) + ", " + lease_end + ") ELSE " +
                           millis_of(name) + " END";
    if (name == "response_body" && !ours_)
        return column(name) ? "nebis_snapshot(status, response_body)" : "nebis_snapshot(status, NULL)";
    if (column(name)) {
        if (name == "request_body" || name == "response_body") return "CAST(" + n + " AS BLOB)";
        return n;
    }
    if (name == "version") return "max(1, (" + updated + ") * 1000)";
    if (name == "owner") return "randomblob(16)";
    if (name == "attempts") return "1";
    if (name == "request_hash") return "zeroblob(33)";
    if (name == "lease_expire_time") return lease_end;
    return name == "instance" || name == "outcome_ref" ? "''" : "NULL";
}

std::vector<SchemaStep> Takeover::set_aside() const {
    // Names of indexes are the file's, not the table's.
    return {{"set the table " + table_ + " aside as " + before(),
             "DROP INDEX IF EXISTS " + table_ + "_lease;\nDROP INDEX IF EXISTS " + table_ + "_expire;\nALTER TABLE " +
                 table_ + " RENAME TO " + before() + ";"}};
}

SchemaStep Takeover::copy() const {
    std::string names, values;
    for (const ColumnRule& rule : column_rules()) {
        names.append(names.empty() ? "" : ", ").append(rule.name);
        values.append(values.empty() ? "    " : ",\n    ").append(value_of(rule.name));
    }
    return {"copy its records",
            "INSERT INTO " + table_ + " (" + names + ")\nSELECT\n" + values + "\nFROM " + before() + ";"};
}

Result<std::vector<SchemaObstacle>> Takeover::obstacles(Connection& connection) const {
    std::vector<SchemaObstacle> found;
    if (!needs_copy()) return found;
    for (const char* const name : {"trace_id", "biz_type", "status", "expire_time"})
        if (!column(name))
            found.push_back({"it has no column " + std::string(name),
                             "a table with another purpose? name another one with `--table`"});
    if (!found.empty()) return found;
    auto there = query(connection,
                       "SELECT type, name FROM sqlite_schema WHERE (name = ?1 AND type = 'view') OR (tbl_name = ?1 AND "
                       "type = 'trigger') LIMIT 1",
                       table_);
    if (!there) return std::move(there).error();
    if (!there->empty())
        found.push_back({(*there)[0][0] == "view" ? "it is a view" : "it has a trigger", "drop it first"});
    auto old = query(connection, "SELECT 1 FROM sqlite_schema WHERE name = ?1", before());
    if (!old) return std::move(old).error();
    if (!old->empty()) found.push_back({"there is a table " + before() + " already", "rename it, or drop it"});
    if (add_functions(connection) != SQLITE_OK) return error_of(connection.get(), "add its functions");

    const auto count = [&](const std::string& where, const std::string& what, const std::string& hint) -> Result<void> {
        auto rows = query(connection, where);
        if (!rows) return std::move(rows).error();
        const std::string number = rows->empty() ? "0" : rows->front().front();
        if (number != "0" && !number.empty()) found.push_back({number + " " + what, hint});
        return {};
    };
    const std::string from = " FROM " + table_ + " WHERE ";
    const std::string statuses = ours_ ? "5" : "2";
    const std::string wait = "mend or delete these rows, or wait until they have expired";
    struct Check {
        std::string sql, what, hint;
    };
    std::vector<Check> checks{
        {"SELECT count(*)" + from + "trace_id IS NULL OR biz_type IS NULL", "rows have no trace_id or no biz_type",
         wait},
        {"SELECT count(*)" + from + "length(CAST(trace_id AS BLOB)) > " + std::to_string(identify::max_trace_id),
         "rows have a trace_id longer than " + std::to_string(identify::max_trace_id) + " bytes", wait},
        {"SELECT count(*) FROM (SELECT 1" + from + "trace_id IS NOT NULL AND biz_type IS NOT NULL GROUP BY " + key() +
             " HAVING count(*) > 1)",
         "keys have more than one row", "leave one row for each key: the one that tells what happened"},
        {"SELECT count(*)" + from + "typeof(status) != 'integer' OR status < 0 OR status > " + statuses,
         "rows have a status other than 0 to " + statuses, wait}};
    for (const char* const name : {"expire_time", "create_time", "update_time"})
        if (column(name))
            checks.push_back({"SELECT count(*)" + from + "(" + millis_of(name) + ") IS NULL",
                              "rows have no readable " + std::string(name), "write it as 'YYYY-MM-DD HH:MM:SS', UTC"});
    if (ours_)
        for (const ColumnRule& rule : column_rules())
            if (rule.required && column(rule.name) && rule.name != "trace_id" && rule.name != "biz_type")
                checks.push_back({"SELECT count(*)" + from + std::string(rule.name) + " IS NULL",
                                  "rows have no " + std::string(rule.name), wait});
    for (const auto& [sql, what, hint] : checks)
        if (auto counted = count(sql, what, hint); !counted) return std::move(counted).error();
    return found;
}

}  // namespace nebis::sqlite
