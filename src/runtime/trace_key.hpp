// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace nebis::runtime {

/// A trace id with its hash, computed once for the several tables it is looked up in. A view. The hash never leaves the
/// process.
struct TraceKey {
    TraceKey(std::string_view trace_id) noexcept
        : text(trace_id), hash(std::hash<std::string_view>{}(trace_id)) {}  // NOLINT: implicit
    TraceKey(std::string_view trace_id, std::size_t known) noexcept : text(trace_id), hash(known) {}

    std::string_view text;
    std::size_t hash;

    friend bool operator==(const TraceKey& a, const TraceKey& b) noexcept {
        return a.hash == b.hash && a.text == b.text;
    }

    /// High bits choose the shard, so that the tables inside get evenly spread low ones.
    std::size_t shard(std::size_t count) const noexcept { return (hash >> 48) % count; }
};

struct TraceKeyHash {
    using is_avalanching = void;
    std::size_t operator()(const TraceKey& key) const noexcept { return key.hash; }
};

}  // namespace nebis::runtime
