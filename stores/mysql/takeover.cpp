// SPDX-License-Identifier: Apache-2.0
#include "takeover.hpp"

#include "identify/limits.hpp"
#include "identify/trace_id.hpp"
#include "runtime/schema_text.hpp"
#include "runtime/snapshot.hpp"
#include "schema.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace nebis::mysql {
namespace {

using Kind = PlannedStep::Kind;

/// Not from a session's time zone: a trigger runs in that of whoever writes.
constexpr const char* now_millis = "CAST(FLOOR(UNIX_TIMESTAMP(NOW(3))*1000) AS SIGNED)";
/// In this order: whatever is in the copy must be followed from the moment it came there.
constexpr std::array events{std::pair("d", "DELETE"), std::pair("u", "UPDATE"), std::pair("i", "INSERT")};

bool one_of(std::string_view kind, std::initializer_list<std::string_view> kinds) {
    return std::ranges::find(kinds, kind) != kinds.end();
}
bool is_text(std::string_view kind) {
    return one_of(kind, {"varchar", "char", "tinytext", "text", "mediumtext", "longtext", "json"});
}
bool is_number(std::string_view kind) { return one_of(kind, {"tinyint", "smallint", "mediumint", "int", "bigint"}); }
bool is_time(std::string_view name) { return name.ends_with("_time"); }

/// Can the values of a column of that kind become what Nebis keeps under this name?
bool convertible(std::string_view name, std::string_view kind) {
    if (name == "owner" || name == "request_hash") return one_of(kind, {"binary", "varbinary"});
    if (name == "trace_id") return is_text(kind) || kind == "varbinary";
    if (name.ends_with("_body"))
        return is_text(kind) || one_of(kind, {"varbinary", "tinyblob", "blob", "mediumblob", "longblob"});
    if (name == "biz_type" || name == "instance" || name == "outcome_ref") return is_text(kind);
    return is_number(kind) || (is_time(name) && one_of(kind, {"datetime", "timestamp"}));
}

std::string hex(std::string_view bytes) {
    Script script;
    script.bytes(bytes);
    return std::string(script.sql());
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }
std::string column(std::string_view row, std::string_view name) { return std::string(row) + quoted(name); }

std::string names() {
    std::string all;
    for (const ColumnRule& rule : column_rules()) all.append(all.empty() ? "" : ", ").append(rule.name);
    return all;
}

}  // namespace

SchemaStep PlannedStep::shown() const {
    SchemaStep step{about, {}};
    for (const auto& one : statements) step.sql.append(step.sql.empty() ? "" : "\n").append(one).append(";");
    return step;
}

Takeover::Takeover(const Catalogue& catalogue, std::string table, std::string time_zone)
    : catalogue_(catalogue),
      table_(std::move(table)),
      time_zone_(std::move(time_zone)),
      faults_(faults_of(catalogue, table_)) {
    const auto* const key = catalogue_.column("trace_id");
    ours_ = key && key->kind == "varbinary";
    anew_ = std::ranges::any_of(faults_, &SchemaFault::in_rows);
}

std::vector<std::string> Takeover::missing() const {
    std::vector<std::string> all;
    for (const auto& [message, detail, word, in_rows] : faults_)
        all.push_back(detail.empty() ? message : message + ", " + detail);
    if (interrupted()) all.emplace_back("an interrupted `up` left a table or triggers behind");
    return all;
}

// ---- what a row becomes. `row` is "NEW." in a trigger and "was." in a batch.

std::string Takeover::millis(std::string_view row, std::string_view name) const {
    const auto* const found = catalogue_.column(name);
    if (!found) return now_millis;
    std::string x = column(row, name);
    if (found->kind == "timestamp") return "CAST(FLOOR(UNIX_TIMESTAMP(" + x + ")*1000) AS SIGNED)";
    if (found->kind == "datetime")
        return "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',CONVERT_TZ(" + x + ",'" + time_zone_ + "','+00:00')) DIV 1000";
    return x;
}

std::string Takeover::bytes(std::string_view row, std::string_view name) const {
    const auto* const found = catalogue_.column(name);
    std::string x = column(row, name);
    return found && is_text(found->kind) ? "CAST(CONVERT(" + x + " USING utf8mb4) AS BINARY)" : x;
}

