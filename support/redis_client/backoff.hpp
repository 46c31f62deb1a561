// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "address.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <random>

namespace nebis::redis {

/// Keeps a storm of reconnects from a server that is down: after each failure its address is left alone for a pause
/// that doubles, with jitter. Nobody sleeps: within the pause a connection is refused at once. **Threads**: safe.
class Backoff {
public:
    using Clock = std::chrono::steady_clock;

    bool may_try(const Address& address, Clock::time_point now) {
        const std::lock_guard lock(mutex_);
        const auto at = pauses_.find(address);
        return at == pauses_.end() || now >= at->second.until;
    }
    void succeeded(const Address& address) {
        const std::lock_guard lock(mutex_);
        pauses_.erase(address);
    }
    void failed(const Address& address, Clock::time_point now) {
        const std::lock_guard lock(mutex_);
        if (pauses_.size() > most_addresses) pauses_.clear();  // a Cluster that sends us all over the world
        Pause& pause = pauses_[address];
        pause.length = std::clamp(pause.length * 2, shortest, longest);
        std::uniform_int_distribution<std::int64_t> jitter(pause.length.count() / 2, pause.length.count());
        pause.until = now + std::chrono::milliseconds(jitter(random_));
    }

    static constexpr std::chrono::milliseconds shortest{10};
    static constexpr std::chrono::milliseconds longest{500};

private:
    static constexpr std::size_t most_addresses = 1024;
    struct Pause {
        std::chrono::milliseconds length{0};
        Clock::time_point until;
    };
    std::mutex mutex_;
    std::map<Address, Pause> pauses_;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace nebis::redis
