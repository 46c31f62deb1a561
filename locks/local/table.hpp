// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/local.hpp"

#include <array>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nebis::local {

using Time = std::chrono::steady_clock::time_point;

/// Locks with a time limit and the results that were left behind, spread over shards by the hash of the key.
class Table {
public:
    explicit Table(Options options);

    EnterOutcome enter(const EnterRequest& request);
    bool leave(const LeaveRequest& request);
    bool renew(std::string_view name, const Owner& owner, std::int64_t lease_millis);
    void evict(std::string_view name, const Owner* take, std::int64_t lease_millis);

private:
    struct Held {
        Owner owner;
        Time until;
    };
    struct Kept {
        CachedResult result;
        Time until;
    };
    using Results = std::list<Kept>;  // front: the one kept last
    struct Hash {
        using is_transparent = void;
        // Not noexcept: so libstdc++ keeps the hash in the node.
        std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
    };
    struct alignas(64) Shard {
        std::mutex mutex;
        std::unordered_map<std::string, Held, Hash, std::equal_to<>> locks;
        std::size_t sweep_at = 64;
        Results results;
        std::unordered_map<std::string_view, Results::iterator> by_key;  // views of the results' own trace ids
    };
    static constexpr std::size_t shard_count = 64;

    Shard& shard_of(std::string_view name);
    Time now() const { return options_.clock ? options_.clock() : std::chrono::steady_clock::now(); }
    static void sweep(Shard& shard, Time now);
    static void drop_result(Shard& shard, std::string_view name);
    void keep(Shard& shard, const CachedResult& result, std::int64_t ttl_millis, Time now);

    const Options options_;
    const std::size_t results_per_shard_;
    std::array<Shard, shard_count> shards_;
};

}  // namespace nebis::local
