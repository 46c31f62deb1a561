// SPDX-License-Identifier: Apache-2.0
#include "redis_client/settings.hpp"

#include "nebis/redis_store.hpp"

#include <utility>

/// The driver's keys in the configuration, `datasources.NAME.*`.
namespace nebis::redis {
namespace {

constexpr std::size_t most_replicas = 100;
constexpr std::int64_t longest_wait = 60'000;

}  // namespace

void add_store_to(Drivers& drivers) {
    drivers.stores["redis"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Store>> {
        StoreOptions options;
        driver::SettingsReader read(settings, "redis-setting");
        read_servers(read, options.servers);
        std::size_t replicas = 0;
        read.number("wait-replicas", replicas, 0, most_replicas);
        options.wait_replicas = static_cast<int>(replicas);
        read.millis("wait-timeout-millis", options.wait_timeout, longest_wait);
        if (read.fault()) return *read.fault();
        options.table = settings.table;
        return store(std::move(options));
    };
    auto keys = server_keys();
    keys.push_back(
        driver::driver_key("key-prefix", DriverKey::Kind::text, "",
                           "Before every name, to keep environments apart in one Redis: up to 64 letters, digits, "
                           "`.`, `_`, `:`, `-` and `/`."));
    keys.push_back(
        driver::driver_number("wait-replicas", "0", 0, most_replicas,
                              "How many replicas must have a record before it counts (WAIT). 0: a failover may forget "
                              "the last moments, and what it forgets runs again. More than there are: nothing runs."));
    keys.push_back(driver::driver_number(
        "wait-timeout-millis", "200", 1, longest_wait,
        "The longest wait for them. Too short: a busy replica fails requests. Too long: a replica "
        "that is gone costs each request this long."));
    drivers.store_keys["redis"] = std::move(keys);
}

}  // namespace nebis::redis
