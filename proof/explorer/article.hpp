// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "search.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The article's interceptor (its section 4.3), bullet by bullet, in a world as small as ours: one key, a lock with the
/// article's two scripts, a table with a unique index, a recovery task. It has to be convicted.
namespace nebis::explore {

struct ArticleConfig {
    std::string_view name;
    int requests = 2;
    bool derived_ids = false;  ///< requestId made from the traceId: every duplicate has the same one
    int lock_vanishes = 0;     ///< its time is over, or Redis fails over
    int update_fails = 0;      ///< the update to SUCCESS throws
    int recovers = 0;          ///< the task that turns PROCESSING into FAIL and deletes the lock
    int handler_fails = 0;
    enum class Charge : std::uint8_t { any, double_effect, success_overwritten } charge = Charge::any;
};

struct ArticleMove {
    enum class Kind : std::uint8_t { step, handler_fails, update_fails, lock_vanishes, recover };
    Kind kind = Kind::step;
    std::uint8_t who = 0;
};

class ArticleWorld {
public:
    static constexpr int max_requests = 4;

    explicit ArticleWorld(const ArticleConfig& config)
        : lock_vanishes_(config.lock_vanishes),
          update_fails_(config.update_fails),
          recovers_(config.recovers),
          handler_fails_(config.handler_fails) {}
    void moves(const ArticleConfig& config, std::vector<ArticleMove>& out) const;
    static bool is_progress(ArticleMove::Kind kind) { return kind == ArticleMove::Kind::step; }
    void apply(const ArticleConfig& config, const ArticleMove& move);
    Digest digest(const ArticleConfig& config) const;
    std::string_view violation() const { return violation_ ? violation_ : std::string_view{}; }
    std::string_view end_violation(const ArticleConfig&) const { return {}; }
    std::string describe(const ArticleConfig& config, const ArticleMove& move) const;
    std::string picture(const ArticleConfig& config) const;

private:
    enum class At : std::uint8_t {
        try_lock,
        not_locked_select,
        insert,
        conflict_select,
        fail_to_processing,
        proceed,
        update_success,
        catch_update_fail,
        unlock,
        done
    };
    enum class Status : std::uint8_t { none, processing, success, fail };
    void step(const ArticleConfig& config, int who);
    void write(const ArticleConfig& config, Status status);

    std::array<At, max_requests> at_{};
    std::array<bool, max_requests> recorded_{};
    Status row_ = Status::none;
    std::int8_t lock_ = -1;  ///< the requestId in it
    std::uint8_t effects_ = 0;
    int lock_vanishes_, update_fails_, recovers_, handler_fails_;
    const char* violation_ = nullptr;
};

}  // namespace nebis::explore
