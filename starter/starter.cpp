// SPDX-License-Identifier: Apache-2.0
#include "nebis/starter.hpp"

#include "config/load.hpp"
#include "nebis/engine.hpp"
#include "nebis/etcd.hpp"
#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "nebis/mysql.hpp"
#include "nebis/postgres.hpp"
#include "nebis/redis.hpp"
#include "nebis/redis_store.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/zookeeper.hpp"

#include <utility>

namespace nebis {

Drivers standard_drivers() {
    Drivers drivers;
    memory::add_to(drivers);
    mysql::add_to(drivers);
    postgres::add_to(drivers);
    sqlite::add_to(drivers);
    etcd::add_to(drivers);
    local::add_to(drivers);
    redis::add_to(drivers);
    redis::add_store_to(drivers);
    zookeeper::add_to(drivers);
    return drivers;
}

Result<LockService> lock_service(const std::string& file, const OpenOptions& options) {
    const Drivers drivers = standard_drivers();
    config::LoadOptions load;
    if (options.use_environment) load.environment = config::process_environment();
    load.sets = options.sets;
    load.drivers = &drivers;
    auto settings = config::load(file, load);
    if (!settings) return std::move(settings).error();
    LockService found{settings->lock.driver, {}};
    found.settings.data_source = "lock";
    found.settings.values = settings->lock.values;
    if (!settings->key_prefix.empty()) found.settings.values["key-prefix"] = settings->key_prefix;
    return found;
}

Result<Engine> Engine::open(const std::string& file, OpenOptions options) {
    return open(file, standard_drivers(), std::move(options));
}

}  // namespace nebis
