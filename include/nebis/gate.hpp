// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/standard.hpp"
#include "nebis/store.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The gate: what stands in front of the store to make it fast. It is a hint, never the truth: whatever a gate says or
/// forgets, no two attempts both count. Source: protocol, steps 2 and 5.
namespace nebis {

/// A finished result as a gate may answer it. Only SUCCESS and REJECTED are ever cached.
struct CachedResult {
    RecordStatus status = RecordStatus::success;
    std::uint64_t version = 0;
    std::uint32_t attempts = 0;
    RequestHash request_hash;
    std::string trace_id;  ///< checked after reading: a connection mix-up must never replay somebody else's answer
    Response response;
};

struct EnterRequest {
    std::string_view trace_id;
    Owner owner;
    RequestHash request_hash;
    std::int64_t lease_millis = 0;
    std::string_view key = {};  ///< as the client gave it, for gates that others share: never log it
};

struct EnterOutcome {
    enum class Kind : std::uint8_t { granted, held, finished };
    Kind kind = Kind::granted;
    std::int64_t remaining_millis = 0;   ///< held
    std::optional<CachedResult> result;  ///< finished; scope and hash fit
    bool unreadable_result = false;  ///< granted, held: a damaged or foreign result stood there; as if there were none
};

/// Drop the lock if it is ours; and, only if it is ours, keep the result.
struct LeaveRequest {
    std::string_view trace_id;
    Owner owner;
    const CachedResult* result = nullptr;  ///< null: nothing to keep
    std::int64_t result_ttl_millis = 0;    ///< ≤ rest of the retention − lock time
    std::string_view key = {};
};

struct LockRenewRequest {
    std::string_view trace_id;
    Owner owner;
    std::int64_t lease_millis = 0;
    std::string_view key = {};
};

/// **Threads**: one at a time. Same promises as StoreSession: every `out` set, nothing thrown, deadline kept.
class GateSession {
public:
    virtual ~GateSession() = default;
    virtual void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline deadline) = 0;
    /// True: the lock was ours and is gone. False: it wasn't ours, and nothing was kept.
    virtual void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline deadline) = 0;
    virtual void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline deadline) = 0;
    /// The operator's steps A (`take`: drop the result, take the lock unconditionally) and C (drop both).
    virtual Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                               Deadline deadline) = 0;
};

/// Hears of others that leave (S54). **Threads**: one at a time.
class GateWatch {
public:
    virtual ~GateWatch() = default;
    /// True: somebody has left since the last call. False: nobody until the deadline. Messages may get lost, so whoever
    /// waits looks for itself from time to time. **Errors**: as a session's; then this watch is spent.
    virtual Result<bool> wait(Deadline deadline) = 0;
};

struct GateTraits {
    std::size_t max_sessions = 1;
    std::size_t batch_max = 64;
    bool in_process = false;  ///< answers at once from memory: called directly, without a queue
    /// It stands for others who don't know the record table, so nobody may run without its word: operations with
    /// `fail-open` are refused.
    bool keeps_others_out = false;
};

class Gate {
public:
    virtual ~Gate() = default;
    virtual std::string_view name() const noexcept = 0;
    virtual GateTraits traits() const noexcept = 0;
    virtual Result<std::unique_ptr<GateSession>> open(Deadline deadline) = 0;
    /// Null: this gate tells nobody. The default.
    virtual Result<std::unique_ptr<GateWatch>> watch(Deadline deadline);
};

/// The article's extension point: a lock with a time limit. Implement this for a new lock service and `compose` it.
/// **Threads**: safe.
class Lock {
public:
    virtual ~Lock() = default;
    virtual std::string_view name() const noexcept = 0;
    /// 0: acquired. > 0: somebody else holds it for that many milliseconds more (1 when not known).
    virtual Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                                         Deadline deadline) = 0;
    virtual Result<bool> renew(std::string_view name, const Owner& owner, std::int64_t lease_millis,
                               Deadline deadline) = 0;
    virtual Result<bool> release(std::string_view name, const Owner& owner, Deadline deadline) = 0;
    /// Answers at once from memory.
    virtual bool in_process() const noexcept { return false; }
};

/// Finished results by trace id. **Threads**: safe.
class ResultCache {
public:
    virtual ~ResultCache() = default;
    virtual Result<std::optional<CachedResult>> get(std::string_view trace_id, Deadline deadline) = 0;
    virtual Result<void> put(const CachedResult& result, std::int64_t ttl_millis, Deadline deadline) = 0;
    virtual Result<void> evict(std::string_view trace_id, Deadline deadline) = 0;
};

/// A gate made of a lock, and of a result cache if given. The composition keeps the gate's rules: a result is put only
/// while the lock is ours. The cache gets half of a call's time, so that one that hangs leaves the lock its own.
std::shared_ptr<Gate> compose(std::shared_ptr<Lock> lock, std::shared_ptr<ResultCache> cache = nullptr);

}  // namespace nebis
