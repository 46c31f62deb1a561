// SPDX-License-Identifier: Apache-2.0
#include "runtime/flights.hpp"

#include "runtime/call.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {

Flights::Entry Flights::enter(Call& call, const TraceKey& key, const RequestHash& hash, bool patient) {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto [place, inserted] = shard.flights.try_emplace(key);
    Flight& flight = place->second;
    if (inserted) {
        flight.leader = &call;
        flight.hash = hash;
        return Entry::leads;
    }
    if (flight.hash != hash) return Entry::alone;
    if (flight.running && !patient) return Entry::busy;
    if (flight.joiners.size() >= max_waiting_per_key || waiting() >= max_waiting_) return Entry::full;
    flight.joiners.push_back({call.shared_from_this(), patient});
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return Entry::joined;
}

std::vector<std::shared_ptr<Call>> Flights::running(const TraceKey& key, const Call* leader) {
    std::vector<std::shared_ptr<Call>> impatient;
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto place = shard.flights.find(key);
    if (place == shard.flights.end() || place->second.leader != leader) return impatient;
    place->second.running = true;
    std::erase_if(place->second.joiners, [&](Joiner& joiner) {
        if (joiner.patient) return false;
        impatient.push_back(std::move(joiner.call));
        return true;
    });
    if (!impatient.empty()) waiting_.fetch_sub(impatient.size(), std::memory_order_relaxed);
    return impatient;
}

std::vector<std::shared_ptr<Call>> Flights::landed(const TraceKey& key, const Call* leader) {
    std::vector<std::shared_ptr<Call>> all;
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto place = shard.flights.find(key);
    if (place == shard.flights.end() || place->second.leader != leader) return all;
    all.reserve(place->second.joiners.size());
    for (Joiner& joiner : place->second.joiners) all.push_back(std::move(joiner.call));
    shard.flights.erase(place);
    if (!all.empty()) waiting_.fetch_sub(all.size(), std::memory_order_relaxed);
    return all;
}

bool Flights::go(const TraceKey& key, const Call* joiner) {
    std::shared_ptr<Call> dropped;
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto place = shard.flights.find(key);
    if (place == shard.flights.end()) return false;
    auto& joiners = place->second.joiners;
    const auto found =
        std::find_if(joiners.begin(), joiners.end(), [&](const Joiner& one) { return one.call.get() == joiner; });
    if (found == joiners.end()) return false;
    dropped = std::move(found->call);
    joiners.erase(found);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

}  // namespace nebis::runtime
