// SPDX-License-Identifier: Apache-2.0
// The invariants I1 to I12, as far as they speak of one key in a small world. I1 and I9 are also looked at where an
// effect lands, I7 and I12 where a row is written.
#include "world.hpp"

namespace nebis::explore {

using protocol::Action;
using protocol::Verdict;
using Kind = Move::Kind;

void World::check_answer(const Config& config, int who, const Action& action) {
    Request& request = requests_[who];
    if (request.answered) blame("a request was answered twice");
    request.answered = true;
    const Seen& seen = request.seen;
    RecordStatus status = seen.status;
    std::uint8_t response = seen.response, generation = seen.generation, hash = seen.hash;
    bool replay = false;
    Verdict verdict = action.verdict;
    if (verdict == Verdict::row && config.flaw == Flaw::prefers_own_answer && request.ran) verdict = Verdict::fresh;
    switch (verdict) {
        case Verdict::none: blame("an answer without a verdict"); return;
        case Verdict::fresh:
            if (!request.ran) blame("a fresh answer without a handler");
            status = action.status;
            if (status == RecordStatus::fail && !request.unprotected) {
                request.told_nothing = true;
                if (request.acted) blame("I9: \"not executed\" was answered after the effect");
            }
            request.given_up = !action.recorded;
            if (request.unprotected || !is_terminal(status)) return;
            if (status == RecordStatus::success && !request.acted) blame("I2: success was answered without an effect");
            if (config.rules.mode == Mode::mark) return;  // nothing is kept that a replay could be equal with
            if (!action.recorded) return;  // the true answer, not promised to be the one that replays give
            response = static_cast<std::uint8_t>(request.machine.version());
            generation = request.generation;
            hash = request.hash;
            break;
        case Verdict::row:
        case Verdict::cached: replay = true; break;
        case Verdict::resolved:
            replay = true;
            status = action.status;
            break;
        case Verdict::fenced_off:
            if (config.rules.mode == Mode::atomic) {
                request.told_nothing = true;
                if (request.acted) blame("I9: a fenced-off transaction had an effect");
            }
            return;
        case Verdict::unavailable:
            if (action.maybe) return;
            request.told_nothing = true;
            if (request.acted) blame("I9: \"unavailable\" was answered after the effect");
            return;
        case Verdict::mismatch:
        case Verdict::duplicate:
        case Verdict::in_progress:
        case Verdict::abandoned:
        case Verdict::over_quota:
            request.told_nothing = true;
            if (request.ran && request.acted) blame("I9: a refusal was answered after the effect");
            return;
        case Verdict::unknown: return;
    }
    if (replay && hash != request.hash) blame("I12: the answer to another payload was given");
    if (!is_terminal(status)) {
        if (replay && status != RecordStatus::fail) blame("a record that isn't final was replayed");
        return;
    }
    if (status == RecordStatus::success && effects_[generation] == 0)
        blame("I2: success was answered without an effect");
    if (told_[generation] == 0) told_[generation] = response;
    if (told_[generation] != response) blame("I3: two callers were given different answers");
}

/// I8, and the promise that a handler starts with a claim that is its own.
void World::check_start(const Config& config, int who) {
    const Request& request = requests_[who];
    const Row& row = store_.row;
    if (request.told_nothing) blame("I9: a handler starts after its caller was told that nothing ran");
    if (request.unprotected || config.rules.mode == Mode::mark) return;
    if (row.exists && row.status == RecordStatus::processing && row.owner != who && !row.lease_over(now_))
        blame("I8: a handler starts while another attempt's lease lives");
    if (!row.exists || row.owner != who || row.version != request.machine.version() ||
        row.status != RecordStatus::processing || row.lease_over(now_))
        blame("I8: a handler starts without a living lease of its own");
}

void World::check_step(const Config& config, const Move& move, const Before& before) {
    const Row& was = before.row;
    const Row& is = store_.row;
    const bool purge = move.kind == Kind::purge_deletes;
    if (is.exists && (!was.exists || is.version != was.version)) {
        if (is.version <= greatest_version_) blame("I5: a version did not grow");
        greatest_version_ = std::max(greatest_version_, is.version);
    }
    if (was.exists && is_final(was.status) && !was.expired(now_) && !purge) {
        const bool taken_over = was.status == RecordStatus::fail && is.exists && is.version != was.version;
        const bool given_back = was.status == RecordStatus::marked && is.exists && is.version == was.version &&
                                is.status == RecordStatus::fail;
        const bool same =
            is.exists && is.version == was.version && is.status == was.status && is.response == was.response;
        if (!same && !taken_over && !given_back)
            blame(is_terminal(was.status) ? "I6: a terminal state was changed" : "I6: a final state was changed");
    }
    if (config.budget.gate > 0 &&
        (before.gate.owner != gate_.owner || before.gate.cached.exists != gate_.cached.exists))
        snapshot_ = before.gate;
}

std::string_view World::end_violation(const Config& config) const {
    const Row& row = store_.row;
    for (int who = 0; who < config.requests; ++who) {
        const Request& request = requests_[who];
        if (request.phase == Phase::dead) continue;
        if (request.phase != Phase::over) return "I10: a request never ends";
        if (!request.answered) return "a request ended without an answer";
        const bool live = row.exists && row.owner == who &&
                          (row.status == RecordStatus::processing || row.status == RecordStatus::unknown ||
                           row.status == RecordStatus::marked);
        const bool window = row.status == RecordStatus::marked && request.ran;  // stands, even after a failure
        // A store that stays away for all of `record_for` leaves an UNKNOWN; the caller knows that nothing was
        // recorded.
        if (live && request.told_nothing && !window && !request.given_up)
            return "a claim stays behind although its caller was told that nothing ran";
        if (live && row.status == RecordStatus::unknown && !request.hit)
            return "I11: UNKNOWN, although nothing befell the attempt";
    }
    if (row.exists && row.status == RecordStatus::processing) return "I10: PROCESSING for ever";
    if (config.rules.mode == Mode::hooked && row.exists &&
        row.owner >= 0) {  // else an asker settled it, by the decision
        const bool committed = requests_[row.owner].coordinated == Request::Coordinated::committed;
        if (row.status == RecordStatus::unknown) return "hooked: the coordinator's decision was never recorded";
        if (committed != (row.status == RecordStatus::success)) return "hooked: the record contradicts the coordinator";
    }
    return {};
}

// ---- what a state is ---------------------------------------------------------------------------------------------

Digest World::digest(const Config& config) const {
    const auto left = [this](Tick moment) { return static_cast<std::uint64_t>(std::max<Tick>(0, moment - now_)); };
    const auto pack = [](auto... bytes) {
        std::uint64_t word = 0;
        ((word = word << 8 | static_cast<std::uint8_t>(bytes)), ...);
        return word;
    };
    const auto ask = [&](const Asked& asked) {
        Digest digest;
        digest.take(
            pack(asked.call, asked.what, asked.status, asked.version, asked.response, asked.generation,
                 asked.hash << 4 | asked.keep << 3 | asked.take_lease << 2 | asked.take_unknown << 1 | asked.lapse));
        // `not_after` counts only while it may still be met.
        digest.take(static_cast<std::uint64_t>(std::max<int>(-1, asked.not_after - now_) + 1) << 16 |
                    static_cast<std::uint16_t>(asked.ttl));
        return digest;
    };
    const Row& row = store_.row;
    Digest groups[instances + 1];
    for (int who = 0; who < config.requests; ++who) {
        const Request& request = requests_[who];
        Digest digest;
        const bool gone = request.phase == Phase::over || request.phase == Phase::dead;
        const bool idle = request.phase == Phase::idle;
        for (std::uint64_t word : request.machine.digest(now_)) digest.take(gone || idle ? 0 : word);
        digest.take(pack(request.phase, request.hash, request.generation,
                         request.in_doubt << 7 | request.may_commit << 6 | request.acted << 5 |
                             request.late_effect << 4 | request.told_nothing << 3 | request.answered << 2 |
                             request.ran << 1 | request.hit,
                         request.given_up << 4 | static_cast<int>(request.coordinated), row.owner == who,
                         (gate_.owner == who) << 1 | (snapshot_.owner == who),
                         (store_.locked_by == who) << 2 | request.unprotected << 1 | request.wakes));
        // Its version outlives a request whose effect may still land, or whose claim the coordinator decides.
        digest.take(pack(gone ? static_cast<std::uint8_t>(request.machine.version()) : 0, request.tx_version,
                         request.tx_generation, request.tx_took_over, request.tx_status));
        if (!gone && !idle) {
            digest.take(ask(request.asked));
            const Reply& reply = request.reply;
            digest.take(pack(reply.kind, reply.outcome, reply.result,
                             reply.ours << 6 | reply.applied << 5 | reply.ambiguous << 4 | reply.ok << 3 |
                                 reply.not_started << 2 | reply.lease_over << 1 | reply.expired,
                             reply.version, reply.remaining, reply.row.exists, reply.row.status));
            digest.take(pack(reply.row.response, reply.row.generation, reply.row.hash, request.seen.status,
                             request.seen.response, request.seen.generation, request.seen.hash,
                             request.phase == Phase::waiting ? left(request.until) : 0));
            digest.take(left(reply.row.expire) << 16 | left(request.seen.expire));
        }
        Digest ghosts;
        for (const Asked& ghost : request.ghosts)
            if (ghost.call != Call::none) ghosts.add(ask(ghost));
        digest.take(ghosts);
        groups[idle ? instances : request.instance].add(digest);
    }
    Digest sum;
    for (int instance = 0; instance < instances; ++instance) {
        groups[instance].take(left(grace_[instance]));
        sum.add(groups[instance]);
    }
    sum.take(groups[instances]);
    sum.take(pack(row.exists, row.status, row.version, row.hash, row.response, row.generation, row.reference,
                  row.owner == operators));
    sum.take(left(row.lease) << 16 | left(row.expire));
    for (const ModelGate* gate : {&gate_, &snapshot_}) {
        sum.take(left(gate->lock_end) << 16 | left(gate->cached.end));
        sum.take(pack(gate->owner == operators, gate->cached.exists, gate->cached.status, gate->cached.response,
                      gate->cached.generation, gate->cached.hash, store_.last_version, store_.last_generation));
    }
    sum.take(
        pack(left_.ticks, left_.lost, left_.kill, left_.recover, left_.gate, left_.fail, left_.reject, left_.doubt));
    sum.take(
        pack(left_.settle, left_.purge, left_.abandon, left_.renew, left_.clean, barred_, stale_, greatest_version_));
    sum.take(
        pack(operator_step_, operator_version_, operator_happened_, purge_step_, purge_version_, purged_generation_));
    for (std::size_t i = 0; i < effects_.size(); i += 2)
        sum.take(pack(effects_[i], take_overs_[i], told_[i], effects_[i + 1], take_overs_[i + 1], told_[i + 1]));
    return sum;
}

}  // namespace nebis::explore
