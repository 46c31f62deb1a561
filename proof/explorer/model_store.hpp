// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "nebis/store.hpp"

#include <algorithm>
#include <cstdint>

/// One row with the semantics of include/nebis/store.hpp, as small and as plain as they can be written. No key, no
/// bytes: an owner is a number, a request hash is a number, a response is the version of the attempt that made it.
namespace nebis::explore {

using Tick = std::int16_t;  ///< milliseconds of the small world
using Who = std::int8_t;    ///< an attempt's owner; the index of the request

inline constexpr Who nobody = -1;
inline constexpr Who operators = -2;  ///< an operator or an asker wrote
/// Marks a response that an operator or a resolver made for the attempt with the version in the low bits.
inline constexpr std::uint8_t settled = 0x80;

/// Deliberate defects. The explorer must convict each of them; `none` must be acquitted.
enum class Flaw : std::uint8_t {
    none,
    finish_forgets_version,
    takes_over_in_hold,
    leave_forgets_owner,
    keeps_the_claim,
    forgets_not_after,
    starts_without_lease,
    forgets_own_insert,
    prefers_own_answer,
    disproves_by_reading,
    purges_without_lock,
    forgets_version_at_delete,
    retakes_fail_blindly,
    cache_ignores_hash,
    recovery_sets_fail,
    commit_without_fence,
    caches_failures,
    settles_without_proof,
    settles_without_version,
    calls_doubt_a_failure,
    hook_forgets_reference,
};

struct Row {
    bool exists = false;
    RecordStatus status = RecordStatus::processing;
    std::uint8_t version = 0;
    Who owner = nobody;
    std::uint8_t hash = 0;
    std::uint8_t response = 0;    ///< 0: none
    std::uint8_t generation = 0;  ///< counts the times the key began as new; not a column, for the checks only
    bool reference = false;       ///< `hooked`: outcome_ref is written
    Tick lease = 0;
    Tick expire = 0;

    bool lease_over(Tick now) const { return now >= lease; }
    bool expired(Tick now) const { return is_final(status) && now >= expire; }
};

struct BeginAsk {
    Who owner = nobody;
    std::uint8_t hash = 0;
    bool mark = false;
    bool take_over_lease = false;
    bool take_over_unknown = false;
    bool lapse = false;
    Tick not_after = 0;  ///< 0: no bound
};

struct Begun {
    BeginOutcome::Kind kind = BeginOutcome::Kind::late;
    Row row{};  ///< acquired: the new one; else the one that was found
    bool ours = false;
    bool as_new = false;     ///< acquired: the key counts as new
    bool took_over = false;  ///< acquired from an attempt that had not finished
    Tick remaining = 0;
};

struct FinishAsk {
    Who owner = nobody;
    std::uint8_t version = 0;
    RecordStatus status = RecordStatus::success;
    std::uint8_t response = 0;
    bool from_processing = true;
    bool from_unknown = true;
    bool from_marked = false;
    bool any_owner = false;  ///< the driver read the owner together with the version
    bool new_owner = false;
    bool reference = false;
};

class ModelStore {
public:
    Row row{};
    std::uint8_t last_version = 0;     ///< the store's clock in µs: grows over deletes too
    std::uint8_t last_generation = 0;  ///< for the checks
    Who locked_by = nobody;            ///< a transaction holds the row (or its index entry)

    Begun begin(const BeginAsk& ask, Tick now, Tick lease, Tick retention, Flaw flaw = Flaw::none);
    /// Like begin, but leaves the row alone: the first statement of a transaction that isn't committed yet.
    Begun begin_inside(const BeginAsk& ask, Tick now, Tick lease, Tick retention, Flaw flaw = Flaw::none);
    bool finish(const FinishAsk& ask, Tick now, Tick retention, Flaw flaw = Flaw::none);
    bool renew(Who owner, std::uint8_t version, Tick now, Tick lease);
    bool reserve(std::uint8_t version, Tick now, Tick lease);  ///< renew with `ask`
    bool recover(Tick now, Flaw flaw = Flaw::none);
    bool clean(Tick now);
    bool purge(std::uint8_t version);

private:
    std::uint8_t next_version(Flaw flaw);
};

/// The gate: a lock with a time limit and a cached result, by one script each.
struct Cached {
    bool exists = false;
    RecordStatus status = RecordStatus::success;
    std::uint8_t response = 0;
    std::uint8_t generation = 0;
    std::uint8_t hash = 0;
    Tick end = 0;
};

struct Entered {
    EnterOutcome::Kind kind = EnterOutcome::Kind::granted;
    Tick remaining = 0;
    Cached result{};
};

class ModelGate {
public:
    Who owner = nobody;
    Tick lock_end = 0;
    Cached cached;

    Entered enter(Who who, std::uint8_t hash, Tick now, Tick lease, Flaw flaw = Flaw::none);
    bool leave(Who who, const Cached* keep, Tick now, Flaw flaw = Flaw::none);
    bool locked(Tick now) const { return owner != nobody && now < lock_end; }
};

}  // namespace nebis::explore
