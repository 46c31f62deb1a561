// SPDX-License-Identifier: Apache-2.0
// What happens when a move is taken.
#include "world.hpp"

namespace nebis::explore {

using protocol::Event;
using Kind = Move::Kind;

protocol::Rules small_rules(Mode mode) {
    protocol::Rules rules;
    rules.mode = mode;
    rules.lease = 2 * tick;
    rules.margin = tick;
    rules.wait = 3 * tick;
    rules.enter_budget = tick;
    rules.begin_budget = tick;
    rules.finish_budget = tick;
    rules.record_for = 2 * tick;
    rules.retry_first = tick;
    rules.retry_max = tick;
    return rules;
}

World::World(const Config& config) : left_(config.budget) {
    for (int who = 0; who < config.requests; ++who) {
        requests_[who].machine = protocol::RequestMachine(&config.rules);
        requests_[who].hash = who >= config.requests - config.others ? 1 : 0;
    }
}

void World::apply(const Config& config, const Move& move) {
    const Before before{store_.row, gate_};
    if (move.kind < Kind::locks_row || (move.kind >= Kind::resolver_knows && move.kind <= Kind::renew))
        request_move(config, move);
    else if (move.kind < Kind::resolver_knows)
        transaction_move(config, move);
    else
        world_move(config, move);
    check_step(config, move, before);
    drop_dead_ghosts(config);
}

void World::request_move(const Config& config, const Move& move) {
    const int who = move.who;
    Request& request = requests_[who];
    switch (move.kind) {
        case Kind::start:
            request.instance = move.arg % instances;
            return feed(config, who,
                        {.kind = Event::Kind::start,
                         .now = now_,
                         .unseen = move.arg / instances == 1,
                         .over_quota = move.arg / instances == 2});
        case Kind::arrive: request.phase = Phase::replied; return arrive(config, who, request.asked, &request.reply);
        case Kind::deliver: {
            const Reply& reply = request.reply;
            if (reply.row.exists)
                request.seen = {.status = reply.row.status,
                                .response = reply.row.response,
                                .generation = reply.row.generation,
                                .hash = reply.row.hash,
                                .expire = reply.row.expire};
            const Event event = event_of(request);
            const std::uint64_t version = request.machine.version();
            const std::uint8_t generation = reply.row.generation;
            request.asked = {};
            request.reply = {};
            feed(config, who, event);
            if (request.machine.version() != version && !config.rules.claim_inside) request.generation = generation;
            return;
        }
        case Kind::timer:
        case Kind::wakes_early: return feed(config, who, {.kind = Event::Kind::timer, .now = now_});
        case Kind::handler_starts:
            if (!request.unprotected && config.rules.mode != Mode::mark && now_ >= request.machine.lease_end() &&
                config.flaw != Flaw::starts_without_lease)
                return handler_ends(config, who, RecordStatus::fail, true);
            check_start(config, who);
            request.ran = true;
            request.phase = Phase::started;
            return;
        case Kind::effect:
            if (!request.unprotected && request.machine.version() <= barred_)
                return handler_ends(config, who, RecordStatus::fail);  // refused: somebody settled by insert
            request.phase = Phase::acted;
            if (config.rules.mode != Mode::hooked) land_effect(config, who);
            return;
        case Kind::ends_done: return handler_ends(config, who, RecordStatus::success);
        case Kind::ends_failed: --left_.fail; return handler_ends(config, who, RecordStatus::fail);
        case Kind::ends_rejected: --left_.reject; return handler_ends(config, who, RecordStatus::rejected);
        case Kind::ends_in_doubt:
            --left_.doubt;
            request.hit = true;
            if (request.phase == Phase::started && config.rules.mode != Mode::hooked) request.late_effect = true;
            return handler_ends(
                config, who, config.flaw == Flaw::calls_doubt_a_failure ? RecordStatus::fail : RecordStatus::unknown);
        case Kind::late_effect:
            request.late_effect = false;
            if (request.machine.version() > barred_) land_effect(config, who);
            return;
        case Kind::resolver_knows: {
            request.phase = Phase::replied;
            request.reply = {.kind = Event::Kind::resolved, .outcome = static_cast<std::uint8_t>(look(config))};
            request.asked = {};
            return;
        }
        case Kind::resolver_shrugs:
            --left_.doubt;
            request.phase = Phase::replied;
            request.reply = {.kind = Event::Kind::resolved,
                             .outcome = static_cast<std::uint8_t>(Resolution::Kind::dont_know)};
            request.asked = {};
            return;
        case Kind::lost: --left_.lost; return fail_call(who, true);
        case Kind::refused:
            if (request.phase == Phase::tx_waiting) return transaction_move(config, move);
            --left_.lost;
            return fail_call(who, false);
        case Kind::delayed:
            --left_.lost;
            add_ghost(who, request.asked);
            return fail_call(who, true);
        case Kind::no_reply: --left_.lost; return fail_call(who, true);
        case Kind::ghost: {
            const Asked ghost = request.ghosts[move.arg];
            request.ghosts[move.arg] = {};
            return arrive(config, who, ghost, nullptr);
        }
        case Kind::abandon: --left_.abandon; return feed(config, who, {.kind = Event::Kind::abandon, .now = now_});
        case Kind::renew:
            --left_.renew;
            if (store_.locked_by == nobody &&
                store_.renew(static_cast<Who>(who), store_.row.version, now_, static_cast<Tick>(config.rules.lease)) &&
                gate_.owner == who)
                gate_.lock_end = static_cast<Tick>(now_ + config.rules.lease);
            return;
        default: return;
    }
}

/// The truth about the row, as the coordinator or the business data show it; "did not happen" only after settling by
/// insert.
Resolution::Kind World::look(const Config& config) {
    const Row& row = store_.row;
    if (config.rules.mode == Mode::hooked) {
        if (!row.exists || row.owner < 0) return Resolution::Kind::dont_know;
        if (!row.reference) return Resolution::Kind::did_not_happen;
        switch (requests_[row.owner].coordinated) {
            case Request::Coordinated::committed: return Resolution::Kind::happened;
            case Request::Coordinated::open: return Resolution::Kind::dont_know;
            default: return Resolution::Kind::did_not_happen;
        }
    }
    if (effects_[row.generation] > 0) return Resolution::Kind::happened;
    if (config.flaw != Flaw::settles_without_proof) barred_ = std::max(barred_, row.version);
    return Resolution::Kind::did_not_happen;
}

void World::transaction_move(const Config& config, const Move& move) {
    const int who = move.who;
    Request& request = requests_[who];
    const bool inside = config.rules.claim_inside;
    switch (move.kind) {
        case Kind::refused:
            if (store_.locked_by != nobody && inside) {  // its insert has waited long enough
                request.phase = Phase::replied;
                request.reply = {
                    .kind = Event::Kind::atomic_ended,
                    .outcome = static_cast<std::uint8_t>(static_cast<int>(AtomicReport::Kind::found) |
                                                         static_cast<int>(BeginOutcome::Kind::in_progress) << 4)};
                return;
            }
            --left_.lost;
            request.hit = true;
            transaction_ends(config, who, AtomicReport::Kind::rolled_back, RecordStatus::fail);
            request.reply.not_started = true;
            return;
        case Kind::locks_row: {
            const Row& row = store_.row;
            if (!inside) {
                const bool ours = row.exists && row.owner == who && row.version == request.machine.version() &&
                                  (row.status == RecordStatus::processing || row.status == RecordStatus::unknown);
                if (!ours && config.flaw != Flaw::commit_without_fence)
                    return transaction_ends(config, who, AtomicReport::Kind::fenced_off, RecordStatus::fail);
                request.tx_version = static_cast<std::uint8_t>(request.machine.version());
                request.tx_generation = request.generation;
            } else {
                const bool grace = now_ < grace_[request.instance];
                const Begun begun =
                    store_.begin_inside({.owner = static_cast<Who>(who),
                                         .hash = request.hash,
                                         .take_over_lease = !grace,
                                         .take_over_unknown = true},
                                        now_, static_cast<Tick>(config.rules.lease), config.retention, config.flaw);
                if (begun.kind != BeginOutcome::Kind::acquired) {
                    transaction_ends(config, who, AtomicReport::Kind::found, RecordStatus::fail);
                    show(who, begun.row, request.reply);
                    request.reply.remaining = begun.remaining;
                    request.reply.outcome = static_cast<std::uint8_t>(static_cast<int>(AtomicReport::Kind::found) |
                                                                      static_cast<int>(begun.kind) << 4);
                    return;
                }
                if (!begun.as_new && row.hash != request.hash) blame("I12: another payload took the key over");
                request.tx_version = begun.row.version;
                request.tx_generation = request.generation = begun.row.generation;
                request.tx_took_over = begun.took_over;
            }
            request.ran = true;
            request.phase = Phase::tx_open;
            if (config.flaw != Flaw::commit_without_fence) store_.locked_by = static_cast<Who>(who);
            return;
        }
        case Kind::body_done:
            request.tx_status = RecordStatus::success;
            request.phase = Phase::tx_ready;
            return;
        case Kind::body_rejects:
            --left_.reject;
            request.tx_status = RecordStatus::rejected;
            request.phase = Phase::tx_ready;
            return;
        case Kind::body_fails:
            --left_.fail;
            store_.locked_by = nobody;
            return transaction_ends(config, who, AtomicReport::Kind::rolled_back, RecordStatus::fail);
        case Kind::commit_conflict:
            --left_.lost;
            store_.locked_by = nobody;
            return transaction_ends(config, who, AtomicReport::Kind::rolled_back, RecordStatus::fail);
        case Kind::commit_in_doubt:
            --left_.lost;
            request.hit = true;
            request.in_doubt = request.may_commit = true;
            return transaction_ends(config, who, AtomicReport::Kind::ambiguous, RecordStatus::fail);
        case Kind::commits:
            commit(config, who);
            transaction_ends(config, who, AtomicReport::Kind::committed, request.tx_status);
            show(who, store_.row, request.reply);
            return;
        case Kind::doubt_commits: request.in_doubt = request.may_commit = false; return commit(config, who);
        case Kind::doubt_aborts:
            request.in_doubt = request.may_commit = false;
            if (store_.locked_by == who) store_.locked_by = nobody;
            return;
        default: return;
    }
}

void World::transaction_ends(const Config&, int who, AtomicReport::Kind kind, RecordStatus status) {
    Request& request = requests_[who];
    request.phase = Phase::replied;
    request.asked = {};
    request.reply = {.kind = Event::Kind::atomic_ended, .outcome = static_cast<std::uint8_t>(kind), .result = status};
    request.reply.version = request.tx_version;
}

void World::commit(const Config& config, int who) {
    Request& request = requests_[who];
    Row& row = store_.row;
    if (config.rules.claim_inside) {
        if (request.tx_took_over) ++take_overs_[request.tx_generation];
        row = {.exists = true, .owner = static_cast<Who>(who), .hash = request.hash};
        row.version = request.tx_version;
        row.generation = request.tx_generation;
    }
    row.status = request.tx_status;
    row.response = request.tx_version;
    row.expire = static_cast<Tick>(now_ + config.retention);
    if (store_.locked_by == who) store_.locked_by = nobody;
    if (request.tx_status == RecordStatus::success) land_effect(config, who);
}

void World::handler_ends(const Config&, int who, RecordStatus result, bool not_started) {
    Request& request = requests_[who];
    request.phase = Phase::replied;
    request.asked = {};
    request.reply = {.kind = Event::Kind::handled, .result = result, .not_started = not_started};
}

void World::world_move(const Config& config, const Move& move) {
    Row& row = store_.row;
    switch (move.kind) {
        case Kind::time:
            --left_.ticks;
            now_ = static_cast<Tick>(now_ + tick);
            return;
        case Kind::jump: return jump(config);
        case Kind::recover: --left_.recover; return recover(config);
        case Kind::clean:
            --left_.clean;
            store_.clean(now_);
            return;
        case Kind::kill: --left_.kill; return kill(config, move.who);
        case Kind::lock_vanishes:
            --left_.gate;
            gate_.owner = nobody;
            gate_.lock_end = 0;
            return;
        case Kind::cache_vanishes:
            --left_.gate;
            gate_.cached = {};
            return;
        case Kind::snapshot_returns:
            --left_.gate;
            stale_ = true;
            gate_ = snapshot_;
            return;
        case Kind::operator_looks:
            --left_.settle;
            operator_step_ = 1;
            operator_version_ = row.version;
            operator_happened_ = effects_[row.generation] > 0;
            if (!operator_happened_ && config.flaw != Flaw::settles_without_proof)
                barred_ = std::max(barred_, row.version);
            return;
        case Kind::operator_settles:
            operator_step_ = 2;
            store_.finish({.version = operator_version_,
                           .status = operator_happened_ ? RecordStatus::success : RecordStatus::fail,
                           .response = static_cast<std::uint8_t>(settled | operator_version_),
                           .from_processing = false,
                           .any_owner = true,
                           .new_owner = true},
                          now_, config.retention, config.flaw);
            return;
        case Kind::purge_takes:
            --left_.purge;
            purge_step_ = 1;
            purge_version_ = row.version;
            if (row.status == RecordStatus::unknown) barred_ = std::max(barred_, row.version);
            gate_.cached = {};
            if (config.flaw != Flaw::purges_without_lock) {
                gate_.owner = operators;
                gate_.lock_end = static_cast<Tick>(now_ + config.rules.lease);
            }
            return;
        case Kind::purge_deletes: {
            purge_step_ = 2;
            const std::uint8_t generation = row.generation;
            if (store_.purge(purge_version_)) purged_generation_ = generation;
            return;
        }
        case Kind::purge_frees:
            purge_step_ = 3;
            gate_ = {};
            return;
        case Kind::coordinator_gives_up: requests_[move.who].coordinated = Request::Coordinated::rolled_back; return;
        default: return;
    }
}

void World::land_effect(const Config& config, int who) {
    Request& request = requests_[who];
    request.acted = true;
    if (request.told_nothing) blame("I9: an effect follows an answer that said that nothing happened");
    if (request.unprotected) return;
    const std::uint8_t generation = request.generation;
    const int bound = config.exact ? 1 : 1 + take_overs_[generation];
    if (++effects_[generation] > bound) blame("I1: the effect happened twice");
}

/// Lease over → UNKNOWN; for `hooked`, the coordinator is asked about an UNKNOWN row.
void World::recover(const Config& config) {
    store_.recover(now_, config.flaw);
    Row& row = store_.row;
    if (config.rules.mode != Mode::hooked || !row.exists || row.status != RecordStatus::unknown || row.owner < 0)
        return;
    using Coordinated = Request::Coordinated;
    const Coordinated decision = requests_[row.owner].coordinated;
    RecordStatus status = RecordStatus::fail;
    if (row.reference) {
        if (decision == Coordinated::open) return;
        if (decision == Coordinated::committed) status = RecordStatus::success;
    }
    store_.finish({.owner = row.owner, .version = row.version, .status = status, .response = row.version}, now_,
                  config.retention);
}

/// A process dies. What it had sent may still arrive; what it had begun may still be committed or act.
void World::kill(const Config& config, int instance) {
    for (int who = 0; who < config.requests; ++who) {
        Request& request = requests_[who];
        if (request.instance != instance || request.phase == Phase::idle || request.phase == Phase::over ||
            request.phase == Phase::dead)
            continue;
        if (request.phase == Phase::sent && request.asked.call != Call::find && request.asked.call != Call::reserve)
            add_ghost(who, request.asked);
        if (request.phase == Phase::started && config.rules.mode != Mode::hooked) request.late_effect = true;
        if (request.phase == Phase::tx_open || request.phase == Phase::tx_ready) {
            request.in_doubt = true;
            request.may_commit = request.phase == Phase::tx_ready;
        }
        request.phase = Phase::dead;
        request.hit = true;
        request.asked = {};
        request.reply = {};
    }
    grace_[instance] = static_cast<Tick>(now_ + config.rules.lease);
}

}  // namespace nebis::explore
