// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include "runtime/snapshot.hpp"

#include <chrono>

namespace nebis::memory {

using runtime::BeginVerdict;
using runtime::StoreTime;

StoreTime Table::now() const {
    if (clock_) {
        const StoreMillis millis = clock_();
        return {millis, static_cast<std::uint64_t>(millis) * 1000};
    }
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
    return {micros / 1000, static_cast<std::uint64_t>(micros)};
}

Table::Shard& Table::shard_of(const Key& key) noexcept {
    // Bits that the map neither places nor tags by.
    return shards_[(key.hash >> 24) % shard_count];
}

const std::shared_ptr<const Table::Origin>& Table::Shard::origin_of(const BeginRequest& request) {
    if (!last_origin || last_origin->operation != request.operation || last_origin->instance != request.instance)
        last_origin =
            std::make_shared<const Origin>(Origin{std::string(request.operation), std::string(request.instance)});
    return last_origin;
}

Result<Record> Table::record_of(const Row& row, StoreMillis now) {
    Record record;
    if (!row.response.empty()) {
        auto response = runtime::decode_response(row.response);
        if (!response) return std::move(response).error();
        record.response = *std::move(response);
    }
    record.trace_id = row.trace_id;
    record.operation = row.origin->operation;
    record.status = row.head.status;
    record.version = row.head.version;
    record.owner = row.head.owner;
    record.attempts = row.head.attempts;
    record.request_hash = row.head.request_hash;
    record.lease_expire_time = row.head.lease_expire_time;
    record.expire_time = row.head.expire_time;
    record.create_time = row.create_time;
    record.update_time = row.head.update_time;
    record.instance = row.origin->instance;
    if (row.extras) {
        record.request_body = row.extras->request_body;
        record.outcome_ref = row.extras->outcome_ref;
    }
    record.now = now;
    return record;
}

Table::Rows::iterator Table::erase(Shard& shard, Rows::iterator at) {
    shard.version_floor = std::max(shard.version_floor, at->row->head.version);
    const auto next = std::next(at);
    shard.rows.erase(at);
    return next;
}

Result<BeginOutcome> Table::begin(const BeginRequest& request) {
    const Key key(request.trace_id);
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const StoreTime now = this->now();
    BeginOutcome out;
    out.now = now.millis;
    if (runtime::late(request, now.millis)) return out;

    auto at = shard.rows.find(key);
    const bool fresh = at == shard.rows.end();
    BeginVerdict verdict = BeginVerdict::counts_as_new;
    if (!fresh) {
        Row& row = *at->row;
        verdict = runtime::judge_begin(row.head, request, now.millis);
        if (!runtime::acquires(verdict)) {
            if (verdict == BeginVerdict::lapse) runtime::lapse_row(row.head, now);
            out = runtime::refused_begin(row.head, verdict, now.millis);
            if (out.kind != BeginOutcome::Kind::in_progress && out.kind != BeginOutcome::Kind::mismatch) {
                auto record = record_of(row, now.millis);
                if (!record) return std::move(record).error();
                out.record = *std::move(record);
            }
            return out;
        }
    }
    // What may fail for want of memory comes before what changes the row.
    std::unique_ptr<Extras> extras;
    if (!request.request_snapshot.empty())
        extras = std::make_unique<Extras>(Extras{std::string(request.request_snapshot), {}});
    std::shared_ptr<const Origin> origin = shard.origin_of(request);
    if (fresh) {
        auto row = std::make_unique<Row>();
        row->trace_id = request.trace_id;
        at = shard.rows.insert(Place{key.hash, std::move(row)}).first;
    }
    Row& row = *at->row;
    const bool counts_as_new = verdict == BeginVerdict::counts_as_new;
    row.head = runtime::begun_row(fresh ? nullptr : &row.head, verdict, request, shard.version_floor, now);
    if (counts_as_new) row.create_time = now.millis;
    row.origin = std::move(origin);
    row.extras = std::move(extras);
    row.response.clear();

    out.kind = BeginOutcome::Kind::acquired;
    out.version = row.head.version;
    out.attempts = row.head.attempts;
    out.owner = row.head.owner;
    out.took_over = verdict == BeginVerdict::take_over;
    return out;
}

Result<FinishOutcome> Table::finish(const FinishRequest& request) {
    const Key key(request.trace_id);
    Shard& shard = shard_of(key);
    FinishOutcome out;
    {
        const std::lock_guard lock(shard.mutex);
        const StoreTime now = this->now();
        out.now = now.millis;
        const auto at = shard.rows.find(key);
        if (at == shard.rows.end()) return out;
        Row& row = *at->row;
        if (!runtime::may_finish(row.head, request)) {
            auto current = record_of(row, now.millis);
            if (!current) return std::move(current).error();
            out.current = *std::move(current);
            return out;
        }
        // What may fail for want of memory comes before what changes the row.
        std::string response = request.response ? runtime::encode_response(*request.response) : std::string();
        if (!request.outcome_ref.empty()) {
            if (!row.extras) row.extras = std::make_unique<Extras>();
            row.extras->outcome_ref = request.outcome_ref;
        }
        runtime::finish_row(row.head, request, now);
        row.response = std::move(response);
        out.applied = true;
    }
    changed();
    return out;
}

Result<RenewOutcome> Table::renew(const RenewRequest& request) {
    const Key key(request.trace_id);
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const StoreTime now = this->now();
    const auto at = shard.rows.find(key);
    RenewOutcome out;
    out.now = now.millis;
    if (at == shard.rows.end() || !runtime::may_renew(at->row->head, request, now.millis)) return out;
    runtime::renew_row(at->row->head, request, now);
    out.kind = RenewOutcome::Kind::renewed;
    return out;
}

Result<FindOutcome> Table::find(const FindRequest& request) {
    const Key key(request.trace_id);
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    FindOutcome out;
    out.now = now().millis;
    if (const auto at = shard.rows.find(key); at != shard.rows.end()) {
        auto record = record_of(*at->row, out.now);
        if (!record) return std::move(record).error();
        out.record = *std::move(record);
    }
    return out;
}

Result<std::vector<Record>> Table::recover(const RecoverRequest& request) {
    std::vector<Record> moved;
    for (Shard& shard : shards_) {
        const std::lock_guard lock(shard.mutex);
        const StoreTime now = this->now();
        for (const Place& place : shard.rows) {
            Row& row = *place.row;
            if (moved.size() >= request.limit) break;
            if (!runtime::may_recover(row.head, request, now.millis)) continue;
            if (!request.own_instance.empty() && row.origin->instance != request.own_instance) continue;
            runtime::lapse_row(row.head, now);
            auto record = record_of(row, now.millis);
            if (!record) return std::move(record).error();
            moved.push_back(*std::move(record));
        }
    }
    if (!moved.empty()) changed();
    return moved;
}

std::size_t Table::clean(const CleanRequest& request) {
    // Each call goes on where the last one stopped, so that deleting much in small batches reads each shard once.
    std::size_t deleted = 0;
    for (std::size_t step = 0; step < shard_count && deleted < request.limit; ++step) {
        Shard& shard = shards_[next_to_clean_.load() % shard_count];
        const std::lock_guard lock(shard.mutex);
        const StoreMillis now = this->now().millis;
        for (auto at = shard.rows.begin(); at != shard.rows.end() && deleted < request.limit;) {
            const bool over = runtime::may_clean(at->row->head, now);
            deleted += over ? 1 : 0;
            at = over ? erase(shard, at) : std::next(at);
        }
        if (deleted < request.limit) ++next_to_clean_;
    }
    return deleted;
}

bool Table::purge(std::string_view trace_id, std::uint64_t version) {
    {
        const Key key(trace_id);
        Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        const auto at = shard.rows.find(key);
        if (at == shard.rows.end() || at->row->head.version != version) return false;
        erase(shard, at);
    }
    changed();
    return true;
}

std::string Table::key_rule(std::string_view operation, std::string_view digest, bool accept) {
    const std::lock_guard lock(rules_mutex_);
    const auto [at, fresh] = rules_.try_emplace(std::string(operation), digest);
    if (!fresh && accept) at->second = digest;
    return at->second;
}

void Table::changed() {
    ++changes_;
    if (waiting_.load() == 0) return;
    const std::lock_guard lock(change_mutex_);
    change_.notify_all();
}

bool Table::wait_for_change(Deadline deadline) {
    std::unique_lock lock(change_mutex_);
    ++waiting_;
    const bool came = change_.wait_until(lock, deadline, [this] { return changes_.load() != seen_; });
    --waiting_;
    seen_ = changes_.load();
    return came;
}

}  // namespace nebis::memory
