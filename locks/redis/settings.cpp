// SPDX-License-Identifier: Apache-2.0
#include "redis_client/settings.hpp"

#include "nebis/redis.hpp"

#include <utility>

/// The driver's keys in the configuration, `lock.*`.
namespace nebis::redis {

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    driver::SettingsReader read(settings, "redis-setting", "lock.");
    read_servers(read, options);
    read.flag("results", options.results);
    read.flag("wake", options.wake);
    read.flag("v1-compat", options.v1_compat);
    if (read.fault()) return *read.fault();
    return options;
}

namespace {

std::vector<DriverKey> keys() {
    auto all = server_keys();
    all.push_back(driver::driver_key(
        "results", DriverKey::Kind::flag, "true",
        "Keep finished results for some minutes, so that most duplicates never reach the store. Off: locks only; "
        "saves Redis' memory, costs a read of the store for each duplicate."));
    all.push_back(driver::driver_key(
        "wake", DriverKey::Kind::flag, "true",
        "Tell waiting duplicates of other processes when an attempt has left. Off: they find out by asking the "
        "store."));
    all.push_back(driver::driver_key(
        "v1-compat", DriverKey::Kind::flag, "false",
        "Take the lock of version 1 too, `idempotent:<key>` without any prefix, so that instances of both keep each "
        "other out during a rolling upgrade. Needs `fail-open: false`. Shows keys to whoever reads Redis, and costs "
        "two more round trips a request: switch it off when the last instance of version 1 is gone."));
    return all;
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.gates["redis"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Gate>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        return gate(std::move(*options));
    };
    drivers.gate_keys["redis"] = keys();
}

}  // namespace nebis::redis
