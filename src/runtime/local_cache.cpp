// SPDX-License-Identifier: Apache-2.0
#include "runtime/local_cache.hpp"

#include <utility>

namespace nebis::runtime {

std::size_t LocalCache::bytes_of(const CachedResult& result) noexcept {
    constexpr std::size_t nodes = 160;  // list node, map node, control block
    std::size_t bytes = sizeof(CachedResult) + nodes + result.trace_id.size() + result.response.body.size();
    for (const Header& header : result.response.headers) bytes += sizeof(Header) + header.name.size() + header.value.size();
    return bytes;
}

void LocalCache::Shard::erase(std::list<Kept>::iterator kept) {
    bytes -= kept->bytes;
    by_trace_id.erase(kept->result->trace_id);
    oldest_first.erase(kept);
}

LocalCache::Entry LocalCache::find(std::string_view trace_id, Clock::time_point now) {
    Shard& shard = shard_of(trace_id);
    const std::lock_guard lock(shard.mutex);
    const auto place = shard.by_trace_id.find(trace_id);
    if (place == shard.by_trace_id.end()) return nullptr;
    if (place->second->expires > now) return place->second->result;
    shard.erase(place->second);
    return nullptr;
}

void LocalCache::put(Entry result, Clock::time_point expires) {
    const std::size_t bytes = bytes_of(*result);
    if (bytes > max_bytes_per_shard_) return;
    Shard& shard = shard_of(result->trace_id);
    const std::lock_guard lock(shard.mutex);
    if (const auto place = shard.by_trace_id.find(result->trace_id); place != shard.by_trace_id.end()) {
        if (place->second->result->version > result->version) return;
        shard.erase(place->second);
    }
    while (shard.bytes + bytes > max_bytes_per_shard_ && !shard.oldest_first.empty()) shard.erase(shard.oldest_first.begin());
    shard.oldest_first.push_back({std::move(result), expires, bytes});
    const auto last = std::prev(shard.oldest_first.end());
    shard.by_trace_id.emplace(last->result->trace_id, last);
    shard.bytes += bytes;
}

void LocalCache::drop(std::string_view trace_id) {
    Shard& shard = shard_of(trace_id);
    const std::lock_guard lock(shard.mutex);
    if (const auto place = shard.by_trace_id.find(trace_id); place != shard.by_trace_id.end()) shard.erase(place->second);
}

}  // namespace nebis::runtime
