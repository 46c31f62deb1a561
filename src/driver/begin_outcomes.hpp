// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

/// The answers of a begin that need no row to be read.
namespace nebis::driver {

inline BeginOutcome acquired(std::uint64_t version, std::uint32_t attempts, const Owner& owner, StoreMillis now) {
    BeginOutcome out;
    out.kind = BeginOutcome::Kind::acquired;
    out.version = version;
    out.attempts = attempts;
    out.owner = owner;
    out.now = now;
    return out;
}

/// Locked, or being inserted, by somebody: alive.
inline BeginOutcome held_by_somebody(StoreMillis now) {
    BeginOutcome out;
    out.kind = BeginOutcome::Kind::in_progress;
    out.now = now;
    return out;
}

inline BeginOutcome late_at(StoreMillis now) {
    BeginOutcome out;
    out.kind = BeginOutcome::Kind::late;
    out.now = now;
    return out;
}

}  // namespace nebis::driver
