// SPDX-License-Identifier: Apache-2.0
#include "nebis/starter.hpp"

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

Result<Engine> Engine::open(const std::string& file, OpenOptions options) {
    return open(file, standard_drivers(), std::move(options));
}

}  // namespace nebis
