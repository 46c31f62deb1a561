// SPDX-License-Identifier: Apache-2.0
#include "runtime/configured_tables.hpp"

#include "config/load.hpp"

#include <utility>

namespace nebis::runtime {

Result<ConfiguredTables> configured_tables(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                           const std::string& data_source, const std::string& table) {
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
    return ConfiguredTables{*std::move(settings), std::move(tables)};
}

Result<std::map<std::string, std::shared_ptr<Store>>> stores_of(const ConfiguredTables& configured,
                                                                const Drivers& drivers,
                                                                const std::string& data_source) {
    const config::DataSource& source = configured.settings.data_sources.at(data_source);
    const auto make = drivers.stores.find(source.driver);
    if (make == drivers.stores.end())
        return Error(ErrorKind::misconfigured, "there is no store driver '" + source.driver + "'");
    std::map<std::string, std::shared_ptr<Store>> stores;
    for (const std::string& name : configured.tables) {
        auto store = make->second({data_source, name, source.values});
        if (!store) return std::move(store).error();
        stores.emplace(name, *std::move(store));
    }
    return stores;
}

Result<std::map<std::string, std::shared_ptr<Store>>> configured_stores(const std::string& file, const Drivers& drivers,
                                                                        const OpenOptions& options,
                                                                        const std::string& data_source,
                                                                        const std::string& table) {
    auto configured = configured_tables(file, drivers, options, data_source, table);
    if (!configured) return std::move(configured).error();
    return stores_of(*configured, drivers, data_source);
}

}  // namespace nebis::runtime
