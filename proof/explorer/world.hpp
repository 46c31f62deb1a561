// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_store.hpp"
#include "protocol/request_machine.hpp"
#include "search.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The world that the real RequestMachine is driven through: a store, a gate, a coordinator, handlers, and every fault.
/// A state is a plain value; `moves` lists what may happen next, `apply` lets it happen. Whatever may be late is simply
/// a move that comes late: a paused process is one whose moves are not taken while time passes.
namespace nebis::explore {

inline constexpr int max_requests = 4;
inline constexpr int instances = 2;
inline constexpr Tick tick = 20;  ///< one step of the small clock, in milliseconds

/// How often each fault may strike in one history.
struct Budget {
    int ticks = 0;    ///< steps of time taken while something else could happen
    int lost = 0;     ///< requests or replies lost, refused or late, on the way to store and gate; ambiguous commits
    int kill = 0;     ///< an instance dies and starts again
    int recover = 0;  ///< scheduled recovery runs at a bad moment (it runs for free once nothing else moves)
    int gate = 0;     ///< the lock or the cached result vanishes, or an older snapshot of both comes back
    int fail = 0;     ///< the handler says: surely not executed
    int reject = 0;   ///< the handler refuses for good
    int doubt = 0;    ///< the handler doesn't know; its effect may still land, or has landed
    int settle = 0;   ///< an operator settles an UNKNOWN row
    int purge = 0;    ///< an operator purges
    int abandon = 0;  ///< a caller leaves
    int renew = 0;    ///< a lease is renewed
    int clean = 0;    ///< clean-up runs
};

struct Config {
    std::string_view name;
    protocol::Rules rules;
    int requests = 2;
    int others = 0;  ///< so many of them carry another payload
    Budget budget;
    Tick retention = 1000;
    Flaw flaw = Flaw::none;
    bool flood = false;  ///< the filter in front may say anything, and any caller may be over its quota
    bool exact = true;   ///< effects ≤ 1 for a key; else (retry) ≤ 1 + take-overs
};

/// The rules every configuration starts from: a lease of two ticks, budgets of one.
protocol::Rules small_rules(Mode mode);

struct Move {
    enum class Kind : std::uint8_t {
        start,
        arrive,   ///< the store, gate or coordinator carries out what was asked
        deliver,  ///< the reply reaches the request
        timer,
        wakes_early,  ///< a waiting duplicate looks again: something may have changed
        handler_starts,
        effect,
        ends_done,
        ends_failed,
        ends_rejected,
        ends_in_doubt,
        late_effect,
        locks_row,
        body_done,
        body_fails,
        body_rejects,
        commits,
        commit_in_doubt,
        commit_conflict,
        doubt_commits,
        doubt_aborts,
        resolver_knows,
        resolver_shrugs,
        lost,      ///< the request never arrives; the sender learns that it may have
        refused,   ///< the request is surely not applied
        delayed,   ///< the sender gives up; the request arrives later
        no_reply,  ///< applied, but the reply is lost
        ghost,     ///< a delayed request, or a leave, arrives
        abandon,
        renew,
        time,
        jump,  ///< nothing else can happen: time passes until something can
        recover,
        clean,
        kill,
        lock_vanishes,
        cache_vanishes,
        snapshot_returns,
        operator_looks,
        operator_settles,
        purge_takes,
        purge_deletes,
        purge_frees,
        coordinator_gives_up,
    };
    Kind kind;
    std::uint8_t who = 0;  ///< request or instance
    std::uint8_t arg = 0;
};

class World {
public:
    explicit World(const Config& config);

    void moves(const Config& config, std::vector<Move>& out) const;
    /// What must go on once faults have stopped; the others are faults or things nobody waits for.
    static bool is_progress(Move::Kind kind);
    void apply(const Config& config, const Move& move);
    Digest digest(const Config& config) const;
    /// Empty when all is well.
    std::string_view violation() const { return violation_ ? violation_ : std::string_view{}; }
    /// What must not be true of an end: a state in which nothing but faults can happen any more.
    std::string_view end_violation(const Config& config) const;
    std::string describe(const Config& config, const Move& move) const;
    std::string picture(const Config& config) const;

private:
    enum class Phase : std::uint8_t {
        idle,
        sent,
        replied,
        queued,
        started,
        acted,
        waiting,
        tx_waiting,
        tx_open,
        tx_ready,
        resolving,
        over,
        dead
    };
    enum class Call : std::uint8_t {
        none,
        enter,
        begin,
        find,
        finish,
        note,
        reserve,
        hook_before,
        commit,
        rollback,
        leave
    };

