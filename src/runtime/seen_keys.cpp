// SPDX-License-Identifier: Apache-2.0
#include "runtime/seen_keys.hpp"

#include <bloom.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nebis::runtime {
namespace {

constexpr double wrongly_met = 0.01;
constexpr std::size_t fewest = 1'000;  // the library takes no fewer

/// One filter of the library's; it can add and look, but not forget.
struct Filter {
    Filter() = default;
    ~Filter() { bloom_free(&bloom); }
    Filter(const Filter&) = delete;
    Filter& operator=(const Filter&) = delete;

    bool make(std::size_t keys) { return bloom_init(&bloom, static_cast<int>(keys), wrongly_met) == 0; }
    bool holds(std::string_view key) { return bloom_check(&bloom, key.data(), static_cast<int>(key.size())) == 1; }
    /// True: it was new.
    bool add(std::string_view key) { return bloom_add(&bloom, key.data(), static_cast<int>(key.size())) == 0; }

    ::bloom bloom{};
};

}  // namespace

/// Two generations, because a filter can't forget: when the younger one is full, the older one is emptied and begins
/// anew as the younger. So neither memory nor the share of wrong answers grows.
struct alignas(64) SeenKeys::Shard {
    std::mutex mutex;
    std::array<Filter, 2> generations;
    std::size_t young = 0;
    std::size_t added = 0;
};

SeenKeys::SeenKeys(std::size_t keys) {
    if (keys == 0) return;
    const std::size_t each = std::max(fewest, (keys + shard_count - 1) / shard_count);
    shards_ = std::make_unique<Shard[]>(shard_count);
    for (std::size_t i = 0; i < shard_count; ++i)
        for (auto& generation : shards_[i].generations) ready_ = ready_ && generation.make(each);
}

SeenKeys::~SeenKeys() = default;

bool SeenKeys::meet(const TraceKey& key) {
    Shard& shard = shards_[key.shard(shard_count)];
    const std::lock_guard lock(shard.mutex);
    const bool older = shard.generations[1 - shard.young].holds(key.text);
    if (!shard.generations[shard.young].add(key.text)) return true;
    if (++shard.added >= static_cast<std::size_t>(shard.generations[shard.young].bloom.entries)) {
        shard.young = 1 - shard.young;
        shard.added = 0;
        bloom_reset(&shard.generations[shard.young].bloom);
    }
    return older;
}

std::size_t SeenKeys::bytes() const noexcept {
    std::size_t sum = 0;
    for (std::size_t i = 0; on() && i < shard_count; ++i)
        for (const auto& generation : shards_[i].generations) sum += static_cast<std::size_t>(generation.bloom.bytes);
    return sum;
}

}  // namespace nebis::runtime
