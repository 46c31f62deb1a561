// SPDX-License-Identifier: Apache-2.0
#include "nebis/migrate.hpp"

#include "config/load.hpp"
#include "nebis/engine.hpp"

#include <set>
#include <utility>

namespace nebis {
namespace {

Error refused(std::string message, std::string hint, const char* word) {
    return Error(ErrorKind::misconfigured, std::move(message), {}, std::move(hint)).with_code(word);
}

}  // namespace

std::string_view to_string(SchemaState state) noexcept {
    switch (state) {
        case SchemaState::missing: return "missing";
        case SchemaState::current: return "current";
        case SchemaState::older: return "older";
        case SchemaState::newer: return "newer";
        case SchemaState::altered: return "altered";
    }
    return "?";
}

Result<void> may_go_down(const SchemaStatus& status, std::string_view table) {
    const std::string version = std::to_string(status.version);
    if (status.state == SchemaState::newer)
        return refused("the schema of " + std::string(table) + " is of version " + version +
                           ", this program knows version " + std::to_string(newest_schema),
                       "use the release that made it", "schema-newer");
    if (status.state == SchemaState::altered)
        return refused(
            "version " + version + " of " + std::string(table) + " was applied from another text than this release has",
            "use the release that applied it; if its tables are as schema.sql says, delete the row '" +
                std::string(table) + "/schema/" + version + "' of idempotent_meta and run up again",
            "schema-altered");
    return {};
}

Result<void> may_go_up(const SchemaStatus& status, std::string_view table) {
    if (auto known = may_go_down(status, table); !known) return known;
    if (status.obstacles.empty()) return {};
    std::string reasons, hints;
    for (const auto& [what, hint] : status.obstacles) {
        reasons.append(reasons.empty() ? "" : "; ").append(what);
        if (!hint.empty() && hints.find(hint) == std::string::npos)
            hints.append(hints.empty() ? "" : "; ").append(hint);
    }
    return refused("the table " + std::string(table) + " can't be taken over: " + reasons, hints, "schema-refused");
}

Error would_lose(std::string_view table, std::int64_t records, std::int64_t in_progress, std::int64_t may_lose) {
    return refused(
        "down would delete " + std::to_string(records) + " records of " + std::string(table) + ", " +
            std::to_string(in_progress) + " of them in progress" +
            (may_lose > 0 ? "; accepted are " + std::to_string(may_lose) : ""),
        "their requests could run a second time; if that is meant, say `--lose " + std::to_string(records) + "`",
        "schema-loss");
}

bool is_refusal(const Error& error) noexcept {
    return error.code().starts_with("schema-") && error.code() != "schema-lock";
}

Result<std::vector<RecordTable>> record_tables(const std::string& file, const Drivers& drivers,
                                               const OpenOptions& options, const std::string& data_source,
                                               const std::string& table) {
    config::LoadOptions load;
    if (options.use_environment) load.environment = config::process_environment();
    load.sets = options.sets;
    load.drivers = &drivers;
    auto settings = config::load(file, load);
    if (!settings) return std::move(settings).error();
    const auto source = settings->data_sources.find(data_source);
    if (source == settings->data_sources.end()) {
        std::string names;
        for (const auto& [name, one] : settings->data_sources) names.append(names.empty() ? "" : ", ").append(name);
        return Error(ErrorKind::misconfigured, "there is no data source '" + data_source + "'", {},
                     "the configuration has: " + names)
            .with_code("data-source");
    }
    std::set<std::string> tables;
    if (!table.empty()) {
        tables.insert(table);
    } else {
        if (settings->defaults.data_source == data_source) tables.insert(settings->defaults.table);
        for (const auto& [operation, overrides] : settings->operations) {
            auto resolved = config::resolve(*settings, Policy{.operation = operation});
            if (!resolved) return std::move(resolved).error();
            if (resolved->data_source == data_source) tables.insert(resolved->table);
        }
        // A data source that only code names keeps the usual table.
        if (tables.empty()) tables.insert(settings->defaults.table);
    }
    std::vector<RecordTable> found;
    const auto& driver = source->second.driver;
    for (const auto& name : tables) {
        RecordTable one{data_source, driver, name, nullptr};
        if (const auto make = drivers.migrations.find(driver); make != drivers.migrations.end()) {
            auto made = make->second({data_source, name, source->second.values});
            if (!made) return std::move(made).error();
            one.migrations = *std::move(made);
        }
        found.push_back(std::move(one));
    }
    return found;
}

}  // namespace nebis
