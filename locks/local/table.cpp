// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <algorithm>

namespace nebis::local {

using std::chrono::milliseconds;

namespace {

/// 1 when less than a millisecond is left: 0 would read as "free".
std::int64_t rest(Time until, Time now) {
    return std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(until - now).count(), 1);
}

}  // namespace

Table::Table(Options options)
    : options_(std::move(options)), results_per_shard_((options_.results + shard_count - 1) / shard_count) {}

Table::Shard& Table::shard_of(std::string_view name) { return shards_[(Hash{}(name) >> 24) % shard_count]; }

void Table::sweep(Shard& shard, Time now) {
    // Locks whose owner died are dropped when the shard has doubled since the last look: a constant cost per lock.
    if (shard.locks.size() < shard.sweep_at) return;
    std::erase_if(shard.locks, [now](const auto& entry) { return entry.second.until <= now; });
    shard.sweep_at = std::max<std::size_t>(64, shard.locks.size() * 2);
}

void Table::drop_result(Shard& shard, std::string_view name) {
    const auto at = shard.by_key.find(name);
    if (at == shard.by_key.end()) return;
    const auto kept = at->second;
    shard.by_key.erase(at);
    shard.results.erase(kept);
}

void Table::keep(Shard& shard, const CachedResult& result, std::int64_t ttl_millis, Time now) {
    const milliseconds life = std::min(options_.result_life, milliseconds(ttl_millis));
    drop_result(shard, result.trace_id);
    if (results_per_shard_ == 0 || life <= milliseconds::zero() || !is_terminal(result.status)) return;
    shard.results.push_front({result, now + life});
    shard.by_key.emplace(shard.results.front().result.trace_id, shard.results.begin());
    if (shard.results.size() > results_per_shard_)
        drop_result(shard, std::string(shard.results.back().result.trace_id));
}

EnterOutcome Table::enter(const EnterRequest& request) {
    Shard& shard = shard_of(request.trace_id);
    const std::lock_guard guard(shard.mutex);
    const Time now = this->now();
    EnterOutcome out;
    if (const auto at = shard.by_key.find(request.trace_id); at != shard.by_key.end()) {
        if (at->second->until <= now) {
            drop_result(shard, request.trace_id);
        } else if (at->second->result.request_hash == request.request_hash) {
            out.kind = EnterOutcome::Kind::finished;
            out.result = at->second->result;
            return out;
        }
    }
    auto held = shard.locks.find(request.trace_id);
    if (held != shard.locks.end() && held->second.until > now && held->second.owner != request.owner) {
        out.kind = EnterOutcome::Kind::held;
        out.remaining_millis = rest(held->second.until, now);
        return out;
    }
    if (held == shard.locks.end()) {
        sweep(shard, now);
        held = shard.locks.emplace(request.trace_id, Held{}).first;
    }
    held->second = {request.owner, now + milliseconds(request.lease_millis)};
    return out;
}

bool Table::leave(const LeaveRequest& request) {
    Shard& shard = shard_of(request.trace_id);
    const std::lock_guard guard(shard.mutex);
    const Time now = this->now();
    const auto held = shard.locks.find(request.trace_id);
    if (held == shard.locks.end() || held->second.owner != request.owner || held->second.until <= now) return false;
    shard.locks.erase(held);
    if (request.result) keep(shard, *request.result, request.result_ttl_millis, now);
    return true;
}

bool Table::renew(std::string_view name, const Owner& owner, std::int64_t lease_millis) {
    Shard& shard = shard_of(name);
    const std::lock_guard guard(shard.mutex);
    const Time now = this->now();
    const auto held = shard.locks.find(name);
    if (held == shard.locks.end() || held->second.owner != owner || held->second.until <= now) return false;
    held->second.until = now + milliseconds(lease_millis);
    return true;
}

void Table::evict(std::string_view name, const Owner* take, std::int64_t lease_millis) {
    Shard& shard = shard_of(name);
    const std::lock_guard guard(shard.mutex);
    drop_result(shard, name);
    const auto held = shard.locks.find(name);
    if (take) {
        const Held taken{*take, now() + milliseconds(lease_millis)};
        if (held != shard.locks.end())
            held->second = taken;
        else
            shard.locks.emplace(name, taken);
    } else if (held != shard.locks.end()) {
        shard.locks.erase(held);
    }
}

}  // namespace nebis::local