/// identify::make_trace_id of nobody, `biz_type`, `trace_id`: where an engine whose operation has that name, and whose
/// scope is nobody's, looks for that key. Told in SQL, because others write while the table is taken over; and without
/// regular expressions on the bytes themselves, about which MySQL and MariaDB differ.
std::string Takeover::key(std::string_view row) const {
    if (ours_) return column(row, "trace_id");
    const std::string operation = bytes(row, "biz_type"), name = bytes(row, "trace_id");
    const std::string readable = "CONCAT(" + hex("||") + "," + operation + "," + hex("|") + "," + name + ")";
    const auto framed = [](const std::string& x) { return "UNHEX(LPAD(HEX(LENGTH(" + x + ")),16,'0'))," + x; };
    const auto clean = [](const std::string& x) {
        return "HEX(" + x + ") REGEXP '^([2-6][0-9A-F]|7[0-9A-E])*$' AND HEX(" + x + ") NOT LIKE '20%' AND HEX(" + x +
               ") NOT LIKE '%20'";
    };
    const std::string tag(identify::hashed_tag);
    return "CASE WHEN LENGTH(" + readable + ")<=" + std::to_string(identify::max_trace_id) + " AND " +
           clean(operation) + " AND " + clean(name) + " AND LOCATE(" + hex("|") + "," + operation + ")=0 AND LEFT(" +
           name + "," + std::to_string(tag.size()) + ")<>" + hex(tag) + " THEN " + readable + " ELSE CONCAT(" +
           hex(tag) + ",CAST(SHA2(CONCAT(" + hex(std::string(16, '\0')) + "," + framed(operation) + "," + framed(name) +
           "),256) AS BINARY)) END";
}

std::string Takeover::value_of(std::string_view row, std::string_view name) const {
    const auto* const found = catalogue_.column(name);
    if (name == "trace_id") return key(row);
    if (is_time(name) && found && ours_) return millis(row, name);
    const std::string status = column(row, "status"), updated = millis(row, "update_time");
    const std::string lease_end = updated + "+" + std::to_string(runtime::adopted_lease);
    if (name == "expire_time")
        return "CASE WHEN " + status + "=0 THEN GREATEST(" + millis(row, name) + "," + lease_end + ") ELSE " +
               millis(row, name) + " END";
    if (name == "response_body" && !ours_) {
        const std::string tombstone = hex(runtime::encode_response({200, {}, {}, true}));
        const std::string kept = found ? "COALESCE(CONCAT(" + hex(runtime::bare_response({})) + "," + bytes(row, name) +
                                             ")," + tombstone + ")"
                                       : tombstone;
        return "CASE WHEN " + status + "=1 THEN " + kept + " END";
    }
    if (name.ends_with("_body")) return found ? bytes(row, name) : "NULL";
    if (name == "create_time" || name == "update_time") return millis(row, name);
    if (found) return column(row, name);
    if (name == "version") return "GREATEST((" + updated + ")*1000,1)";
    // Nobody's, and each another's: who wrote the row doesn't know it.
    if (name == "owner") return "UNHEX(MD5(CONCAT(UUID()," + column(row, "id") + ")))";
    if (name == "attempts") return "1";
    if (name == "request_hash") return "UNHEX(REPEAT('00',33))";
    return name == "lease_expire_time" ? lease_end : "''";
}

std::string Takeover::values(std::string_view row) const {
    std::string all;
    for (const ColumnRule& rule : column_rules())
        all.append(all.empty() ? "    " : ",\n    ").append(value_of(row, rule.name));
    return all;
}

std::string Takeover::assignments(std::string_view row) const {
    std::string all;
    for (const ColumnRule& rule : column_rules())
        all.append(all.empty() ? "    " : ",\n    ").append(rule.name).append("=").append(value_of(row, rule.name));
    return all;
}

// ---- the plan

