// SPDX-License-Identifier: Apache-2.0
#include "article.hpp"

#include <algorithm>

namespace nebis::explore {

using Kind = ArticleMove::Kind;

void ArticleWorld::moves(const ArticleConfig& config, std::vector<ArticleMove>& out) const {
    for (std::uint8_t who = 0; who < config.requests; ++who) {
        if (at_[who] == At::done) continue;
        out.push_back({Kind::step, who});
        if (at_[who] == At::proceed && handler_fails_ > 0) out.push_back({Kind::handler_fails, who});
        if (at_[who] == At::update_success && update_fails_ > 0) out.push_back({Kind::update_fails, who});
    }
    if (lock_ >= 0 && lock_vanishes_ > 0) out.push_back({Kind::lock_vanishes});
    if (row_ == Status::processing && recovers_ > 0) out.push_back({Kind::recover});
}

void ArticleWorld::write(const ArticleConfig& config, Status status) {
    if (row_ == Status::success && status == Status::fail && config.charge != ArticleConfig::Charge::double_effect &&
        !violation_)
        violation_ = "I6: SUCCESS was overwritten by FAIL";
    row_ = status;
}

void ArticleWorld::apply(const ArticleConfig& config, const ArticleMove& move) {
    switch (move.kind) {
        case Kind::step: return step(config, move.who);
        case Kind::handler_fails:
            --handler_fails_;
            at_[move.who] = At::catch_update_fail;
            return;
        case Kind::update_fails:
            --update_fails_;
            at_[move.who] = At::catch_update_fail;
            return;
        case Kind::lock_vanishes:
            --lock_vanishes_;
            lock_ = -1;
            return;
        case Kind::recover:
            --recovers_;
            row_ = Status::fail;
            lock_ = -1;
            return;
    }
}

void ArticleWorld::step(const ArticleConfig& config, int who) {
    const std::int8_t id = config.derived_ids ? std::int8_t{0} : static_cast<std::int8_t>(who);
    At& at = at_[who];
    switch (at) {
        case At::try_lock:
            if (lock_ < 0) lock_ = id;
            at = lock_ == id ? At::insert : At::not_locked_select;  // the same id may enter again
            return;
        case At::not_locked_select: at = At::done; return;  // replays SUCCESS, else throws "in progress"
        case At::insert:
            recorded_[who] = row_ == Status::none;
            if (recorded_[who]) row_ = Status::processing;
            at = recorded_[who] ? At::proceed : At::conflict_select;
            return;
        case At::conflict_select:
            at = row_ == Status::success ? At::unlock
                 : row_ == Status::fail  ? At::fail_to_processing
                                         : At::catch_update_fail;  // "in progress" is thrown inside the try
            return;
        case At::fail_to_processing:
            write(config, Status::processing);
            at = At::proceed;
            return;
        case At::proceed:
            if (++effects_ > 1 && config.charge != ArticleConfig::Charge::success_overwritten && !violation_)
                violation_ = "I1: the effect happened twice";
            at = At::update_success;
            return;
        case At::update_success:
            write(config, Status::success);
            at = At::unlock;
            return;
        case At::catch_update_fail:
            if (recorded_[who] || row_ != Status::none) write(config, Status::fail);
            at = At::unlock;
            return;
        case At::unlock:
            if (lock_ == id) lock_ = -1;
            at = At::done;
            return;
        case At::done: return;
    }
}

Digest ArticleWorld::digest(const ArticleConfig& config) const {
    Digest requests;
    for (int who = 0; who < config.requests; ++who) {
        Digest one;
        one.take(static_cast<std::uint64_t>(at_[who]) << 8 | static_cast<std::uint64_t>(recorded_[who]) << 1 |
                 static_cast<std::uint64_t>(!config.derived_ids && lock_ == who));
        requests.add(one);
    }
    requests.take(static_cast<std::uint64_t>(row_) << 8 | static_cast<std::uint64_t>(lock_ >= 0) << 4 |
                  std::min<std::uint64_t>(effects_, 2));
    for (int left : {lock_vanishes_, update_fails_, recovers_, handler_fails_})
        requests.take(static_cast<std::uint64_t>(left));
    return requests;
}

std::string ArticleWorld::describe(const ArticleConfig&, const ArticleMove& move) const {
    const std::string who = "R" + std::to_string(move.who + 1);
    switch (move.kind) {
        case Kind::handler_fails: return who + "'s method throws before its effect";
        case Kind::update_fails: return who + "'s update to SUCCESS throws";
        case Kind::lock_vanishes: return "the lock's time is over";
        case Kind::recover: return "the recovery task sets FAIL and deletes the lock";
        case Kind::step: break;
    }
    switch (at_[move.who]) {
        case At::try_lock: return who + " tries the lock";
        case At::not_locked_select: return who + " doesn't have the lock, selects, and ends";
        case At::insert: return who + " inserts PROCESSING";
        case At::conflict_select: return who + " meets the unique index and selects";
        case At::fail_to_processing: return who + " sets FAIL to PROCESSING";
        case At::proceed: return who + "'s effect happens";
        case At::update_success: return who + " sets SUCCESS";
        case At::catch_update_fail: return who + "'s catch (Throwable) sets FAIL";
        case At::unlock: return who + " unlocks";
        case At::done: break;
    }
    return "?";
}

std::string ArticleWorld::picture(const ArticleConfig&) const {
    static constexpr const char* names[] = {"no row", "row PROCESSING", "row SUCCESS", "row FAIL"};
    return std::string("[") + names[static_cast<int>(row_)] + (lock_ >= 0 ? ", locked" : ", no lock") + ", effects " +
           std::to_string(effects_) + "]";
}

}  // namespace nebis::explore
