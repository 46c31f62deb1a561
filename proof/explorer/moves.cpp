// SPDX-License-Identifier: Apache-2.0
// What may happen next.
#include "world.hpp"

namespace nebis::explore {

using Kind = Move::Kind;

bool World::is_progress(Kind kind) {
    switch (kind) {
        case Kind::start:
        case Kind::arrive:
        case Kind::deliver:
        case Kind::timer:
        case Kind::handler_starts:
        case Kind::effect:
        case Kind::ends_done:
        case Kind::locks_row:
        case Kind::body_done:
        case Kind::commits:
        case Kind::doubt_commits:
        case Kind::doubt_aborts:
        case Kind::resolver_knows:
        case Kind::operator_settles:
        case Kind::purge_deletes:
        case Kind::purge_frees:
        case Kind::coordinator_gives_up:
        case Kind::jump: return true;
        default: return false;
    }
}

/// A finish waits for the transaction that holds the row.
bool World::blocked(const Config& config, const Asked& asked) const {
    return store_.locked_by != nobody && (asked.call == Call::finish || asked.call == Call::note) &&
           config.flaw != Flaw::disproves_by_reading;
}

void World::moves(const Config& config, std::vector<Move>& out) const {
    for (int who = 0; who < config.requests; ++who) request_moves(config, who, out);
    world_moves(config, out);
    bool moving = false;
    for (const Move& move : out) moving = moving || is_progress(move.kind);
    if (moving && left_.ticks > 0) out.push_back({Kind::time});
    if (!moving && can_jump(config)) out.push_back({Kind::jump});
}

void World::request_moves(const Config& config, int who, std::vector<Move>& out) const {
    const Request& request = requests_[who];
    const auto add = [&](Kind kind, int arg = 0) {
        out.push_back({kind, static_cast<std::uint8_t>(who), static_cast<std::uint8_t>(arg)});
    };
    if (request.phase == Phase::idle) {
        // Of several requests alike, the first one starts first.
        for (int other = 0; other < who; ++other)
            if (requests_[other].phase == Phase::idle && requests_[other].hash == request.hash) return;
        for (int start = 0; start < instances * (config.flood ? 3 : 1); ++start) add(Kind::start, start);
        return;
    }
    for (int i = 0; i < static_cast<int>(request.ghosts.size()); ++i)
        if (request.ghosts[i].call != Call::none && !blocked(config, request.ghosts[i])) add(Kind::ghost, i);
    if (request.late_effect) add(Kind::late_effect);
    if (request.in_doubt) {
        if (request.may_commit) add(Kind::doubt_commits);
        add(Kind::doubt_aborts);
    }
    if (request.coordinated == Request::Coordinated::open &&
        (request.phase == Phase::dead || request.phase == Phase::over))
        add(Kind::coordinator_gives_up);
    if (request.phase == Phase::over || request.phase == Phase::dead) return;
    if (left_.abandon > 0 && !request.ran && !request.answered) add(Kind::abandon);
    if (left_.renew > 0 && store_.row.owner == who && store_.row.status == RecordStatus::processing) add(Kind::renew);
    call_moves(config, who, out);
    handler_moves(config, who, out);
    transaction_moves(config, who, out);
}

void World::call_moves(const Config& config, int who, std::vector<Move>& out) const {
    const Request& request = requests_[who];
    const auto add = [&](Kind kind) { out.push_back({kind, static_cast<std::uint8_t>(who)}); };
    const Call call = request.asked.call;
    switch (request.phase) {
        case Phase::sent:
            if (!blocked(config, request.asked)) add(Kind::arrive);
            if (left_.lost > 0) {
                if (call != Call::commit && call != Call::rollback && call != Call::hook_before) add(Kind::refused);
                if (call != Call::find) add(Kind::lost);
                if (call != Call::find && call != Call::reserve) add(Kind::delayed);
            }
            break;
        case Phase::replied:
            add(Kind::deliver);
            // Whether a reply is lost or its request was, is the same to a reader.
            if (left_.lost > 0 && !request.reply.ambiguous && call != Call::find && call != Call::none)
                add(Kind::no_reply);
            break;
        case Phase::waiting:
            if (now_ >= request.until)
                add(Kind::timer);
            else if (request.wakes)
                add(Kind::wakes_early);
            break;
        default: break;
    }
}

void World::handler_moves(const Config& config, int who, std::vector<Move>& out) const {
    const Request& request = requests_[who];
    const auto add = [&](Kind kind, int arg = 0) {
        out.push_back({kind, static_cast<std::uint8_t>(who), static_cast<std::uint8_t>(arg)});
    };
    const bool hooked = config.rules.mode == Mode::hooked;
    switch (request.phase) {
        case Phase::queued: add(Kind::handler_starts); break;
        case Phase::started:
            add(Kind::effect);
            if (left_.fail > 0) add(Kind::ends_failed);
            if (left_.reject > 0) add(Kind::ends_rejected);
            if (left_.doubt > 0) add(Kind::ends_in_doubt);
            break;
        case Phase::acted:
            add(Kind::ends_done);
            if (left_.doubt > 0 && !hooked) add(Kind::ends_in_doubt);
            if (left_.fail > 0 && hooked) add(Kind::ends_failed);
            break;
        case Phase::resolving:
            add(Kind::resolver_knows);
            if (left_.doubt > 0) add(Kind::resolver_shrugs);
            break;
        default: break;
    }
}

void World::transaction_moves(const Config& config, int who, std::vector<Move>& out) const {
    const Request& request = requests_[who];
    const auto add = [&](Kind kind) { out.push_back({kind, static_cast<std::uint8_t>(who)}); };
    switch (request.phase) {
        case Phase::tx_waiting:
            if (store_.locked_by == nobody) add(Kind::locks_row);
            if (left_.lost > 0 || (config.rules.claim_inside && store_.locked_by != nobody)) add(Kind::refused);
            break;
        case Phase::tx_open:
            add(Kind::body_done);
            if (left_.fail > 0) add(Kind::body_fails);
            if (left_.reject > 0) add(Kind::body_rejects);
            break;
        case Phase::tx_ready:
            add(Kind::commits);
            if (left_.lost > 0) {
                add(Kind::commit_in_doubt);
                add(Kind::commit_conflict);
            }
            break;
        default: break;
    }
}

void World::world_moves(const Config& config, std::vector<Move>& out) const {
    const Row& row = store_.row;
    const bool free = store_.locked_by == nobody;
    if (left_.recover > 0 && free && row.exists && row.status == RecordStatus::processing && row.lease_over(now_))
        out.push_back({Kind::recover});
    if (left_.clean > 0 && free && row.exists && row.expired(now_)) out.push_back({Kind::clean});
    if (left_.kill > 0) {
        for (std::uint8_t instance = 0; instance < instances; ++instance) {
            bool alive = false;
            for (int who = 0; who < config.requests; ++who) {
                const Request& request = requests_[who];
                alive = alive || (request.instance == instance && request.phase != Phase::idle &&
                                  request.phase != Phase::over && request.phase != Phase::dead);
            }
            if (alive) out.push_back({Kind::kill, instance});
        }
    }
    if (left_.gate > 0 && config.rules.gate) {
        if (gate_.owner != nobody) out.push_back({Kind::lock_vanishes});
        if (gate_.cached.exists) out.push_back({Kind::cache_vanishes});
        if (snapshot_.owner != nobody || snapshot_.cached.exists) out.push_back({Kind::snapshot_returns});
    }
    if (left_.settle > 0 && operator_step_ == 0 && row.exists && row.status == RecordStatus::unknown)
        out.push_back({Kind::operator_looks});
    if (operator_step_ == 1 && free) out.push_back({Kind::operator_settles});
    if (left_.purge > 0 && purge_step_ == 0 && row.exists &&
        (is_final(row.status) || row.status == RecordStatus::unknown))
        out.push_back({Kind::purge_takes});
    if (purge_step_ == 1 && free) out.push_back({Kind::purge_deletes});
    if (purge_step_ == 2) out.push_back({Kind::purge_frees});
}

/// Once nothing else moves, time goes on to the next moment at which something does.
bool World::can_jump(const Config& config) const {
    for (int who = 0; who < config.requests; ++who)
        if (requests_[who].phase == Phase::waiting) return true;
    const Row& row = store_.row;
    if (!row.exists) return false;
    if (row.status == RecordStatus::processing) return true;
    return row.status == RecordStatus::unknown && config.rules.mode == Mode::hooked && row.owner >= 0 &&
           (!row.reference || requests_[row.owner].coordinated != Request::Coordinated::open);
}

void World::jump(const Config& config) {
    Tick next = 0;
    for (int who = 0; who < config.requests; ++who) {
        const Request& request = requests_[who];
        if (request.phase == Phase::waiting && (next == 0 || request.until < next)) next = request.until;
    }
    if (next != 0) {
        now_ = std::max(now_, next);
        return;
    }
    if (store_.row.status == RecordStatus::processing) now_ = std::max(now_, store_.row.lease);
    recover(config);
}

}  // namespace nebis::explore
