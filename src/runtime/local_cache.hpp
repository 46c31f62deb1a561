// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "nebis/store.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace nebis::runtime {

/// Finished results of this process, for `local-cache-millis`: a duplicate is answered without any I/O. Bounded by bytes; the oldest go
/// first, which with one lifetime for all is the order of expiry too. A purge in another process takes effect when they expire.
/// **Threads**: safe.
class LocalCache {
public:
    using Clock = std::chrono::steady_clock;
    using Entry = std::shared_ptr<const CachedResult>;

    explicit LocalCache(std::size_t max_bytes) : max_bytes_per_shard_(max_bytes / shard_count) {}

    /// Empty: not there. Whether the hash fits is the caller's to look at.
    Entry find(std::string_view trace_id, Clock::time_point now);
    /// An older version never replaces a newer one.
    void put(Entry result, Clock::time_point expires);
    void drop(std::string_view trace_id);

    static std::size_t bytes_of(const CachedResult& result) noexcept;

private:
    static constexpr std::size_t shard_count = 16;
    struct Kept {
        Entry result;
        Clock::time_point expires;
        std::size_t bytes;
    };
    struct alignas(64) Shard {
        std::mutex mutex;
        std::list<Kept> oldest_first;
        std::unordered_map<std::string_view, std::list<Kept>::iterator> by_trace_id;
        std::size_t bytes = 0;

        void erase(std::list<Kept>::iterator kept);
    };
    Shard& shard_of(std::string_view trace_id) noexcept {
        return shards_[std::hash<std::string_view>{}(trace_id) / 7 % shard_count];
    }

    const std::size_t max_bytes_per_shard_;
    std::array<Shard, shard_count> shards_;
};

}  // namespace nebis::runtime
