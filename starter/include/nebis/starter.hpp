// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"
#include "nebis/extend.hpp"

#include <string>

namespace nebis {

/// The drivers that come along: stores "memory", "mysql", "postgres", "redis" and "sqlite", locks "etcd", "local",
/// "redis" and "zookeeper". Add your own key generators, resolvers and further drivers to it, and give it to
/// `Engine::open(file, drivers)`.
Drivers standard_drivers();

/// The lock service that a configuration file names, for programs that look into it themselves.
struct LockService {
    std::string driver;       ///< "redis", "local", "none"
    DriverSettings settings;  ///< as the driver's factory gets them
};
/// Reads the configuration as `Engine::open` does; connects to nothing. **Errors**: `misconfigured`.
Result<LockService> lock_service(const std::string& file, const OpenOptions& options = {});

}  // namespace nebis
