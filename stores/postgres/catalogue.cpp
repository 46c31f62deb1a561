// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include "nebis/migrate.hpp"

#include <algorithm>
#include <charconv>

namespace nebis::postgres {
namespace {

std::int64_t number_in(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

Result<Catalogue> Catalogue::read(Connection& connection, const std::string& table, Deadline deadline) {
    Catalogue all;
    const std::string self = "to_regclass('\"" + table + "\"')";
    auto about = connection.query(
        "SELECT coalesce((SELECT relkind::text FROM pg_class WHERE oid = " + self +
            "), ''), (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'), EXISTS (SELECT FROM pg_trigger WHERE "
            "tgrelid = " +
            self + " AND tgname = 'nebis_fill')::int, EXISTS (SELECT FROM pg_constraint WHERE conrelid = " + self +
            " AND conname = 'nebis_whole')::int, (to_regclass('idempotent_key_rule') IS NOT NULL)::int, "
            "(to_regclass('idempotent_meta') IS NOT NULL)::int",
        deadline);
    if (!about) return std::move(about).error();
    all.kind = about->bytes(0, 0);
    all.time_zone = about->bytes(0, 1);
    all.filling = about->bytes(0, 2) == "1";
    all.checking = about->bytes(0, 3) == "1";
    all.key_rule = about->bytes(0, 4) == "1";
    all.meta = about->bytes(0, 5) == "1";
    auto columns = connection.query(
        "SELECT attname, format_type(atttypid, NULL), attnotnull::int, (atthasdef OR attidentity <> '' OR attgenerated "
        "<> '')::int FROM pg_attribute WHERE attrelid = " +
            self + " AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        deadline);
    if (!columns) return std::move(columns).error();
    for (int i = 0; i < columns->size(); ++i)
        all.columns.push_back({std::string(columns->bytes(i, 0)), std::string(columns->bytes(i, 1)),
                               columns->bytes(i, 2) == "1", columns->bytes(i, 3) == "1"});
    auto indexes = connection.query(
        "SELECT c.relname, coalesce(a.attname, ''), (i.indisunique AND i.indimmediate AND i.indnkeyatts = 1 AND "
        "i.indpred IS NULL)::int, (i.indisvalid AND i.indisready)::int, i.indisprimary::int FROM pg_index i JOIN "
        "pg_class c ON c.oid = "
        "i.indexrelid LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid "
        "= " +
            self,
        deadline);
    if (!indexes) return std::move(indexes).error();
    for (int i = 0; i < indexes->size(); ++i)
        all.indexes.push_back({std::string(indexes->bytes(i, 0)), std::string(indexes->bytes(i, 1)),
                               indexes->bytes(i, 2) == "1", indexes->bytes(i, 3) == "1", indexes->bytes(i, 4) == "1"});
    if (!all.meta) return all;
    auto meta = connection.query("SELECT name, value FROM idempotent_meta WHERE name IN ('schema', '" + table +
                                     "/schema', '" + table + "/schema/" + std::to_string(newest_schema) + "')",
                                 deadline);
    if (!meta) return std::move(meta).error();
    bool own = false, older = false;
    for (int i = 0; i < meta->size(); ++i) {
        const auto name = meta->bytes(i, 0);
        const auto value = number_in(meta->bytes(i, 1));
        if (name == "schema" || name == table + "/schema") all.version = std::max(all.version, static_cast<int>(value));
        own |= name == table + "/schema";
        older |= (name == "schema" || name == table + "/schema") && value < newest_schema;
        if (name.ends_with("/" + std::to_string(newest_schema))) all.checksum = value;
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

bool Catalogue::has_index(std::string_view column, bool unique) const {
    return std::ranges::any_of(indexes, [&](const Index& one) {
        return one.first_column == column && one.usable && (one.unique_alone || !unique);
    });
}

}  // namespace nebis::postgres
