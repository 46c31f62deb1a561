// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/digest.hpp"
#include "nebis/gate.hpp"
#include "runtime/trace_key.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

namespace nebis::runtime {

/// Finished results of this process, for `local-cache-millis`: a duplicate is answered without any I/O. Bounded by
/// bytes; the oldest go first, which with one lifetime for all is the order of expiry too. A purge in another process
/// takes effect when they expire.
/// **Threads**: safe.
class LocalCache {
public:
    using Clock = std::chrono::steady_clock;
    using Entry = std::shared_ptr<const CachedResult>;

    explicit LocalCache(std::size_t max_bytes) : max_bytes_per_shard_(max_bytes / shard_count) {}

    struct Found {
        Entry result;                              ///< null: not there
        std::optional<identify::Digest> verbatim;  ///< of a request whose hash is the result's, once one was learnt
    };
    /// Whether the hash fits is the caller's to look at.
    Found find(const TraceKey& key, Clock::time_point now);
    /// A request with this verbatim digest has the hash of `result`: its next repeat need not be hashed again.
    void learn(const TraceKey& key, const Entry& result, const identify::Digest& verbatim);
    /// An older version never replaces a newer one.
    void put(Entry result, std::size_t hash, Clock::time_point expires);
    void drop(const TraceKey& key);

    static std::size_t bytes_of(const CachedResult& result) noexcept;

private:
    static constexpr std::size_t shard_count = 16;
    struct Kept {
        Entry result;
        Clock::time_point expires;
        std::size_t bytes = 0;
        std::uint64_t number = 0;
        std::optional<identify::Digest> verbatim = {};
    };
    struct Age {
        Entry result;  ///< keeps the key's text alive
        std::size_t hash;
        std::uint64_t number;
    };
    using Table = boost::unordered_flat_map<TraceKey, Kept, TraceKeyHash>;
    struct alignas(64) Shard {
        std::mutex mutex;
        Table table;  ///< keys live in the results
        std::deque<Age> oldest_first;
        std::uint64_t number = 0;
        std::size_t bytes = 0;

        void erase(Table::iterator at);
        void forget_oldest();
    };
    Shard& shard_of(const TraceKey& key) noexcept { return shards_[key.shard(shard_count)]; }

    const std::size_t max_bytes_per_shard_;
    std::array<Shard, shard_count> shards_;
};

}  // namespace nebis::runtime
