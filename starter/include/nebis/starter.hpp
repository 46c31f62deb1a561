// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

namespace nebis {

/// The drivers that come along: stores "memory", "mysql", "postgres", "redis" and "sqlite", locks "etcd", "local",
/// "redis" and "zookeeper". Add your own key generators, resolvers and further drivers to it, and give it to
/// `Engine::open(file, drivers)`.
Drivers standard_drivers();

}  // namespace nebis
