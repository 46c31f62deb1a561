// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/gate.hpp"
#include "nebis/redis_options.hpp"

#include <memory>

/// Locks and finished results in Redis, in front of any store; tested with Redis 7.0. Redis makes it fast, the store
/// makes it true: a Redis that is flushed, fails over to a replica that lags, or is gone never lets two attempts both
/// count.
namespace nebis::redis {

/// A gate of one script, one round trip, for each enter and each leave. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from here when the options can't be right. From its sessions: `unavailable` when surely
/// nothing was applied (not reachable, LOADING, READONLY, failing over); `overloaded` for a full memory or too many
/// clients; `misconfigured` for a refused password, a missing right or a certificate that doesn't fit; `maybe_applied`
/// when a reply was lost. **Time**: every call keeps its deadline. While an address doesn't answer, further connections
/// to it are refused at once for a growing pause of at most half a second. **Threads**: the gate is safe.
Result<std::shared_ptr<Gate>> gate(Options options = {});

/// The lock alone, and the results alone, to `compose` with somebody else's. Errors and time as above. **Threads**:
/// safe; each call under way has a connection of its own, at most eight idle ones are kept.
Result<std::shared_ptr<Lock>> lock(Options options = {});
Result<std::shared_ptr<ResultCache>> result_cache(Options options = {});

/// What the settings of a configuration's `lock` mean. **Errors**: `misconfigured`, code "redis-setting".
Result<Options> options_of(const DriverSettings& settings);

/// Registers the gate driver "redis" and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::redis
