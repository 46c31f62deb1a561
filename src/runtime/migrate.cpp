// SPDX-License-Identifier: Apache-2.0
#include "nebis/migrate.hpp"

#include "nebis/engine.hpp"
#include "runtime/configured_tables.hpp"

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
    auto configured = runtime::configured_tables(file, drivers, options, data_source, table);
    if (!configured) return std::move(configured).error();
    const config::DataSource& source = configured->settings.data_sources.at(data_source);
    std::vector<RecordTable> found;
    const auto& driver = source.driver;
    for (const auto& name : configured->tables) {
        RecordTable one{data_source, driver, name, nullptr};
        if (const auto make = drivers.migrations.find(driver); make != drivers.migrations.end()) {
            auto made = make->second({data_source, name, source.values});
            if (!made) return std::move(made).error();
            one.migrations = *std::move(made);
        }
        found.push_back(std::move(one));
    }
    return found;
}

}  // namespace nebis
