// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"
#include "nebis/engine.hpp"
#include "nebis/store.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace nebis::runtime {

/// What a program for operators works on.
struct ConfiguredTables {
    config::Settings settings;
    std::set<std::string> tables;
};

/// The tables that the file names for one data source, or `table` alone if it isn't empty. Reads the configuration as
/// `Engine::open` does; connects to nothing. **Errors**: `misconfigured`.
Result<ConfiguredTables> configured_tables(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                           const std::string& data_source, const std::string& table);

/// The same tables, each with its store; none is connected to yet. **Errors**: `misconfigured`, and the driver's.
Result<std::map<std::string, std::shared_ptr<Store>>> configured_stores(const std::string& file, const Drivers& drivers,
                                                                        const OpenOptions& options,
                                                                        const std::string& data_source,
                                                                        const std::string& table);
Result<std::map<std::string, std::shared_ptr<Store>>> stores_of(const ConfiguredTables& configured,
                                                                const Drivers& drivers, const std::string& data_source);

}  // namespace nebis::runtime
