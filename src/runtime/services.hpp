// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"
#include "nebis/engine.hpp"
#include "runtime/caller_quota.hpp"
#include "runtime/flights.hpp"
#include "runtime/line_watch.hpp"
#include "runtime/local_cache.hpp"
#include "runtime/renewer.hpp"
#include "runtime/sealing.hpp"
#include "runtime/seen_keys.hpp"
#include "runtime/timers.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace nebis::runtime {

/// What all calls of one engine share. Outlives the engine's last handle for as long as a call is still on its way.
struct Services {
    Services(config::Settings with, std::shared_ptr<Watch> tell, std::string name, std::shared_ptr<const Sealing> seals)
        : settings(std::move(with)),
          watch(std::move(tell)),
          instance(std::move(name)),
          sealing(std::move(seals)),
          cache(settings.limits.local_cache_bytes),
          flights(settings.limits.waiters_max),
          seen_keys(settings.limits.flood_filter_keys),
          quota(settings.limits.quota_callers),
          renewer(watch->metrics.instance()) {}

    const config::Settings settings;
    const std::shared_ptr<Watch> watch;
    const std::string instance;
    const std::shared_ptr<const Sealing> sealing;
    Timers timers;
    LocalCache cache;
    Flights flights;
    SeenKeys seen_keys;
    CallerQuota quota;
    Renewer renewer;

    // ---- who is inside, for bounds and for drain
    std::atomic<bool> closed{false};
    std::atomic<std::int64_t> calls{0};     ///< whose machine hasn't ended
    std::atomic<std::int64_t> attempts{0};  ///< handlers in flight

    void call_ended() noexcept {
        if (calls.fetch_sub(1, std::memory_order_acq_rel) == 1 && closed.load(std::memory_order_acquire)) {
            const std::lock_guard lock(drain_mutex);
            drained.notify_all();
        }
    }
    std::mutex drain_mutex;
    std::condition_variable drained;
};

}  // namespace nebis::runtime
