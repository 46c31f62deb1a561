// SPDX-License-Identifier: Apache-2.0
#include "runtime/local_cache.hpp"

#include <utility>

namespace nebis::runtime {

std::size_t LocalCache::bytes_of(const CachedResult& result) noexcept {
    constexpr std::size_t tables = sizeof(Kept) + sizeof(TraceKey) + sizeof(Age) + 32;
    std::size_t bytes = sizeof(CachedResult) + tables + result.trace_id.size() + result.response.body.size();
    for (const Header& header : result.response.headers)
        bytes += sizeof(Header) + header.name.size() + header.value.size();
    return bytes;
}

void LocalCache::Shard::erase(Table::iterator at) {
    bytes -= at->second.bytes;
    const Entry keeps_the_key = std::move(at->second.result);
    table.erase(at);
}

void LocalCache::Shard::forget_oldest() {
    const Age oldest = std::move(oldest_first.front());
    oldest_first.pop_front();
    const auto at = table.find(TraceKey(oldest.result->trace_id, oldest.hash));
    if (at != table.end() && at->second.number == oldest.number) erase(at);
}

LocalCache::Found LocalCache::find(const TraceKey& key, Clock::time_point now) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto at = shard.table.find(key);
    if (at == shard.table.end()) return {};
    if (at->second.expires > now) return {at->second.result, at->second.verbatim};
    shard.erase(at);
    return {};
}

void LocalCache::learn(const TraceKey& key, const Entry& result, const identify::Digest& verbatim) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto at = shard.table.find(key);
    if (at != shard.table.end() && at->second.result == result) at->second.verbatim = verbatim;
}

void LocalCache::put(Entry result, std::size_t hash, Clock::time_point expires) {
    const std::size_t bytes = bytes_of(*result);
    if (bytes > max_bytes_per_shard_) return;
    const TraceKey key(result->trace_id, hash);
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    if (const auto at = shard.table.find(key); at != shard.table.end()) {
        if (at->second.result->version > result->version) return;
        shard.erase(at);
    }
    while (shard.bytes + bytes > max_bytes_per_shard_ && !shard.oldest_first.empty()) shard.forget_oldest();
    const std::uint64_t number = ++shard.number;
    shard.oldest_first.push_back({result, hash, number});
    shard.table.emplace(key, Kept{std::move(result), expires, bytes, number});
    shard.bytes += bytes;
}

void LocalCache::drop(const TraceKey& key) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    if (const auto at = shard.table.find(key); at != shard.table.end()) shard.erase(at);
}

}  // namespace nebis::runtime
