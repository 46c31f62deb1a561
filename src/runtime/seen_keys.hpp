// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/trace_key.hpp"

#include <cstddef>
#include <memory>
#include <mutex>

namespace nebis::runtime {

/// Keys that this process has met, as a Bloom filter (S30). It errs in both ways: a key that was never met may look met
/// (one in a hundred, when full), and one that was met is forgotten after a while, at a restart, or was met by another
/// instance. So it is good for sparing somebody a question, never for an answer. **Threads**: safe.
class SeenKeys {
public:
    /// Remembers about the last `keys` meetings, and at most twice as many; 0: nothing.
    explicit SeenKeys(std::size_t keys);
    ~SeenKeys();
    SeenKeys(const SeenKeys&) = delete;
    SeenKeys& operator=(const SeenKeys&) = delete;

    bool on() const noexcept { return shards_ != nullptr; }
    bool ready() const noexcept { return ready_; }  ///< false: there was no memory for it
    /// Whether it may have been met before; it has been from now on.
    bool meet(const TraceKey& key);
    /// What it holds, whatever comes.
    std::size_t bytes() const noexcept;

private:
    struct Shard;
    static constexpr std::size_t shard_count = 8;
    std::unique_ptr<Shard[]> shards_;  ///< `shard_count` of them
    bool ready_ = true;
};

}  // namespace nebis::runtime