std::vector<PlannedStep> Takeover::steps() const {
    std::vector<PlannedStep> steps;
    const std::string table = quoted(table_), copy = quoted(copy_of(table_));
    const auto trigger = [&](const char* letter) { return quoted(copy_of(table_) + "_" + letter); };
    std::vector<std::string> drop_triggers;
    drop_triggers.reserve(events.size() + 1);
    for (const auto& [letter, event] : events) drop_triggers.push_back("DROP TRIGGER IF EXISTS " + trigger(letter));
    if (interrupted()) {
        auto drops = drop_triggers;
        drops.push_back("DROP TABLE IF EXISTS " + copy);
        steps.push_back({"drop what an interrupted takeover left", std::move(drops), Kind::quick});
    }
    if (!anew_) {
        std::string changes;
        const auto add = [&](const std::string& change) { changes.append("\n    ").append(change).append(","); };
        for (const auto& fault : faults_)
            if (std::string_view(fault.word) == "mysql-no-key") {
                if (catalogue_.index("uk_trace_id")) add("DROP KEY uk_trace_id");
                add("ADD UNIQUE KEY uk_trace_id (trace_id)");
            } else {
                const bool lease = fault.message.find("idx_lease") != std::string::npos;
                const std::string name = lease ? "idx_lease" : "idx_expire";
                if (catalogue_.index(name)) add("DROP KEY " + name);
                add("ADD KEY " + name + (lease ? " (status, lease_expire_time)" : " (status, expire_time)"));
            }
        if (!changes.empty())
            steps.push_back({"make the missing indexes",
                             {"ALTER TABLE " + table + changes + "\n    ALGORITHM=INPLACE, LOCK=NONE"},
                             Kind::long_});
        return steps;
    }
    std::vector<std::string> made;
    for (const auto& statement : schema_statements(copy_of(table_)))
        if (statement.starts_with("CREATE TABLE IF NOT EXISTS `")) made.push_back(statement);
    steps.push_back({"make a table as it must be, beside the old one", std::move(made), Kind::quick});
    std::vector<std::string> triggers;
    for (const auto& [letter, event] : events) {
        std::string follow;
        // What isn't in the copy yet comes there later, as it is by then. No REPLACE, here and there: it locks the gaps
        // beside its key, in which others must write; and a key that is there already must be refused, as the table's
        // own key will.
        switch (*letter) {
            case 'd': follow = "DELETE FROM " + copy + " WHERE id=OLD.id"; break;
            case 'u': follow = "UPDATE " + copy + " SET\n" + assignments("NEW.") + "\nWHERE id=OLD.id"; break;
            default: follow = "INSERT INTO " + copy + " (" + names() + ") VALUES (\n" + values("NEW.") + ")";
        }
        triggers.push_back("CREATE TRIGGER " + trigger(letter) + " AFTER " + event + " ON " + table +
                           " FOR EACH ROW\n" + follow);
    }
    steps.push_back({"fill it with what others write meanwhile", std::move(triggers), Kind::quick});
    // The shared locks keep a row from being changed between its reading here and its writing there. All are taken
    // before the first row is written: whoever writes the old table locks there first and in the copy then, and in any
    // other order the two would lock each other out.
    steps.push_back({"fill it with the rows that are there; once for each run of ids, in one transaction",
                     {"SELECT COUNT(*) FROM " + table +
                          " AS was FORCE INDEX (PRIMARY) WHERE was.id>=$from AND was.id<=$to LOCK IN SHARE MODE",
                      "INSERT INTO " + copy + " (" + names() + ")\nSELECT\n" + values("was.") + "\nFROM " + table +
                          " AS was LEFT JOIN " + copy +
                          " AS made ON made.id=was.id\nWHERE was.id>=$from AND "
                          "was.id<=$to AND made.id IS NULL\nLOCK IN SHARE MODE"},
                     Kind::batches});
    steps.push_back({"let it take the name",
                     {"RENAME TABLE " + table + " TO " + quoted(before_of(table_)) + ", " + copy + " TO " + table},
                     Kind::quick});
    steps.push_back({"drop the triggers of the old one", std::move(drop_triggers), Kind::quick});
    return steps;
}

// ---- what forbids it

