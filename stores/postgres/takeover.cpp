// SPDX-License-Identifier: Apache-2.0
#include "takeover.hpp"

#include "identify/digest.hpp"
#include "identify/limits.hpp"
#include "identify/trace_id.hpp"
#include "runtime/schema_text.hpp"
#include "runtime/snapshot.hpp"

#include <algorithm>
#include <utility>

namespace nebis::postgres {
namespace {

using Kind = PlannedStep::Kind;

constexpr const char* now_millis = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

bool is_text(std::string_view type) { return type == "text" || type == "character varying" || type == "character"; }
bool is_time(std::string_view name) { return name.ends_with("_time"); }
bool is_body(std::string_view name) { return name.ends_with("_body"); }

/// Can the values of a column of that type become what Nebis keeps under this name?
bool convertible(const ColumnRule& rule, std::string_view from) {
    if (rule.name == "owner" || rule.name == "request_hash") return false;
    if (rule.type == "bytea") return is_text(from) || (is_body(rule.name) && (from == "json" || from == "jsonb"));
    if (rule.type == "text") return is_text(from);
    if (is_time(rule.name) && from.starts_with("timestamp ")) return true;
    return from == "integer" || from == "bigint" || from == "smallint";
}

std::string bytea(std::string_view bytes) {
    std::string hex;
    for (const char c : bytes) hex += identify::to_hex(std::span(reinterpret_cast<const unsigned char*>(&c), 1));
    return "'\\x" + hex + "'::bytea";
}

std::string shadow(std::string_view name) { return "nebis_" + std::string(name); }

void list(std::string& into, std::string_view separator, const std::string& one) {
    into.append(into.empty() ? "" : separator).append(one);
}

}  // namespace

Takeover::Takeover(const Catalogue& catalogue, std::string table, std::string time_zone)
    : catalogue_(catalogue), table_(std::move(table)), time_zone_(std::move(time_zone)) {
    const auto* const key = catalogue_.column("trace_id");
    ours_ = key && key->type == "bytea" && !catalogue_.column(shadow("trace_id"));
    look();
}

void Takeover::look() {
    for (const ColumnRule& rule : column_rules()) {
        Column column{&rule, catalogue_.column(rule.name)};
        const std::string name = "the column " + table_ + "." + std::string(rule.name);
        if (catalogue_.column(shadow(rule.name))) {
            column.need = Need::fill;
            missing_.push_back(name + " is being taken over");
        } else if (!column.found) {
            column.need = rule.required && !rule.fallback ? Need::fill : Need::add;
            missing_.push_back(name + " is missing");
        } else if (column.found->type != rule.type) {
            // To the server both are the same bytes: nothing is rewritten.
            column.need = rule.type == "text" && column.found->type == "character varying" ? Need::widen : Need::fill;
            missing_.push_back(name + " must be " + std::string(rule.type) + ", it is '" + column.found->type + "'");
        }
        if (column.found && column.need != Need::fill && rule.required && !column.found->required) {
            if (column.need == Need::nothing) column.need = Need::require;
            missing_.push_back(name + " must be NOT NULL");
        }
        columns_.push_back(column);
    }
    if (!catalogue_.has_index("trace_id", true) || filled("trace_id"))
        missing_.push_back("the table " + table_ + " has no unique key on trace_id as Nebis keeps it");
    for (const char* const column : {"lease_expire_time", "expire_time"})
        if (!catalogue_.has_index(column, false) || filled(column))
            missing_.push_back("the table " + table_ + " has no index on " + column + " as Nebis keeps it");
}

bool Takeover::filled(std::string_view name) const {
    return std::ranges::any_of(columns_, [&](const Column& c) { return c.rule->name == name && c.need == Need::fill; });
}
bool Takeover::any(Need need) const {
    return std::ranges::any_of(columns_, [&](const Column& c) { return c.need == need; });
}
std::string Takeover::live(std::string_view name) const { return filled(name) ? shadow(name) : std::string(name); }

std::vector<std::string> Takeover::left_over() const {
    std::vector<std::string> names;
    for (const auto& column : catalogue_.columns)
        if (column.name.ends_with("_before") &&
            std::ranges::find(column_rules(), std::string_view(column.name).substr(0, column.name.size() - 7),
                              &ColumnRule::name) != column_rules().end())
            names.push_back(column.name);
    return names;
}

// ---- what a row becomes. `row` is "NEW." in the trigger and empty in a query.

std::string Takeover::millis(std::string_view row, std::string_view name) const {
    const auto* const found = catalogue_.column(name);
    if (!found) return now_millis;
    const std::string x = std::string(row) + "\"" + std::string(name) + "\"";
    if (found->type == "timestamp with time zone") return "floor(extract(epoch FROM " + x + ") * 1000)::bigint";
    if (found->type == "timestamp without time zone")
        return "floor(extract(epoch FROM " + x + " AT TIME ZONE '" + time_zone_ + "') * 1000)::bigint";
    return x + "::bigint";
}

std::string Takeover::bytes(std::string_view row, std::string_view name) const {
    const auto* const found = catalogue_.column(name);
    const std::string x = std::string(row) + "\"" + std::string(name) + "\"";
    return found && found->type == "bytea" ? x : "convert_to(" + x + "::text, 'UTF8')";
}

/// identify::make_trace_id of nobody, `biz_type`, `trace_id`: where an engine whose operation has that name, and whose
/// scope is nobody's, looks for that key. Told in SQL, because others write while the table is taken over.
std::string Takeover::key(std::string_view row) const {
    const std::string operation = std::string(row) + "\"biz_type\"::text",
                      name = std::string(row) + "\"trace_id\"::text";
    const std::string readable = "'||' || " + operation + " || '|' || " + name;
    const auto framed = [](const std::string& x) {
        return "int8send(octet_length(convert_to(" + x + ", 'UTF8'))) || convert_to(" + x + ", 'UTF8')";
    };
    const auto clean = [](const std::string& x) { return x + " !~ '[^ -~]|^ | $' COLLATE \"C\""; };
    return "CASE WHEN octet_length(" + readable + ") <= " + std::to_string(identify::max_trace_id) + " AND " +
           clean(operation) + " AND " + clean(name) + " AND strpos(" + operation + ", '|') = 0 AND NOT starts_with(" +
           name + ", '" + std::string(identify::hashed_tag) + "') THEN convert_to(" + readable +
           ", 'UTF8') ELSE convert_to('" + std::string(identify::hashed_tag) +
           "' || encode(sha256(int8send(0) || int8send(0) || " + framed(operation) + " || " + framed(name) +
           "), 'hex'), 'UTF8') END";
}

std::string Takeover::value_of(std::string_view row, std::string_view name) const {
    const std::string status = std::string(row) + "\"status\"", updated = millis(row, "update_time");
    std::string lease_end = updated + " + " + std::to_string(runtime::adopted_lease);
    const auto* const found = catalogue_.column(name);
    if (name == "trace_id") return key(row);
    if (name == "expire_time" && !ours_)
        return "CASE WHEN " + status + " = 0 THEN greatest(" + millis(row, name) + ", " + lease_end + ") ELSE " +
               millis(row, name) + " END";
    if (name == "response_body" && found && !ours_)
        return "CASE WHEN " + status + " = 1 THEN coalesce(" + bytea(runtime::bare_response({})) + " || " +
               bytes(row, name) + ", " + bytea(runtime::encode_response({200, {}, {}, true})) + ") END";
    if (name == "status") return status + "::smallint";
    if (is_body(name)) return bytes(row, name);
    if (name == "biz_type") return std::string(row) + "\"biz_type\"::text";
    if (name == "instance" || name == "outcome_ref")
        return found ? std::string(row) + "\"" + std::string(name) + "\"::text" : "''";
    if (found || name == "create_time" || name == "update_time") return millis(row, name);
    if (name == "version") return "greatest(" + updated + " * 1000, 1)";
    if (name == "owner") return "coalesce(" + std::string(row) + "\"nebis_owner\", uuid_send(gen_random_uuid()))";
    if (name == "attempts") return "1";
    if (name == "request_hash") return "decode(repeat('00', 33), 'hex')";
    return lease_end;
}

// ---- the plan

void Takeover::add_columns(std::vector<PlannedStep>& steps) const {
    std::string changes;
    for (const Column& column : columns_) {
        const std::string name(column.rule->name), type(column.rule->type);
        if (column.need == Need::add)
            list(changes, ",\n    ",
                 "ADD COLUMN \"" + name + "\" " + type + (column.rule->required ? " NOT NULL" : "") +
                     (column.rule->fallback ? std::string(" DEFAULT ") + column.rule->fallback : ""));
        if (column.need == Need::widen) list(changes, ",\n    ", "ALTER COLUMN \"" + name + "\" TYPE " + type);
        if (column.need == Need::fill && !catalogue_.column(shadow(name)))
            list(changes, ",\n    ", "ADD COLUMN \"" + shadow(name) + "\" " + type);
    }
    if (changes.empty()) return;
    if (any(Need::fill)) changes += ",\n    SET (fillfactor = 50)";
    steps.push_back({{"add columns", "ALTER TABLE " + quoted() + "\n    " + changes + ";"}, Kind::quick});
}

void Takeover::fill_columns(std::vector<PlannedStep>& steps) const {
    if (!any(Need::fill)) return;
    std::string body, unfilled, first;
    for (const Column& column : columns_) {
        if (column.need != Need::fill) continue;
        const std::string name(column.rule->name), made = "\"" + shadow(name) + "\"";
        body += "    NEW." + made + " := " + value_of("NEW.", name) + ";\n";
        if (first.empty()) first = made;
        list(unfilled, " OR ",
             column.rule->required ? made + " IS NULL" : "(" + made + " IS NULL AND \"" + name + "\" IS NOT NULL)");
    }
    const std::string function = "\"" + table_ + "_fill\"";
    steps.push_back(
        {{"fill them for what others write meanwhile",
          "CREATE OR REPLACE FUNCTION " + function +
              "() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $nebis$\nBEGIN\n" + body +
              "    RETURN NEW;\nEND $nebis$;\nCREATE OR REPLACE TRIGGER nebis_fill BEFORE INSERT OR UPDATE ON " +
              quoted() + "\n    FOR EACH ROW EXECUTE FUNCTION " + function + "();"},
         Kind::quick});
    steps.push_back({{"fill them for the rows that are there; once for each run of pages",
                      "UPDATE " + quoted() + " SET " + first +
                          " = NULL\n    WHERE ctid >= '($from,0)' AND ctid < '($to,0)'\n    AND (" + unfilled + ");"},
                     Kind::batches});
}

void Takeover::require_values(std::vector<PlannedStep>& steps) const {
    std::string check, change;
    for (const Column& column : columns_) {
        const std::string name = live(column.rule->name);
        const auto* const now = catalogue_.column(name);
        const bool has = now && now->required;
        if (!column.rule->required || has || column.need == Need::nothing || column.need == Need::add) continue;
        list(check, " AND ", "\"" + name + "\" IS NOT NULL");
        list(change, ",\n    ", "ALTER COLUMN \"" + name + "\" SET NOT NULL");
    }
    const std::string alter = "ALTER TABLE " + quoted() + "\n    ";
    if (!check.empty()) {
        // A validated check spares SET NOT NULL its own look at every row, which nobody could write during.
        steps.push_back({{"demand values of new rows", alter +
                                                           "DROP CONSTRAINT IF EXISTS nebis_whole,\n    ADD CONSTRAINT "
                                                           "nebis_whole CHECK (" +
                                                           check + ") NOT VALID;"},
                         Kind::quick});
        steps.push_back({{"check the rows that are there", alter + "VALIDATE CONSTRAINT nebis_whole;"}, Kind::long_});
        steps.push_back({{"demand values", alter + change + ";"}, Kind::quick});
    }
    if (!check.empty() || catalogue_.checking)
        steps.push_back({{"drop the check", alter + "DROP CONSTRAINT IF EXISTS nebis_whole;"}, Kind::quick});
}

void Takeover::make_indexes(std::vector<PlannedStep>& steps) const {
    const auto make = [&](const std::string& name, std::string_view column, bool unique, const std::string& where) {
        const std::string on = live(column), quoted_name = "\"" + name + "\"";
        if (catalogue_.has_index(on, unique)) return;
        if (const auto* const taken = catalogue_.index(name)) {
            if (taken->usable)
                steps.push_back({{"give the name " + name + " free",
                                  "ALTER INDEX " + quoted_name + " RENAME TO \"" + name + "_before\";"},
                                 Kind::quick});
            else
                steps.push_back({{"drop the index " + name + ", which was interrupted",
                                  "DROP INDEX CONCURRENTLY " + quoted_name + ";"},
                                 Kind::long_});
        }
        steps.push_back(
            {{"make the index " + name, std::string("CREATE ") + (unique ? "UNIQUE " : "") + "INDEX CONCURRENTLY " +
                                            quoted_name + " ON " + quoted() + " (\"" + on + "\")" + where + ";"},
             Kind::long_});
    };
    const std::string status = "\"" + live("status") + "\"";
    make(table_ + "_trace", "trace_id", true, "");
    make(table_ + "_lease", "lease_expire_time", false, " WHERE " + status + " = 0");
    make(table_ + "_expire", "expire_time", false, " WHERE " + status + " <> 0 AND " + status + " <> 4");
}

void Takeover::change_names(std::vector<PlannedStep>& steps) const {
    if (!any(Need::fill)) return;
    const std::string alter = "ALTER TABLE " + quoted() + " ";
    std::string sql = "DROP TRIGGER nebis_fill ON " + quoted() + ";\nDROP FUNCTION \"" + table_ + "_fill\"();\n";
    for (const auto& index : catalogue_.indexes)
        if (index.primary && filled(index.first_column)) sql += alter + "DROP CONSTRAINT \"" + index.name + "\";\n";
    for (const Column& column : columns_) {
        if (column.need != Need::fill) continue;
        const std::string name = "\"" + std::string(column.rule->name) + "\"";
        if (column.found)
            sql += alter + "ALTER COLUMN " + name + " DROP NOT NULL, ALTER COLUMN " + name + " DROP DEFAULT;\n" +
                   alter + "RENAME COLUMN " + name + " TO \"" + std::string(column.rule->name) + "_before\";\n";
        sql += alter + "RENAME COLUMN \"" + shadow(column.rule->name) + "\" TO " + name + ";\n";
    }
    sql.pop_back();
    steps.push_back({{"let the new columns take the names", sql}, Kind::quick});
}

std::vector<PlannedStep> Takeover::steps() const {
    std::vector<PlannedStep> steps;
    add_columns(steps);
    fill_columns(steps);
    require_values(steps);
    make_indexes(steps);
    change_names(steps);
    return steps;
}

// ---- what forbids it

Result<std::vector<SchemaObstacle>> Takeover::obstacles(Connection& connection, Deadline deadline) const {
    std::vector<SchemaObstacle> found;
    constexpr const char* other = "a table with another purpose? name another one with `--table`";
    if (catalogue_.kind != "r") {
        found.push_back({"it is no plain table", "a view, a foreign or a partitioned table can't keep records"});
        return found;
    }
    for (const char* const name : {"trace_id", "biz_type", "status", "expire_time"})
        if (!catalogue_.column(name)) found.push_back({"it has no column " + std::string(name), other});
    for (const Column& column : columns_)
        if (column.found && column.need == Need::fill && column.found->type != column.rule->type &&
            !convertible(*column.rule, column.found->type))
            found.push_back({"its column " + std::string(column.rule->name) + " of type '" + column.found->type +
                                 "' can't become " + std::string(column.rule->type),
                             "rename that column, or name another table with `--table`"});
    for (const auto& column : catalogue_.columns)
        if (column.required && !column.has_default && !column.name.starts_with("nebis_") &&
            std::ranges::find(column_rules(), column.name, &ColumnRule::name) == column_rules().end())
            found.push_back({"its column " + column.name + " must have a value, and Nebis has none for it",
                             "give it a default, or drop it"});
    if (!found.empty()) return found;

    const std::string wait = "mend or delete these rows, or wait until they have expired";
    struct Check {
        std::string sql, what, hint;
    };
    std::vector<Check> checks;
    const std::string from = "SELECT count(*) FROM " + quoted() + " WHERE ";
    const bool keyless = !catalogue_.has_index("trace_id", true);
    if (!ours_ || keyless) {
        const std::string parts = ours_ ? "trace_id" : "biz_type, trace_id";
        checks.push_back({from + "trace_id IS NULL OR biz_type IS NULL", "rows have no trace_id or no biz_type", wait});
        checks.push_back({"SELECT count(*) FROM (SELECT FROM " + quoted() + " WHERE trace_id IS NOT NULL GROUP BY " +
                              parts + " HAVING count(*) > 1) d",
                          "keys have more than one row",
                          "leave one row for each key: the one that tells what happened"});
        checks.push_back(
            {from + "octet_length(" + bytes("", "trace_id") + ") > " + std::to_string(identify::max_trace_id),
             "rows have a trace_id longer than " + std::to_string(identify::max_trace_id) + " bytes", wait});
    }
    if (any(Need::fill)) {
        const std::string last = ours_ ? "5" : "2";
        checks.push_back({from + "status IS NULL OR status < 0 OR status > " + last,
                          "rows have a status other than 0 to " + last, wait});
    }
    for (const Column& column : columns_) {
        const std::string name(column.rule->name);
        if (!column.found || name == "trace_id" || name == "biz_type" || name == "status") continue;
        if (is_time(name) && column.found->type.starts_with("timestamp ")) {
            checks.push_back({from + name + " IS NULL OR NOT isfinite(" + name + ")", "rows have no " + name, wait});
            if (name != "expire_time")
                checks.push_back({from + millis("", name) + " > " + now_millis + " + 60000",
                                  "rows have a " + name + " in the future if it is read as " + time_zone_,
                                  "say with `--time-zone` what its times mean"});
        } else if (column.rule->required && !column.found->required) {
            checks.push_back({from + name + " IS NULL", "rows have no " + name, wait});
        }
    }
    for (const auto& [sql, what, hint] : checks) {
        auto count = connection.query(sql, deadline);
        if (!count) return std::move(count).error();
        if (count->bytes(0, 0) != "0") found.push_back({std::string(count->bytes(0, 0)) + " " + what, hint});
    }
    return found;
}

}  // namespace nebis::postgres
