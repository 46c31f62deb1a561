// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/answer.hpp"
#include "nebis/error.hpp"
#include "nebis/standard.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The store: where records live, and the only arbiter. This header is the contract that a driver implements and that
/// the conformance suite (nebis::conformance) checks. Source of every rule: the protocol's "Principle", "States" and
/// "The five steps".
namespace nebis {

/// Monotonic deadline of a call into a driver. A driver that can't keep it answers `unavailable` (surely not applied)
/// or `maybe_applied`, never blocks for ever.
using Deadline = std::chrono::steady_clock::time_point;

/// Milliseconds since the Unix epoch, UTC, by the *store's* clock. Only this clock decides leases and retention.
using StoreMillis = std::int64_t;

/// Column `status`. The numbers are stored and never change.
enum class RecordStatus : std::uint8_t { processing = 0, success = 1, fail = 2, rejected = 3, unknown = 4, marked = 5 };

std::string_view to_string(RecordStatus status) noexcept;
constexpr bool is_final(RecordStatus s) noexcept {
    return s == RecordStatus::success || s == RecordStatus::rejected || s == RecordStatus::fail ||
           s == RecordStatus::marked;
}
constexpr bool is_terminal(RecordStatus s) noexcept {
    return s == RecordStatus::success || s == RecordStatus::rejected;
}

/// 128 random bits, new for each attempt.
struct Owner {
    std::array<unsigned char, 16> bytes{};
    friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// Hash of the canonical request and the scheme that made it. Hashes of different schemes never compare equal.
struct RequestHash {
    std::uint8_t scheme = 0;
    std::array<unsigned char, 32> digest{};
    friend auto operator<=>(const RequestHash&, const RequestHash&) = default;
};

/// One row.
struct Record {
    std::string trace_id;
    std::string operation;  ///< column `biz_type`
    RecordStatus status = RecordStatus::processing;
    std::uint64_t version = 0;  ///< fencing token
    Owner owner;
    std::uint32_t attempts = 1;
    RequestHash request_hash;
    StoreMillis lease_expire_time = 0;
    StoreMillis expire_time = 0;  ///< end of retention; renewals keep it ≥ lease_expire_time
    StoreMillis create_time = 0;
    StoreMillis update_time = 0;
    std::string instance;
    std::string request_body;          ///< snapshot, may be empty
    std::optional<Response> response;  ///< for SUCCESS and REJECTED
    std::string outcome_ref;           ///< `hooked`: the coordinator's transaction id
    StoreMillis now = 0;               ///< store clock when it was read; not a column
};

// ---- begin

/// Win the right to execute: insert PROCESSING (or MARKED); on a conflict with *our* index take over when the row
///  · is FAIL, or
///  · is final and past `expire_time`, or
///  · is PROCESSING with its lease over and `take_over_lease`, or
///  · is UNKNOWN and `take_over_unknown`, or UNKNOWN and past `expire_time` + `unknown_retention_millis` (when > 0),
/// and — unless it is final and past `expire_time`, when it counts as new — its request hash equals `request_hash`.
/// A take-over writes version = max(version + 1, store clock in µs), the new owner, attempts + 1 (1 when it counts as
/// new), the new lease, clears the response. An insert writes version = store clock in µs. Both set expire_time = now +
/// retention.
struct BeginRequest {
    std::string_view trace_id;
    std::string_view operation;
    Owner owner;
    RequestHash request_hash;
    RecordStatus status = RecordStatus::processing;  ///< or `marked`; a MARKED row has no lease
    std::int64_t lease_millis = 0;
    std::int64_t retention_millis = 0;
    std::int64_t unknown_retention_millis = 0;  ///< 0: an UNKNOWN row stays until settled
    bool take_over_lease = false;
    bool take_over_unknown = false;
    bool lapse = false;         ///< a PROCESSING row with its lease over that isn't taken over becomes UNKNOWN here
                                ///< (the lazy path of recovery, same compare-and-set): outcome `unknown`
    StoreMillis not_after = 0;  ///< arriving later, by the store's clock, it changes nothing; 0 = no bound (tests only)
    std::string_view instance;
    std::string_view request_snapshot;
};

struct BeginOutcome {
    enum class Kind : std::uint8_t {
        acquired,      ///< the row is now ours: `version`, `attempts`
        in_progress,   ///< PROCESSING of somebody (perhaps of ours: compare `owner`); or the row is locked by somebody
                       ///< alive
        finished,      ///< SUCCESS, REJECTED or MARKED inside its retention, hash fits: `record`
        mismatch,      ///< a row that counts, written for another request
        unknown,       ///< UNKNOWN, hash fits, not taken over: `record`
        other_scheme,  ///< the row's hash was made by scheme `record->request_hash.scheme`: hash again with that and
                       ///< begin again
        late,          ///< `not_after` had passed; nothing changed
    };
    Kind kind = Kind::late;
    std::uint64_t version = 0;  ///< acquired: the new one; else the found row's (a holder that is us goes on with it)
    std::uint32_t attempts = 0;
    Owner owner;                        ///< in_progress: the holder
    std::int64_t remaining_millis = 0;  ///< in_progress: rest of the holder's lease, ≥ 0; 0 when over or not known
    std::optional<Record> record;       ///< finished, unknown, other_scheme
    bool took_over = false;  ///< acquired by taking over a row whose owner had not finished (metric `recoveries`)
    StoreMillis now = 0;     ///< store clock of the decision
};

// ---- finish

/// Compare-and-set on (trace_id, version, owner, status ∈ from): write `status`, the response, expire_time = store
/// clock + retention. Give-back (to FAIL) and settling an UNKNOWN row are finishes too. `hooked` writes PROCESSING over
/// PROCESSING to keep `outcome_ref` and the response before the coordinator commits; the lease stays as it is.
struct FinishRequest {
    std::string_view trace_id;
    std::uint64_t version = 0;
    Owner owner;
    RecordStatus status = RecordStatus::success;
    bool from_processing = true;
    bool from_unknown = true;
    bool from_marked = false;            ///< `mark`: a handler that never started
    const Response* response = nullptr;  ///< null: none kept
    std::int64_t retention_millis = 0;
    std::string_view outcome_ref;    ///< `hooked`; empty leaves the column alone
    std::optional<Owner> new_owner;  ///< an operator's or asker's write replaces the owner
};

struct FinishOutcome {
    bool applied = false;
    std::optional<Record> current;  ///< not applied: the row as a fresh read shows it; empty when there is none
    StoreMillis now = 0;
};

// ---- renew, find, upkeep

/// Prolong a lease: compare-and-set on (trace_id, version, owner, PROCESSING), lease = store clock + lease_millis,
/// expire_time = max(expire_time, new lease). A late renewal of a row that is still the same succeeds: nobody took it
/// over. With `ask`, on (…, UNKNOWN, lease over): the asker reserves the row, so that one asks.
struct RenewRequest {
    std::string_view trace_id;
    std::uint64_t version = 0;
    Owner owner;
    std::int64_t lease_millis = 0;
    bool ask = false;
};

struct RenewOutcome {
    enum class Kind : std::uint8_t { renewed, lost, locked };  ///< locked: a transaction holds the row, so it is alive
    Kind kind = Kind::lost;
    StoreMillis now = 0;
};

struct FindRequest {
    std::string_view trace_id;
};
struct FindOutcome {
    std::optional<Record> record;
    StoreMillis now = 0;
};

/// Scheduled recovery: PROCESSING with the lease over for `min_overdue_millis` and untouched for `min_age_millis` →
/// UNKNOWN.
struct RecoverRequest {
    std::size_t limit = 100;
    std::int64_t min_age_millis = 0;
    std::string_view own_instance = {};  ///< not empty: only rows of this instance
};

/// Clean-up: delete final rows past expire_time, at most `limit`. UNKNOWN rows are never deleted by it.
struct CleanRequest {
    std::size_t limit = 500;
};

struct StoreTraits {
    std::size_t max_sessions = 2;  ///< more than this only starve each other
    std::size_t batch_max = 64;
    bool one_commit_for_begin_and_finish = false;  ///< `write` commits once, and can't deadlock with another one
    bool durable = true;                           ///< survives the process
    bool shared = true;                            ///< other processes see it
    bool in_process = false;                       ///< answers at once from memory: called directly, without a queue
};

/// One connection. **Threads**: one thread at a time, not always the same.
///
/// Core promises: keys unique and sorted by bytes in each span, `out.size() == in.size()`, batches ≤ batch_max.
/// A driver promises: every element of `out` is set when the call returns; one bad row harms no other; what is reported
/// as done is durable; a method that can't tell says `maybe_applied` for each row concerned; nothing is thrown; the
/// deadline is kept. Batches never wait for a row lock: such a row is `in_progress` / `locked` / skipped.
class StoreSession {
public:
    virtual ~StoreSession() = default;

