// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <algorithm>
#include <limits>

/// What begin, finish, renew, recover and clean decide about one row: the rules of store.hpp as plain functions, for
/// the stores that read a row, decide, and write it back while nobody else can (memory under its mutex, SQLite under
/// its write lock). A store that decides inside its SQL statement says the same thing there; the conformance suite
/// holds both to it.
namespace nebis::runtime {

/// The columns that decide.
struct RowHead {
    RecordStatus status = RecordStatus::processing;
    std::uint64_t version = 0;
    Owner owner;
    std::uint32_t attempts = 1;
    RequestHash request_hash;
    StoreMillis lease_expire_time = 0;
    StoreMillis expire_time = 0;
    StoreMillis update_time = 0;
};

/// One reading of the store's clock.
struct StoreTime {
    StoreMillis millis = 0;
    std::uint64_t micros = 0;
};

enum class BeginVerdict : std::uint8_t {
    counts_as_new,  ///< final and expired: written over, attempts start again
    run_again,      ///< FAIL
    take_over,      ///< its owner had not finished
    lapse,          ///< its lease is over and nobody may take it over: write UNKNOWN, answer `unknown`
    in_progress,
    finished,
    mismatch,
    unknown,
    other_scheme,
};

/// A row without a lease (0: written by an older version, or by hand) is held until its own retention ends, never free
/// at once (C13).
inline StoreMillis lease_end(const RowHead& row) noexcept {
    if (row.lease_expire_time > 0) return row.lease_expire_time;
    return row.expire_time > 0 ? row.expire_time : std::numeric_limits<StoreMillis>::max();
}
inline bool lease_over(const RowHead& row, StoreMillis now) noexcept { return lease_end(row) <= now; }
inline bool retention_over(const RowHead& row, StoreMillis now) noexcept { return row.expire_time <= now; }

inline bool late(const BeginRequest& request, StoreMillis now) noexcept {
    return request.not_after != 0 && now > request.not_after;
}

inline BeginVerdict judge_begin(const RowHead& row, const BeginRequest& request, StoreMillis now) noexcept {
    if (is_final(row.status) && retention_over(row, now)) return BeginVerdict::counts_as_new;
    if (row.request_hash.scheme != request.request_hash.scheme) return BeginVerdict::other_scheme;
    if (row.request_hash != request.request_hash) return BeginVerdict::mismatch;
    switch (row.status) {
        case RecordStatus::processing:
            if (!lease_over(row, now)) return BeginVerdict::in_progress;
            if (request.take_over_lease) return BeginVerdict::take_over;
            return request.lapse ? BeginVerdict::lapse : BeginVerdict::in_progress;
        case RecordStatus::fail: return BeginVerdict::run_again;
        case RecordStatus::unknown: {
            const bool forgotten =
                request.unknown_retention_millis > 0 && row.expire_time + request.unknown_retention_millis <= now;
            return request.take_over_unknown || forgotten ? BeginVerdict::take_over : BeginVerdict::unknown;
        }
        case RecordStatus::success:
        case RecordStatus::rejected:
        case RecordStatus::marked: break;
    }
    return BeginVerdict::finished;
}

inline bool acquires(BeginVerdict verdict) noexcept { return verdict <= BeginVerdict::take_over; }

/// ◆ The fencing token grows at every take-over and over deletes; `floor` is the greatest version that a deleted row
/// had.
inline std::uint64_t next_version(std::uint64_t row_version, std::uint64_t floor, const StoreTime& now) noexcept {
    return std::max({row_version + 1, floor + 1, now.micros});
}

/// The row after an insert (`existing` null) or a take-over.
inline RowHead begun_row(const RowHead* existing, BeginVerdict verdict, const BeginRequest& request,
                         std::uint64_t floor, const StoreTime& now) noexcept {
    RowHead row;
    row.status = request.status;
    row.version = next_version(existing ? existing->version : 0, floor, now);
    row.owner = request.owner;
    row.attempts = existing && verdict != BeginVerdict::counts_as_new ? existing->attempts + 1 : 1;
    row.request_hash = request.request_hash;
    row.lease_expire_time = request.status == RecordStatus::marked ? 0 : now.millis + request.lease_millis;
    row.expire_time = std::max(now.millis + request.retention_millis, row.lease_expire_time);
    row.update_time = now.millis;
    return row;
}

/// `record` is left out where the verdict needs none.
inline BeginOutcome refused_begin(const RowHead& row, BeginVerdict verdict, StoreMillis now) {
    BeginOutcome out;
    out.now = now;
    out.version = row.version;
    out.attempts = row.attempts;
    switch (verdict) {
        case BeginVerdict::in_progress:
            out.kind = BeginOutcome::Kind::in_progress;
            out.owner = row.owner;
            out.remaining_millis = row.lease_expire_time > now ? row.lease_expire_time - now : 0;
            break;
        case BeginVerdict::finished: out.kind = BeginOutcome::Kind::finished; break;
        case BeginVerdict::lapse:
        case BeginVerdict::unknown: out.kind = BeginOutcome::Kind::unknown; break;
        case BeginVerdict::other_scheme: out.kind = BeginOutcome::Kind::other_scheme; break;
        default: out.kind = BeginOutcome::Kind::mismatch; break;
    }
    return out;
}

inline bool may_finish(const RowHead& row, const FinishRequest& request) noexcept {
    if (row.version != request.version || row.owner != request.owner) return false;
    switch (row.status) {
        case RecordStatus::processing: return request.from_processing;
        case RecordStatus::unknown: return request.from_unknown;
        case RecordStatus::marked: return request.from_marked;
        default: return false;
    }
}

/// The lease is over and the owner has not finished: recovery, or `lapse` of a begin.
inline void lapse_row(RowHead& row, const StoreTime& now) noexcept {
    row.status = RecordStatus::unknown;
    row.update_time = now.millis;
}

/// Finishing ends the lease, so that an asker of an UNKNOWN row need not wait for the rest of it; PROCESSING over
/// PROCESSING keeps it.
inline void finish_row(RowHead& row, const FinishRequest& request, const StoreTime& now) noexcept {
    row.status = request.status;
    if (request.status != RecordStatus::processing) row.lease_expire_time = now.millis;
    row.expire_time = std::max(now.millis + request.retention_millis, row.lease_expire_time);
    row.update_time = now.millis;
    if (request.new_owner) row.owner = *request.new_owner;
}

/// A late renewal of a row that is still PROCESSING and still ours succeeds: nobody took it over, so nothing was lost.
/// That is what lets owners live through a store that was away, or locked by one long transaction, for more than a
/// lease.
inline bool may_renew(const RowHead& row, const RenewRequest& request, StoreMillis now) noexcept {
    if (row.version != request.version || row.owner != request.owner) return false;
    if (!request.ask) return row.status == RecordStatus::processing;
    return row.status == RecordStatus::unknown && row.lease_expire_time <= now;
}

inline void renew_row(RowHead& row, const RenewRequest& request, const StoreTime& now) noexcept {
    row.lease_expire_time = now.millis + request.lease_millis;
    row.expire_time = std::max(row.expire_time, row.lease_expire_time);
    row.update_time = now.millis;
}

inline bool may_recover(const RowHead& row, const RecoverRequest& request, StoreMillis now) noexcept {
    return row.status == RecordStatus::processing && lease_over(row, now) &&
           row.update_time + request.min_age_millis <= now;
}

inline bool may_clean(const RowHead& row, StoreMillis now) noexcept {
    return is_final(row.status) && retention_over(row, now);
}

}  // namespace nebis::runtime
