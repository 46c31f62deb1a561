// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/redis_options.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <memory>
#include <string>

/// Records in Redis, for teams without an SQL database; tested with Redis 7.0. The same outcomes, a weaker promise:
/// what Redis forgets (a failover to a replica that lags, a crash between two fsyncs, FLUSHALL, an eviction) is as if
/// it had never been recorded, and its key runs again.
namespace nebis::redis {

struct StoreOptions {
    Options servers = {};                     ///< `results` and `wake` are the gate's and mean nothing here
    std::string table = "idempotent_record";  ///< [a-z0-9_], at most 55; stores with different ones share nothing
    /// How many replicas must have a record before it is told as done or found (WAIT). 0: the master alone, so that a
    /// failover may forget the last moments. With fewer than that within `wait_timeout`: `maybe_applied`, and
    /// `unavailable` for what only reads.
    int wait_replicas = 0;
    std::chrono::milliseconds wait_timeout{200};
};

/// A record table in Redis. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from here when the options can't be right, and from `verify` when that Redis may evict
/// (maxmemory with a policy other than noeviction). From its sessions: `unavailable` or `overloaded` (a full memory:
/// nothing new begins, what runs can be finished) when surely nothing was applied, `maybe_applied` when a reply was
/// lost, `corrupt` for a row that can't be trusted. **Time**: every call keeps its deadline. In a Cluster each row goes
/// by the clock of its node: keep them together (NTP). **Threads**: safe.
Result<std::shared_ptr<Store>> store(StoreOptions options = {});

/// Registers the store driver "redis" and its settings.
void add_store_to(Drivers& drivers);

}  // namespace nebis::redis
