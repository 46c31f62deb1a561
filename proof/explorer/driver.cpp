// SPDX-License-Identifier: Apache-2.0
// What a runtime does for a machine: it carries actions to the store, the gate and the coordinator, and brings events.
#include "world.hpp"

namespace nebis::explore {

using protocol::Action;
using protocol::Event;
using protocol::Verdict;

void World::feed(const Config& config, int who, const Event& event) {
    carry_out(config, who, requests_[who].machine.on(event));
}

void World::carry_out(const Config& config, int who, Action action) {
    Request& request = requests_[who];
    const Event proceed{.kind = Event::Kind::proceed, .now = now_};
    for (;;) {
        switch (action.kind) {
            case Action::Kind::none: return;
            case Action::Kind::answer:
                check_answer(config, who, action);
                action = request.machine.on(proceed);
                continue;
            case Action::Kind::leave: {
                const bool keep =
                    action.keep || (config.flaw == Flaw::caches_failures && !is_terminal(request.seen.status));
                add_ghost(who, {.call = Call::leave,
                                .status = request.seen.status,
                                .response = request.seen.response,
                                .keep = keep,
                                .generation = request.seen.generation,
                                .hash = request.seen.hash,
                                .ttl = static_cast<Tick>(request.seen.expire - now_ - config.rules.lease)});
                action = request.machine.on(proceed);
                continue;
            }
            case Action::Kind::done: request.phase = Phase::over; return;
            case Action::Kind::wait:
                request.phase = Phase::waiting;
                request.until = static_cast<Tick>(action.until);
                request.wakes = request.machine.state_name() == "waiting";
                return;
            case Action::Kind::run:
                request.phase = Phase::queued;
                request.unprotected = action.unprotected;
                return;
            case Action::Kind::run_atomic: request.phase = Phase::tx_waiting; return;
            case Action::Kind::ask: request.phase = Phase::resolving; return;
            case Action::Kind::enter: return send(config, who, Call::enter, action);
            case Action::Kind::begin: return send(config, who, Call::begin, action);
            case Action::Kind::find: return send(config, who, Call::find, action);
            case Action::Kind::reserve: return send(config, who, Call::reserve, action);
            case Action::Kind::note: return send(config, who, Call::note, action);
            case Action::Kind::hook_before: return send(config, who, Call::hook_before, action);
            case Action::Kind::hook_commit: return send(config, who, Call::commit, action);
            case Action::Kind::hook_rollback: return send(config, who, Call::rollback, action);
            case Action::Kind::finish:
                if (config.flaw == Flaw::keeps_the_claim && action.what == Action::Finish::give_back) {
                    action = request.machine.on({.kind = Event::Kind::finished, .now = now_, .applied = true});
                    continue;
                }
                return send(config, who, Call::finish, action);
        }
    }
}

void World::send(const Config& config, int who, Call call, const Action& action) {
    Request& request = requests_[who];
    request.phase = Phase::sent;
    request.reply = {};
    Asked& asked = request.asked;
    asked = {};
    asked.call = call;
    asked.what = action.what;
    asked.status = action.status;
    asked.version = static_cast<std::uint8_t>(action.version);
    asked.hash = request.hash;
    if (call == Call::begin) {
        const bool grace = now_ < grace_[request.instance];
        const bool flawed = config.flaw == Flaw::takes_over_in_hold;
        asked.take_lease = (action.take_over_lease || flawed) && !grace;
        asked.take_unknown = action.take_over_unknown || flawed;
        asked.lapse = action.lapse && !grace;
        asked.not_after = static_cast<Tick>(action.until);
    }
    if (call == Call::finish)
        asked.response =
            action.what == Action::Finish::settle ? static_cast<std::uint8_t>(settled | asked.version) : asked.version;
}

void World::fail_call(int who, bool ambiguous) {
    Request& request = requests_[who];
    request.phase = Phase::replied;
    request.hit = true;
    Reply& reply = request.reply;
    reply = {};
    reply.ambiguous = ambiguous;
    switch (request.asked.call) {
        case Call::enter: reply.kind = Event::Kind::enter_failed; break;
        case Call::begin: reply.kind = Event::Kind::begin_failed; break;
        case Call::find: reply.kind = Event::Kind::find_failed; break;
        case Call::finish:
        case Call::note: reply.kind = Event::Kind::finish_failed; break;
        case Call::reserve: reply.kind = Event::Kind::reserved; break;
        default: reply.kind = Event::Kind::hooked; break;
    }
}

void World::show(int who, const Row& row, Reply& reply) const {
    reply.row = row;
    reply.version = row.version;
    reply.ours = row.exists && row.owner == who;
    reply.lease_over = row.lease_over(now_);
    reply.expired = row.expired(now_);
    if (row.status == RecordStatus::processing || row.status == RecordStatus::unknown)
        reply.remaining = std::max<Tick>(0, static_cast<Tick>(row.lease - now_));
}

/// The call reaches its goal. `reply` is null when nobody waits for one any more.
void World::arrive(const Config& config, int who, const Asked& asked, Reply* reply) {
    Reply unheard;
    Reply& out = reply ? *reply : unheard;
    Request& request = requests_[who];
    switch (asked.call) {
        case Call::none: break;
        case Call::enter: {
            const Entered entered = gate_.enter(static_cast<Who>(who), request.hash, now_,
                                                static_cast<Tick>(config.rules.lease), config.flaw);
            out.kind = Event::Kind::entered;
            out.outcome = static_cast<std::uint8_t>(entered.kind);
            out.remaining = entered.remaining;
            if (entered.kind == EnterOutcome::Kind::finished) {
                const Cached& found = entered.result;
                out.row = {.exists = true,
                           .status = found.status,
                           .hash = found.hash,
                           .response = found.response,
                           .generation = found.generation};
                // A gate that forgets the operator's lock between A and C may serve the old answer until C.
                const bool may_lag = stale_ || (purge_step_ < 3 && left_.gate < config.budget.gate);
                if (!may_lag && (found.generation <= purged_generation_ ||
                                 (store_.row.exists && store_.row.generation != found.generation)))
                    blame("Z34: the cache answers for a record that has been purged or begun anew");
            }
            break;
        }
        case Call::leave: {
            const Cached keep{.exists = true,
                              .status = asked.status,
                              .response = asked.response,
                              .generation = asked.generation,
                              .hash = asked.hash,
                              .end = static_cast<Tick>(now_ + asked.ttl)};
            if (gate_.leave(static_cast<Who>(who), asked.keep ? &keep : nullptr, now_, config.flaw) &&
                gate_.cached.exists && !is_terminal(gate_.cached.status))
                blame("a result that is neither SUCCESS nor REJECTED is cached");
            break;
        }
        case Call::hook_before:
        case Call::commit:
        case Call::rollback: hook_call(config, who, asked, out); break;
        default: store_call(config, who, asked, out); break;
    }
}

void World::store_call(const Config& config, int who, const Asked& asked, Reply& out) {
    Request& request = requests_[who];
    const Row before = store_.row;
    const Tick lease = static_cast<Tick>(config.rules.lease);
    if (asked.call == Call::begin) {
        const Begun begun = store_.begin({.owner = static_cast<Who>(who),
                                          .hash = request.hash,
                                          .mark = config.rules.mode == Mode::mark,
                                          .take_over_lease = asked.take_lease,
                                          .take_over_unknown = asked.take_unknown,
                                          .lapse = asked.lapse,
                                          .not_after = asked.not_after},
                                         now_, lease, config.retention, config.flaw);
        show(who, begun.row, out);
        out.kind = Event::Kind::begun;
        out.outcome = static_cast<std::uint8_t>(begun.kind);
        out.remaining = begun.remaining;
        out.ours = begun.ours && config.flaw != Flaw::forgets_own_insert;
        if (begun.kind == BeginOutcome::Kind::acquired) {
            if (begun.took_over) ++take_overs_[begun.row.generation];
            if (!begun.as_new && before.hash != request.hash) blame("I12: another payload took the key over");
        }
        return;
    }
    if (asked.call == Call::find) {
        show(who, store_.row, out);
        if (config.flaw == Flaw::forgets_own_insert) out.ours = false;
        out.kind = Event::Kind::found;
        return;
    }
    if (asked.call == Call::reserve) {
        out.kind = Event::Kind::reserved;
        out.ok = store_.reserve(asked.version, now_, lease);
        return;
    }
    out.kind = Event::Kind::finished;
    const bool note = asked.call == Call::note;
    if (note && config.flaw == Flaw::hook_forgets_reference) {
        out.applied = true;
        return;
    }
    if (config.flaw == Flaw::disproves_by_reading && store_.locked_by != nobody) {
        show(who, store_.row, out);  // what was committed before: the commit under way isn't seen
        out.applied = store_.row.status == RecordStatus::processing;
        return;
    }
    const bool settle = !note && asked.what == Action::Finish::settle;
    const FinishAsk ask{.owner = static_cast<Who>(who),
                        .version = asked.version,
                        .status = note ? RecordStatus::processing : asked.status,
                        .response = asked.response,
                        .from_processing = !settle,
                        .from_unknown = !note,
                        .from_marked = asked.what == Action::Finish::give_back,
                        .any_owner = settle,
                        .new_owner = settle,
                        .reference = note};
    out.applied = store_.finish(ask, now_, config.retention, config.flaw);
    if (out.applied && (before.version != asked.version || (!settle && before.owner != who)))
        blame("I7: a row was written by somebody who doesn't own it");
    show(who, store_.row, out);
}

void World::hook_call(const Config& config, int who, const Asked& asked, Reply& out) {
    Request& request = requests_[who];
    using Coordinated = Request::Coordinated;
    out.kind = Event::Kind::hooked;
    switch (asked.call) {
        case Call::hook_before:
            request.coordinated = Coordinated::open;
            out.ok = true;
            break;
        case Call::commit:
            if (request.coordinated == Coordinated::open) {
                request.coordinated = Coordinated::committed;
                land_effect(config, who);
            }
            out.ok = request.coordinated == Coordinated::committed;
            break;
        default:
            if (request.coordinated != Coordinated::committed) request.coordinated = Coordinated::rolled_back;
            out.ok = request.coordinated == Coordinated::rolled_back;
            break;
    }
}

Event World::event_of(const Request& request) const {
    const Reply& reply = request.reply;
    Event event;
    event.kind = reply.kind;
    event.now = now_;
    event.enter = static_cast<EnterOutcome::Kind>(reply.outcome);
    event.begin = static_cast<BeginOutcome::Kind>(reply.outcome);
    event.resolution = static_cast<Resolution::Kind>(reply.outcome);
    if (reply.kind == Event::Kind::atomic_ended) {
        event.report = static_cast<AtomicReport::Kind>(reply.outcome & 0xF);
        event.begin = static_cast<BeginOutcome::Kind>(reply.outcome >> 4);
    }
    event.result = reply.result;
    event.ours = reply.ours;
    event.applied = reply.applied;
    event.ambiguous = reply.ambiguous;
    event.ok = reply.ok;
    event.not_started = reply.not_started;
    event.version = reply.version;
    event.remaining = reply.remaining;
    event.row = {.exists = reply.row.exists,
                 .status = reply.row.status,
                 .version = reply.row.version,
                 .ours = reply.ours,
                 .lease_over = reply.lease_over,
                 .expired = reply.expired,
                 .fits = reply.row.hash == request.hash,
                 .remaining = reply.remaining};
    return event;
}

void World::add_ghost(int who, const Asked& asked) {
    for (Asked& ghost : requests_[who].ghosts) {
        if (ghost.call != Call::none) continue;
        ghost = asked;
        return;
    }
    blame("the model has no room for one more delayed message");
}

/// Delayed messages that can't change anything any more only multiply states.
void World::drop_dead_ghosts(const Config& config) {
    const Row& row = store_.row;
    for (int who = 0; who < config.requests; ++who) {
        Request& request = requests_[who];
        const bool gone = request.phase == Phase::over || request.phase == Phase::dead;
        for (Asked& ghost : request.ghosts) {
            bool dead = false;
            switch (ghost.call) {
                case Call::begin: dead = now_ > ghost.not_after && config.flaw != Flaw::forgets_not_after; break;
                case Call::finish:
                case Call::note:
                    dead = config.flaw == Flaw::none && (!row.exists || row.version != ghost.version ||
                                                         (is_final(row.status) && row.status != RecordStatus::marked));
                    break;
                case Call::leave:
                    dead = gone && gate_.owner != who && snapshot_.owner != who &&
                           config.flaw != Flaw::leave_forgets_owner;
                    break;
                case Call::find:
                case Call::reserve: dead = true; break;
                default: break;
            }
            if (dead) ghost = {};
        }
    }
}

}  // namespace nebis::explore
