// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/settings_reader.hpp"
#include "nebis/redis_options.hpp"

#include <vector>

/// The keys of a driver that talks to Redis, in the configuration.
namespace nebis::redis {

/// Everything but what is of the gate alone.
void read_servers(driver::SettingsReader& read, Options& into);

/// Those that `read_servers` reads, but for the key prefix, which is everybody's.
std::vector<DriverKey> server_keys();

}  // namespace nebis::redis
