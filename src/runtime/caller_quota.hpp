// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string_view>

namespace nebis::runtime {

/// How many new keys a caller may make (S59): so many at once, and as time passes room comes back evenly. One moment is
/// kept for each caller: when all its room will be back. **Threads**: safe.
class CallerQuota {
public:
    using Clock = std::chrono::steady_clock;
    /// A digest: no name of a caller is kept, and no two callers share one by intent.
    using Caller = std::array<unsigned char, 16>;
    struct Terms {
        std::size_t keys = 0;
        std::chrono::milliseconds window{0};
    };

    /// At most that many callers are remembered; those not heard of for longest are forgotten and have all their room.
    explicit CallerQuota(std::size_t max_callers) : per_generation_(max_callers < 2 ? 1 : max_callers / 2) {}

    static Caller caller(std::string_view operation, std::string_view tenant, std::string_view principal);

    /// 0: there was room, and it is taken. Else how long until there is some.
    std::chrono::milliseconds take(const Caller& caller, const Terms& terms, Clock::time_point now);
    /// It turned out not to be a new key.
    void give_back(const Caller& caller, const Terms& terms);
    /// A new key for which no room had been taken: counted all the same.
    void count(const Caller& caller, const Terms& terms, Clock::time_point now);
    std::size_t callers() const;

private:
    struct Hash {
        using is_avalanching = void;
        std::size_t operator()(const Caller& caller) const noexcept {
            std::size_t hash;
            std::memcpy(&hash, caller.data(), sizeof hash);
            return hash;
        }
    };
    using Table = boost::unordered_flat_map<Caller, Clock::time_point, Hash>;
    Clock::time_point& all_back(const Caller& caller);

    const std::size_t per_generation_;
    mutable std::mutex mutex_;
    Table young_, old_;  ///< `old_` is dropped as a whole when `young_` is full
};

}  // namespace nebis::runtime