    virtual void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) = 0;
    virtual void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) = 0;
    /// Finishes and begins together; by default two commits, one where the trait says so. Finishes count as first.
    virtual void write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished,
                       std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun, Deadline deadline) {
        if (!finishes.empty()) finish(finishes, finished, deadline);
        if (!begins.empty()) begin(begins, begun, deadline);
    }
    virtual void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) = 0;
    virtual void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) = 0;
    /// The rows moved to UNKNOWN, as they are after the move.
    virtual Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) = 0;
    /// How many rows were deleted.
    virtual Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) = 0;
    /// Delete one row by (trace_id, version), whatever its status; true when it was there. For operators only.
    virtual Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) = 0;
    /// The store's clock.
    virtual Result<StoreMillis> now(Deadline deadline) = 0;
    /// S64: remember the digest of an operation's key rule if none is there (or `accept`); answer the digest that now
    /// stands.
    virtual Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                         Deadline deadline) = 0;
};

/// A record table (one operation's or everybody's). **Threads**: safe.
class Store {
public:
    virtual ~Store() = default;
    /// Driver name ("sqlite"), for messages and metrics.
    virtual std::string_view name() const noexcept = 0;
    virtual StoreTraits traits() const noexcept = 0;
    /// Check what a start needs: reachable, table and index there and as they must be. **Errors**: `misconfigured` with
    /// the step that mends it.
    virtual Result<void> verify(Deadline deadline) = 0;
    /// What an operator should know about a store that `verify` accepted, a sentence each: shown by
    /// `Engine::warnings()` and logged once. Asked after `verify`; never waits.
    virtual std::vector<std::string> cautions() const { return {}; }
    /// Make the table if it is missing (only when asked by the settings).
    virtual Result<void> create_schema(Deadline deadline) = 0;
    virtual Result<std::unique_ptr<StoreSession>> open(Deadline deadline) = 0;
    /// Wait until another process may have changed something, or the deadline. Spurious returns are fine. True: maybe
    /// changed. The default can't tell: it sleeps a short step. Called by one thread at a time.
    virtual bool wait_for_change(Deadline deadline);
    /// True inside an `atomic` body when every other write to this store would wait for that very transaction (SQLite
    /// has one writer): a protected call made there is refused at once instead of waiting for itself. Asked on the
    /// calling thread before it queues.
    virtual bool waits_for_this_thread() const noexcept { return false; }
};

}  // namespace nebis
