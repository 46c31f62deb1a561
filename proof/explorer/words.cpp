// SPDX-License-Identifier: Apache-2.0
// Traces in plain words.
#include "world.hpp"

namespace nebis::explore {
namespace {

std::string name(int who) { return "R" + std::to_string(who + 1); }

std::string_view status_name(RecordStatus status) {
    switch (status) {
        case RecordStatus::processing: return "PROCESSING";
        case RecordStatus::success: return "SUCCESS";
        case RecordStatus::fail: return "FAIL";
        case RecordStatus::rejected: return "REJECTED";
        case RecordStatus::unknown: return "UNKNOWN";
        case RecordStatus::marked: return "MARKED";
    }
    return "?";
}

}  // namespace

std::string World::describe(const Config& config, const Move& move) const {
    using Kind = Move::Kind;
    const Request& request = requests_[move.who % max_requests];
    const std::string who = name(move.who);
    const auto call = [&](const Asked& asked) -> std::string {
        switch (asked.call) {
            case Call::none: return "nothing";
            case Call::enter: return "enter";
            case Call::begin: return "begin";
            case Call::find: return "find";
            case Call::finish:
                return std::string(asked.what == protocol::Action::Finish::give_back ? "give-back"
                                   : asked.what == protocol::Action::Finish::settle  ? "settling"
                                                                                     : "finish") +
                       " to " + std::string(status_name(asked.status)) + " at version " + std::to_string(asked.version);
            case Call::note: return "note";
            case Call::reserve: return "reserve";
            case Call::hook_before: return "before-transaction hook";
            case Call::commit: return "commit hook";
            case Call::rollback: return "rollback hook";
            case Call::leave: return asked.keep ? "leave, keeping the result" : "leave";
        }
        return "?";
    };
    const std::string asked = call(request.asked);
    switch (move.kind) {
        case Kind::start:
            return who + (request.hash ? " (other payload)" : "") + " comes to instance " +
                   std::to_string(move.arg % instances + 1) +
                   (move.arg / instances == 1   ? ", whose filter hasn't seen its key"
                    : move.arg / instances == 2 ? ", and may make no new key"
                                                : "");
        case Kind::arrive: return who + "'s " + asked + " is carried out";
        case Kind::deliver: return who + " hears the reply" + (asked == "nothing" ? "" : " to its " + asked);
        case Kind::timer: return who + " wakes up";
        case Kind::wakes_early: return who + " looks again";
        case Kind::handler_starts: return who + "'s handler starts";
        case Kind::effect: return who + "'s effect happens";
        case Kind::ends_done: return who + "'s handler returns";
        case Kind::ends_failed: return who + "'s handler says: not executed";
        case Kind::ends_rejected: return who + "'s handler refuses for good";
        case Kind::ends_in_doubt: return who + "'s handler doesn't know";
        case Kind::late_effect: return who + "'s effect arrives late";
        case Kind::locks_row: return who + "'s transaction locks the record";
        case Kind::body_done: return who + "'s body returns";
        case Kind::body_fails: return who + "'s body throws; rolled back";
        case Kind::body_rejects: return who + "'s body refuses for good";
        case Kind::commits: return who + "'s transaction commits";
        case Kind::commit_in_doubt: return who + "'s connection breaks while committing";
        case Kind::commit_conflict: return who + "'s commit is refused (serialization)";
        case Kind::doubt_commits: return who + "'s broken commit turns out to be committed";
        case Kind::doubt_aborts: return who + "'s broken transaction turns out to be rolled back";
        case Kind::resolver_knows: return "the resolver tells " + who + " what the business data say";
        case Kind::resolver_shrugs: return "the resolver tells " + who + " that it doesn't know";
        case Kind::lost: return who + "'s " + asked + " is lost on the way";
        case Kind::refused:
            return who +
                   (request.phase == Phase::tx_waiting ? "'s transaction can't begin" : "'s " + asked + " is refused");
        case Kind::delayed: return who + "'s " + asked + " hangs; " + who + " gives up waiting";
        case Kind::no_reply: return "the reply to " + who + "'s " + asked + " is lost";
        case Kind::ghost: return who + "'s delayed " + call(request.ghosts[move.arg]) + " arrives";
        case Kind::abandon: return who + "'s caller leaves";
        case Kind::renew: return who + "'s lease is renewed";
        case Kind::time: return "time passes";
        case Kind::jump: return "nothing moves; time passes, recovery runs";
        case Kind::recover: return "recovery runs";
        case Kind::clean: return "clean-up deletes the expired row";
        case Kind::kill: return "instance " + std::to_string(move.who + 1) + " is killed and starts again";
        case Kind::lock_vanishes: return "the lock vanishes";
        case Kind::cache_vanishes: return "the cached result vanishes";
        case Kind::snapshot_returns: return "the gate comes back with an older snapshot";
        case Kind::operator_looks: return "an operator looks into the business data";
        case Kind::operator_settles: return "the operator settles the row";
        case Kind::purge_takes: return "purge A: cache dropped, lock taken";
        case Kind::purge_deletes: return "purge B: row deleted";
        case Kind::purge_frees: return "purge C: cache and lock dropped";
        case Kind::coordinator_gives_up: return "the coordinator rolls " + who + "'s transaction back";
    }
    (void)config;
    return "?";
}

std::string World::picture(const Config& config) const {
    std::string text = "[t=" + std::to_string(now_ / tick);
    const Row& row = store_.row;
    const auto owner = [](Who who) { return who == operators ? std::string("operator") : name(who); };
    if (!row.exists) {
        text += ", no row";
    } else {
        text += ", row " + std::string(status_name(row.status)) + " v" + std::to_string(row.version) + " of " +
                owner(row.owner);
        if (row.status == RecordStatus::processing && row.lease_over(now_)) text += " (lease over)";
        if (row.expired(now_)) text += " (expired)";
    }
    if (gate_.locked(now_)) text += ", lock " + owner(gate_.owner);
    if (gate_.cached.exists && now_ < gate_.cached.end) text += ", cached";
    if (store_.locked_by != nobody) text += ", row locked by " + name(store_.locked_by);
    for (int who = 0; who < config.requests; ++who) {
        const Request& request = requests_[who];
        if (request.phase != Phase::idle)
            text += ", " + name(who) + " " +
                    (request.phase == Phase::dead ? std::string("dead") : std::string(request.machine.state_name()));
    }
    return text + "]";
}

}  // namespace nebis::explore
