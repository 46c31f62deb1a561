// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "runtime/trace_key.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace nebis::runtime {

class Call;

/// Which keys are being worked on in this process. The first request of a key leads; equal ones (same trace id, same
/// request hash) join it and cost no I/O. A request with another hash is none of its business: the store's word
/// decides. **Threads**: safe.
class Flights {
public:
    explicit Flights(std::size_t max_waiting) : max_waiting_(max_waiting) {}

    enum class Entry : std::uint8_t {
        leads,   ///< go on alone; `landed` must follow
        joined,  ///< the leader will tell
        busy,    ///< an attempt is running and this request doesn't wait for it
        full,    ///< too many wait already
        alone,   ///< another request under the same key: not joined, not leading
    };
    /// `patient`: it waits for the end of a running attempt; else only until it is known that one runs.
    Entry enter(Call& call, const TraceKey& key, const RequestHash& hash, bool patient);

    /// The leader's attempt runs from now on: returns those who joined but don't wait for it.
    std::vector<std::shared_ptr<Call>> running(const TraceKey& key, const Call* leader);
    /// The leader's outcome is known: nobody joins any more; returns all who did.
    std::vector<std::shared_ptr<Call>> landed(const TraceKey& key, const Call* leader);
    /// A joiner goes. False: its leader has it in hand and is about to tell it.
    bool go(const TraceKey& key, const Call* joiner);

    std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

    /// More for one key is a flood, not a retry (B063).
    static constexpr std::size_t max_waiting_per_key = 1'000;

private:
    static constexpr std::size_t shard_count = 64;
    struct Joiner {
        std::shared_ptr<Call> call;
        bool patient;
    };
    struct Flight {
        const Call* leader = nullptr;
        RequestHash hash;
        bool running = false;
        std::vector<Joiner> joiners;
    };
    struct alignas(64) Shard {
        std::mutex mutex;
        boost::unordered_flat_map<TraceKey, Flight, TraceKeyHash> flights;  // keys live in the leaders
    };
    Shard& shard_of(const TraceKey& key) noexcept { return shards_[key.shard(shard_count)]; }

    const std::size_t max_waiting_;
    std::atomic<std::size_t> waiting_{0};
    std::array<Shard, shard_count> shards_;
};

}  // namespace nebis::runtime
