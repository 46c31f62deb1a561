// SPDX-License-Identifier: Apache-2.0
#include "model_store.hpp"

namespace nebis::explore {

std::uint8_t ModelStore::next_version(Flaw flaw) {
    if (flaw == Flaw::forgets_version_at_delete && !row.exists) return 1;
    return ++last_version;  // max(version + 1, clock in µs): a clock that never stands still
}

Begun ModelStore::begin(const BeginAsk& ask, Tick now, Tick lease, Tick retention, Flaw flaw) {
    if (locked_by != nobody) return {.kind = BeginOutcome::Kind::in_progress, .row = row};  // batches never wait
    Begun begun = begin_inside(ask, now, lease, retention, flaw);
    if (begun.kind == BeginOutcome::Kind::acquired) row = begun.row;
    return begun;
}

Begun ModelStore::begin_inside(const BeginAsk& ask, Tick now, Tick lease, Tick retention, Flaw flaw) {
    using Kind = BeginOutcome::Kind;
    Begun out;
    if (ask.not_after != 0 && now > ask.not_after && flaw != Flaw::forgets_not_after) {
        out.kind = Kind::late;
        return out;
    }
    const auto acquire = [&](bool as_new, bool took_over) {
        Row fresh;
        fresh.exists = true;
        fresh.status = ask.mark ? RecordStatus::marked : RecordStatus::processing;
        fresh.version = next_version(flaw);
        fresh.owner = ask.owner;
        fresh.hash = ask.hash;
        fresh.generation = as_new ? ++last_generation : row.generation;
        fresh.lease = ask.mark ? Tick{0} : static_cast<Tick>(now + lease);
        fresh.expire = static_cast<Tick>(now + std::max(retention, lease));
        return Begun{.kind = Kind::acquired, .row = fresh, .as_new = as_new, .took_over = took_over};
    };
    if (!row.exists) return acquire(true, false);
    out.row = row;
    out.ours = row.owner == ask.owner;
    if (row.expired(now)) return acquire(true, false);
    const bool fits = row.hash == ask.hash;
    if (!fits && !(flaw == Flaw::retakes_fail_blindly && row.status == RecordStatus::fail)) {
        out.kind = Kind::mismatch;
        return out;
    }
    switch (row.status) {
        case RecordStatus::fail: return acquire(false, false);
        case RecordStatus::success:
        case RecordStatus::rejected:
        case RecordStatus::marked: out.kind = Kind::finished; return out;
        case RecordStatus::processing:
            if (row.lease_over(now)) {
                if (ask.take_over_lease) return acquire(false, true);
                if (ask.lapse) {
                    row.status = RecordStatus::unknown;
                    out.row = row;
                    out.kind = Kind::unknown;
                    return out;
                }
            }
            out.kind = Kind::in_progress;
            out.remaining = std::max<Tick>(0, static_cast<Tick>(row.lease - now));
            return out;
        case RecordStatus::unknown:
            if (ask.take_over_unknown) return acquire(false, true);
            out.kind = Kind::unknown;
            return out;
    }
    return out;
}

bool ModelStore::finish(const FinishAsk& ask, Tick now, Tick retention, Flaw flaw) {
    if (!row.exists) return false;
    const bool blind = flaw == Flaw::finish_forgets_version ||
                       (flaw == Flaw::settles_without_version && ask.any_owner && ask.new_owner);
    if (!blind) {
        if (row.version != ask.version || (row.owner != ask.owner && !ask.any_owner)) return false;
        const bool from = (row.status == RecordStatus::processing && ask.from_processing) ||
                          (row.status == RecordStatus::unknown && ask.from_unknown) ||
                          (row.status == RecordStatus::marked && ask.from_marked);
        if (!from) return false;
    }
    row.status = ask.status;
    if (ask.reference) row.reference = true;
    if (ask.status == RecordStatus::processing) return true;  // a note: the lease stays as it is
    row.lease = now;
    row.response = is_terminal(ask.status) ? ask.response : std::uint8_t{0};
    row.expire = static_cast<Tick>(now + retention);
    if (ask.new_owner) row.owner = operators;
    return true;
}

bool ModelStore::renew(Who owner, std::uint8_t version, Tick now, Tick lease) {
    if (!row.exists || row.owner != owner || row.version != version || row.status != RecordStatus::processing)
        return false;
    row.lease = static_cast<Tick>(now + lease);
    row.expire = std::max(row.expire, row.lease);
    return true;
}

bool ModelStore::reserve(std::uint8_t version, Tick now, Tick lease) {
    if (locked_by != nobody || !row.exists || row.version != version || row.status != RecordStatus::unknown ||
        !row.lease_over(now))
        return false;
    row.lease = static_cast<Tick>(now + lease);
    row.expire = std::max(row.expire, row.lease);
    return true;
}

bool ModelStore::recover(Tick now, Flaw flaw) {
    if (locked_by != nobody || !row.exists || row.status != RecordStatus::processing || !row.lease_over(now))
        return false;
    row.status = flaw == Flaw::recovery_sets_fail ? RecordStatus::fail : RecordStatus::unknown;
    return true;
}

bool ModelStore::clean(Tick now) {
    if (locked_by != nobody || !row.exists || !row.expired(now)) return false;
    row = Row{};
    return true;
}

bool ModelStore::purge(std::uint8_t version) {
    if (locked_by != nobody || !row.exists || row.version != version) return false;
    row = Row{};
    return true;
}

Entered ModelGate::enter(Who who, std::uint8_t hash, Tick now, Tick lease, Flaw flaw) {
    if (cached.exists && now < cached.end && (cached.hash == hash || flaw == Flaw::cache_ignores_hash))
        return {.kind = EnterOutcome::Kind::finished, .result = cached};
    if (locked(now)) return {.kind = EnterOutcome::Kind::held, .remaining = static_cast<Tick>(lock_end - now)};
    owner = who;
    lock_end = static_cast<Tick>(now + lease);
    return {};
}

bool ModelGate::leave(Who who, const Cached* keep, Tick now, Flaw flaw) {
    if (flaw != Flaw::leave_forgets_owner && (!locked(now) || owner != who)) return false;
    if (keep && now < keep->end) cached = *keep;
    owner = nobody;
    lock_end = 0;
    return true;
}

}  // namespace nebis::explore