std::vector<SchemaObstacle> Takeover::obstacles_of_the_table() const {
    std::vector<SchemaObstacle> found;
    constexpr const char* other = "a table with another purpose? name another one with `--table`";
    if (catalogue_.kind != "BASE TABLE") {
        found.push_back({"it is no plain table", "a view or a temporary table can't keep records"});
        return found;
    }
    if (const auto* const foreign = catalogue_.needs_a_value())
        found.push_back({"its column " + foreign->name + " must have a value, and Nebis has none for it",
                         "give it a default, or drop it"});
    if (!anew_) return found;
    for (const char* const name : {"trace_id", "biz_type", "status", "expire_time"})
        if (!catalogue_.column(name)) found.push_back({"it has no column " + std::string(name), other});
    const auto* const id = catalogue_.column("id");
    const auto* const primary = catalogue_.index("PRIMARY");
    if (!id || !is_number(id->kind) || !primary || primary->columns != "id")
        found.push_back({"it has no primary key of whole numbers that is called id",
                         "ALTER TABLE " + table_ + " ADD id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"});
    for (const ColumnRule& rule : column_rules())
        if (const auto* const one = catalogue_.column(rule.name); one && !convertible(rule.name, one->kind))
            found.push_back(
                {"its column " + one->name + " of type '" + one->type + "' can't become " + std::string(rule.type),
                 "rename that column, or name another table with `--table`"});
    if (catalogue_.before)
        found.push_back({"there is a table " + before_of(table_) + " already", "rename it, or drop it"});
    if (catalogue_.referred) found.push_back({"a foreign key leads to it or away from it", "drop that key first"});
    if (std::ranges::any_of(catalogue_.triggers,
                            [&](const auto& name) { return !name.starts_with(copy_of(table_) + "_"); }))
        found.push_back({"it has a trigger", "drop it first"});
    return found;
}

std::vector<Takeover::Check> Takeover::checks_of_the_rows() const {
    const std::string wait = "mend or delete these rows, or wait until they have expired";
    const std::string from = "SELECT COUNT(*) FROM " + quoted(table_) + " AS was WHERE ";
    std::vector<Check> checks;
    if (!catalogue_.has_key())
        checks.push_back(
            {"SELECT COUNT(*) FROM (SELECT 1 FROM " + quoted(table_) + " WHERE trace_id IS NOT NULL GROUP BY " +
                 (ours_ ? "trace_id" : bytes("", "biz_type") + "," + bytes("", "trace_id")) +
                 " HAVING COUNT(*)>1) AS twice",
             "keys have more than one row", "leave one row for each key: the one that tells what happened"});
    if (!anew_) return checks;
    checks.push_back(
        {from + "was.trace_id IS NULL OR was.biz_type IS NULL", "rows have no trace_id or no biz_type", wait});
    checks.push_back({from + "LENGTH(" + bytes("was.", "trace_id") + ")>" + std::to_string(identify::max_trace_id),
                      "rows have a trace_id longer than " + std::to_string(identify::max_trace_id) + " bytes", wait});
    const std::string last = ours_ ? "5" : "2";
    checks.push_back({from + "was.status IS NULL OR was.status<0 OR was.status>" + last,
                      "rows have a status other than 0 to " + last, wait});
    for (const ColumnRule& rule : column_rules()) {
        const std::string name(rule.name);
        const auto* const found = catalogue_.column(name);
        if (!found || !rule.required || name == "trace_id" || name == "biz_type" || name == "status") continue;
        if (is_time(name)) {
            checks.push_back({from + "(" + millis("was.", name) + ") IS NULL", "rows have no readable " + name, wait});
            if (name != "expire_time" && found->kind == "datetime")
                checks.push_back({from + "(" + millis("was.", name) + ")>" + now_millis + "+60000",
                                  "rows have a " + name + " in the future if it is read as " + time_zone_,
                                  "say with `--time-zone` what its times mean"});
        } else if (!found->required) {
            checks.push_back({from + column("was.", name) + " IS NULL", "rows have no " + name, wait});
        }
    }
    return checks;
}

Result<std::vector<SchemaObstacle>> Takeover::obstacles(Connection& connection, Deadline deadline) const {
    auto found = obstacles_of_the_table();
    if (!found.empty()) return found;
    for (const auto& [sql, what, hint] : checks_of_the_rows()) {
        auto count = connection.query(sql, deadline);
        if (!count) return std::move(count).error();
        if (count->number(0, 0) != 0) found.push_back({std::string(count->bytes(0, 0)) + " " + what, hint});
    }
    return found;
}

}  // namespace nebis::mysql