    struct Asked {  ///< a request on its way
        Call call = Call::none;
        protocol::Action::Finish what{};
        RecordStatus status{};
        std::uint8_t version = 0;
        std::uint8_t response = 0;
        bool take_lease = false, take_unknown = false, lapse = false;
        bool keep = false;  ///< leave
        std::uint8_t generation = 0, hash = 0;
        Tick not_after = 0;
        Tick ttl = 0;
    };
    struct Reply {
        protocol::Event::Kind kind{};
        std::uint8_t outcome = 0;  ///< of enter, begin, atomic report or resolution
        RecordStatus result{};
        bool ours = false, applied = false, ambiguous = false, ok = false, not_started = false;
        bool lease_over = false, expired = false;
        std::uint8_t version = 0;
        Tick remaining = 0;
        Row row{};
    };
    struct Seen {  ///< what the driver holds of the record it was shown last
        RecordStatus status{};
        std::uint8_t response = 0, generation = 0, hash = 0;
        Tick expire = 0;
    };
    struct Request {
        protocol::RequestMachine machine{nullptr};
        Phase phase = Phase::idle;
        std::uint8_t instance = 0;
        std::uint8_t hash = 0;
        std::uint8_t generation = 0;  ///< of the row it acquired
        Asked asked;
        Reply reply;
        std::array<Asked, 4> ghosts{};
        Seen seen;
        Tick until = 0;
        bool wakes = false;  ///< its wait ends by a change too
        bool unprotected = false;
        RecordStatus tx_status{};
        std::uint8_t tx_version = 0, tx_generation = 0;
        bool tx_took_over = false;
        bool in_doubt = false, may_commit = false;
        bool acted = false;         ///< its effect has landed
        bool late_effect = false;   ///< its effect may still land
        bool given_up = false;      ///< its caller was told that the record could not be written yet
        bool told_nothing = false;  ///< it was told that nothing happened, and nothing may
        bool answered = false;
        bool ran = false;
        bool hit = false;  ///< a fault struck this attempt
        enum class Coordinated : std::uint8_t { none, open, committed, rolled_back } coordinated{};
    };

    // driver.cpp: what carries the machine's actions out
    void feed(const Config& config, int who, const protocol::Event& event);
    void carry_out(const Config& config, int who, protocol::Action action);
    void send(const Config& config, int who, Call call, const protocol::Action& action);
    void arrive(const Config& config, int who, const Asked& asked, Reply* reply);
    void fail_call(int who, bool ambiguous);
    protocol::Event event_of(const Request& request) const;
    void show(int who, const Row& row, Reply& reply) const;
    void add_ghost(int who, const Asked& asked);
    void drop_dead_ghosts(const Config& config);
    void store_call(const Config& config, int who, const Asked& asked, Reply& reply);
    void hook_call(const Config& config, int who, const Asked& asked, Reply& reply);
    // world.cpp: what happens in the world
    void request_move(const Config& config, const Move& move);
    void transaction_move(const Config& config, const Move& move);
    void world_move(const Config& config, const Move& move);
    void request_moves(const Config& config, int who, std::vector<Move>& out) const;
    void call_moves(const Config& config, int who, std::vector<Move>& out) const;
    void handler_moves(const Config& config, int who, std::vector<Move>& out) const;
    void transaction_moves(const Config& config, int who, std::vector<Move>& out) const;
    void world_moves(const Config& config, std::vector<Move>& out) const;
    bool blocked(const Config& config, const Asked& asked) const;
    bool can_jump(const Config& config) const;
    void land_effect(const Config& config, int who);
    void handler_ends(const Config& config, int who, RecordStatus result, bool not_started = false);
    void transaction_ends(const Config& config, int who, AtomicReport::Kind kind, RecordStatus status);
    Resolution::Kind look(const Config& config);
    void commit(const Config& config, int who);
    void recover(const Config& config);
    void kill(const Config& config, int instance);
    void jump(const Config& config);
    // checks.cpp: the invariants
    void blame(const char* what) {
        if (!violation_) violation_ = what;
    }
    struct Before {
        Row row;
        ModelGate gate;
    };
    void check_step(const Config& config, const Move& move, const Before& before);
    void check_answer(const Config& config, int who, const protocol::Action& action);
    void check_start(const Config& config, int who);

    ModelStore store_;
    ModelGate gate_;
    ModelGate snapshot_;
    std::array<Request, max_requests> requests_;
    Budget left_;
    std::array<Tick, instances> grace_{};
    Tick now_ = tick;
    std::uint8_t barred_ = 0;  ///< effects of attempts up to this version can't happen any more
    std::array<std::uint8_t, 16> effects_{};
    std::array<std::uint8_t, 16> take_overs_{};
    std::array<std::uint8_t, 16> told_{};  ///< by generation: the response that successes were answered with
    std::uint8_t operator_step_ = 0, operator_version_ = 0;
    bool operator_happened_ = false;
    std::uint8_t purge_step_ = 0, purge_version_ = 0, purged_generation_ = 0;
    std::uint8_t greatest_version_ = 0;  ///< ever seen in the row
    bool stale_ = false;                 ///< a snapshot came back
    const char* violation_ = nullptr;
};

}  // namespace nebis::explore
