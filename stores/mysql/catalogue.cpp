// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include "nebis/migrate.hpp"

#include <algorithm>
#include <array>

namespace nebis::mysql {
namespace {

constexpr std::array rules{
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

std::string text(const Answer& answer, std::size_t row, unsigned column) {
    return std::string(answer.bytes(row, column));
}

std::string quoted(const std::string& name) { return "'" + name + "'"; }

}  // namespace

std::span<const ColumnRule> column_rules() noexcept { return rules; }

std::string copy_of(const std::string& table) { return table + "_nebis"; }
std::string before_of(const std::string& table) { return table + "_before"; }

Result<Catalogue> Catalogue::read(Connection& connection, const std::string& table, Deadline deadline) {
    const std::string here = "table_schema=DATABASE() AND table_name=" + quoted(table);
    Script script;
    const auto tables = script.statement(
        "SELECT table_name,table_type,engine FROM information_schema.tables WHERE table_schema=DATABASE() AND "
        "table_name IN (" +
        quoted(table) + "," + quoted(copy_of(table)) + "," + quoted(before_of(table)) +
        ",'idempotent_meta','idempotent_key_rule')");
    const auto columns = script.statement(
        "SELECT column_name,data_type,column_type,is_nullable='NO',column_default IS NOT NULL OR extra<>'',extra LIKE "
        "'%auto_increment%',collation_name FROM information_schema.columns WHERE " +
        here + " ORDER BY ordinal_position");
    const auto indexes = script.statement(
        "SELECT index_name,GROUP_CONCAT(column_name ORDER BY seq_in_index),MAX(non_unique)=0,MAX(sub_part) IS NULL "
        "FROM information_schema.statistics WHERE " +
        here + " GROUP BY index_name");
    const auto triggers = script.statement(
        "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema=DATABASE() AND "
        "(event_object_table=" +
        quoted(table) + " OR (event_object_table=" + quoted(before_of(table)) + " AND trigger_name LIKE '" +
        copy_of(table) + "\\__'))");
    const auto keys = script.statement(
        "SELECT 1 FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL AND ((" + here +
        ") OR (referenced_table_schema=DATABASE() AND referenced_table_name=" + quoted(table) + ")) LIMIT 1");
    auto answers = connection.run(script, deadline);
    if (!answers) return std::move(answers).error();

    Catalogue all;
    const Answer& names = (*answers)[tables];
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto name = names.bytes(i, 0);
        if (name == table) {
            all.kind = text(names, i, 1);
            all.engine = text(names, i, 2);
        }
        all.copy |= name == copy_of(table);
        all.before |= name == before_of(table);
        all.meta |= name == "idempotent_meta";
        all.key_rule |= name == "idempotent_key_rule";
    }
    const Answer& found = (*answers)[columns];
    for (std::size_t i = 0; i < found.size(); ++i)
        all.columns.push_back({text(found, i, 0), text(found, i, 1), text(found, i, 2), found.number(i, 3) != 0,
                               found.number(i, 4) != 0, found.number(i, 5) != 0, text(found, i, 6)});
    const Answer& made = (*answers)[indexes];
    for (std::size_t i = 0; i < made.size(); ++i)
        all.indexes.push_back({text(made, i, 0), text(made, i, 1), made.number(i, 2) != 0, made.number(i, 3) != 0});
    const Answer& fired = (*answers)[triggers];
    for (std::size_t i = 0; i < fired.size(); ++i) all.triggers.push_back(text(fired, i, 0));
    all.referred = (*answers)[keys].size() != 0;
    if (!all.meta) return all;

    auto meta = connection.query("SELECT name,value FROM idempotent_meta WHERE name IN ('schema','" + table +
                                     "/schema','" + table + "/schema/" + std::to_string(newest_schema) + "')",
                                 deadline);
    if (!meta) return std::move(meta).error();
    bool own = false, older = false;
    for (std::size_t i = 0; i < meta->size(); ++i) {
        const auto name = meta->bytes(i, 0);
        const auto value = meta->number(i, 1);
        const bool a_version = name == "schema" || name == table + "/schema";
        if (a_version) all.version = std::max(all.version, static_cast<int>(value));
        own |= name == table + "/schema";
        older |= a_version && value < newest_schema;
        if (!a_version) all.checksum = value;
    }
    all.recorded = own && !older;
    return all;
}

const Catalogue::Column* Catalogue::column(std::string_view name) const {
    const auto at = std::ranges::find(columns, name, &Column::name);
    return at == columns.end() ? nullptr : &*at;
}

const Catalogue::Index* Catalogue::index(std::string_view name) const {
    const auto at = std::ranges::find(indexes, name, &Index::name);
    return at == indexes.end() ? nullptr : &*at;
}

bool Catalogue::has_key() const {
    return std::ranges::any_of(indexes,
                               [](const Index& one) { return one.unique && one.whole && one.columns == "trace_id"; });
}

const Catalogue::Column* Catalogue::needs_a_value() const {
    const auto at = std::ranges::find_if(columns, [](const Column& one) {
        return one.required && !one.has_default &&
               std::ranges::find(rules, one.name, &ColumnRule::name) == std::end(rules);
    });
    return at == columns.end() ? nullptr : &*at;
}

std::vector<SchemaFault> faults_of(const Catalogue& catalogue, const std::string& table) {
    std::vector<SchemaFault> found;
    if (!catalogue.there()) {
        found.push_back({"the table " + table + " is missing", {}, "mysql-no-table", true});
        return found;
    }
    if (catalogue.engine != "InnoDB")
        found.push_back(
            {"the table " + table + " must be of InnoDB", "it is '" + catalogue.engine + "'", "mysql-engine", true});
    for (const ColumnRule& rule : rules) {
        const auto* const column = catalogue.column(rule.name);
        const std::string name = "the column " + table + "." + std::string(rule.name);
        if (!column) {
            found.push_back({name + " is missing", {}, "mysql-column", true});
        } else if (!column->type.starts_with(rule.type)) {
            found.push_back(
                {name + " must be " + std::string(rule.type), "it is '" + column->type + "'", "mysql-column", true});
        } else if (rule.required && !column->required) {
            found.push_back({name + " must be NOT NULL", {}, "mysql-column", true});
        } else if (rule.name == "id" && !column->counts) {
            found.push_back({name + " must be AUTO_INCREMENT", {}, "mysql-column", true});
        } else if (rule.type.starts_with("varchar") && column->collation != "utf8mb4_bin") {
            found.push_back({name + " must have the collation utf8mb4_bin", "it has '" + column->collation + "'",
                             "mysql-collation", true});
        }
    }
    if (!catalogue.has_key())
        found.push_back({"the table " + table + " has no unique key on trace_id", {}, "mysql-no-key", false});
    for (const auto& [name, on] :
         {std::pair("idx_lease", "status,lease_expire_time"), std::pair("idx_expire", "status,expire_time")}) {
        const auto* const index = catalogue.index(name);
        if (!index || index->columns != on || !index->whole)
            found.push_back(
                {"the table " + table + " has no index " + name + " on " + on, {}, "mysql-no-index", false});
    }
    return found;
}

}  // namespace nebis::mysql
