// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/policy.hpp"
#include "nebis/store.hpp"

#include <array>
#include <cstdint>
#include <string_view>

/// The heart: one protected request as a machine without I/O, thread, clock or random source (decision D1).
///
/// The machine is told what happened (`Event`) and answers what to do next (`Action`). It never sees keys, hashes or
/// bodies: whoever drives it carries them and translates. The runtime drives it with threads, the explorer with every
/// order of events there is, tests with a table. It is a small trivially copyable value, so that a state of the world
/// is a copy of it. Rules: protocol.md, "The five steps".
namespace nebis::protocol {

using Millis = std::int64_t;  ///< monotonic milliseconds of the process

/// What an operation's settings mean to the machine. Fixed for a machine's life.
struct Rules {
    Mode mode = Mode::execute;
    bool claim_inside = false;
    bool gate = true;                ///< there is one
    bool fail_open = true;           ///< a failing gate lets the request pass on to the store
    bool allow_unprotected = false;  ///< `on-store-failure: allow`
    bool wait_for_answer = false;    ///< `duplicate-handler: wait`
    bool refuse_finished = false;    ///< `on-finished: refuse`
    OnUnknown on_unknown = OnUnknown::hold;
    bool resolver = false;  ///< `ask` has somebody to ask
    Millis lease = 10'000;
    Millis margin = 500;  ///< the handler starts only while this much of the lease is left
    Millis wait = 0;
    Millis enter_budget = 250;
    Millis begin_budget = 2'000;
    Millis finish_budget = 5'000;   ///< how long the caller waits for the record of its finished handler
    Millis retention = 86'400'000;  ///< a record stays at least that long after the begin that made it
    Millis record_for = 600'000;    ///< how long the process goes on trying after that, and to give a claim back
    Millis retry_first = 20;        ///< back-off of repeated finishes
    Millis retry_max = 5'000;

    /// A request may go on to the store without a word from the gate: the store alone decides then.
    bool gate_is_optional() const noexcept { return gate && fail_open && !claim_inside; }
};

/// A row as the driver of the machine sees it: compared with this request's owner and hash already.
struct RowView {
    bool exists = false;
    RecordStatus status = RecordStatus::processing;
    std::uint64_t version = 0;
    bool ours = false;        ///< its owner is this attempt's
    bool lease_over = false;  ///< PROCESSING: by the store's clock
    bool expired = false;     ///< final and past expire_time
    bool fits = true;         ///< request hash equal under the row's scheme
    Millis remaining = 0;     ///< rest of the lease
};

struct Event {
    enum class Kind : std::uint8_t {
        start,
        proceed,       ///< an action that isn't waited for (answer, leave) was carried out
        entered,       ///< the gate answered: `enter`, `remaining`
        enter_failed,  ///< no answer in time, or an error
        begun,         ///< the store answered a begin: `begin`, `version`, `ours`, `remaining`
        begin_failed,  ///< `ambiguous` tells whether it may have been applied
        found,         ///< the store answered a find: `row`
        find_failed,
        handled,        ///< the handler ended: `result`
        atomic_ended,   ///< the transaction runner ended: `report`; for `found` also `begin`, `ours`, `remaining`
        hooked,         ///< a hook ended: `ok`; not ok and `ambiguous`: its fate isn't known
        finished,       ///< the store answered a finish: `applied`, else `row`
        finish_failed,  ///< `ambiguous`
        reserved,       ///< the store answered a reserve: `ok`
        resolved,       ///< the resolver answered: `resolution`
        timer,          ///< a wait ended, by time or because something may have changed
        abandon,        ///< the caller has left. Only told while waiting or at any event before the handler runs
    };
    Kind kind = Kind::start;
    Millis now = 0;
    EnterOutcome::Kind enter{};
    BeginOutcome::Kind begin{};
    AtomicReport::Kind report{};
    Resolution::Kind resolution{};
    RecordStatus result =
        RecordStatus::success;  ///< handled: what the handler's end means. atomic committed: what was recorded
    bool ours = false;          ///< begun as in_progress, finished or unknown: the row's owner is this attempt's
    bool fits = true;           ///< reserved for drivers; the store compared already
    bool applied = false;
    bool ambiguous = false;
    bool ok = false;
    bool answered = false;     ///< begin_failed: the store isn't away, it says no (a damaged record, say)
    bool not_started = false;  ///< handled: the handler was never started (executor refused, drained)
    bool unseen = false;       ///< start: the filter in front hasn't met this key, so the gate isn't asked about it. A
                               ///< hint that may be wrong in either way
    bool over_quota = false;   ///< start: the caller may make no new key now; one that is known is answered as ever
    std::uint64_t version = 0;
    Millis remaining = 0;
    RowView row{};
};

/// What a caller is told.
enum class Verdict : std::uint8_t {
    none,
    fresh,     ///< the handler's own result; `recorded` tells whether it is durable
    row,       ///< the row's status and response: a replay, or what was settled meanwhile
    cached,    ///< the gate's cached result
    resolved,  ///< what the resolver said and was just recorded
    in_progress,
    mismatch,
    unknown,
    duplicate,
    fenced_off,
    unavailable,  ///< surely without effect, or (after an ambiguous commit) not known: `maybe`
    abandoned,    ///< nobody is listening any more
    over_quota,   ///< the key is new, and its caller may make none now
};

struct Action {
    enum class Kind : std::uint8_t {
        none,  ///< nothing to do now; wait for the outstanding event
        enter,
        begin,  ///< take_over_lease / lapse as `take_over` says, unless the process is in its grace
        find,
        run,         ///< the handler (`unprotected`: without a record)
        run_atomic,  ///< the handler through its transaction runner; claim before or inside by the rules
        hook_before,
        hook_commit,
        hook_rollback,
        note,     ///< hooked: keep outcome_ref (and the response) in the PROCESSING row: a finish to PROCESSING
        finish,   ///< to `status`, by `what`
        reserve,  ///< a renew with `ask` on the row last seen
        ask,      ///< the resolver
        wait,     ///< until `until` or a change
        answer,   ///< tell the caller `verdict`; then feed `proceed`
        leave,    ///< the gate, with the result if `keep`; not waited for; then feed `proceed`
        done,
    };
    enum class Finish : std::uint8_t {
        own,        ///< this attempt's result, from PROCESSING or UNKNOWN
        give_back,  ///< to FAIL: the handler never ran (from MARKED too)
        settle,     ///< what the resolver said, from UNKNOWN, in the name of the row's owner and version
    };
    Kind kind = Kind::none;
    Verdict verdict = Verdict::none;
    Finish what = Finish::own;
    RecordStatus status = RecordStatus::success;
    bool recorded = true;
    bool maybe = false;
    bool unprotected = false;
    bool keep = false;             ///< leave: keep the result that was answered
    bool take_over_lease = false;  ///< begin
    bool take_over_unknown = false;
    bool lapse = false;
    std::uint64_t version = 0;  ///< finish, answer
    Millis until = 0;           ///< deadline of the action, or the end of the wait
    Millis retry_after = 0;
};

class RequestMachine {
public:
    explicit RequestMachine(const Rules* rules) noexcept : rules_(rules) {}

    /// Feed one event, get the next action. **Errors**: none; an event that can't come in this state is a bug and
    /// aborts the process.
    Action on(const Event& event);

    std::uint64_t version() const noexcept { return version_; }
    bool holds_record() const noexcept { return acquired_; }
    bool answered() const noexcept { return answered_; }
    bool ended() const noexcept { return state_ == State::done; }
    /// Monotonic moment after which the handler must not start, and `check()` fails unless renewed.
    Millis lease_end() const noexcept { return first_sent_ + rules_->lease - rules_->margin; }
    /// For explorers: words that are equal exactly when two machines have the same future. Times are counted from
    /// `now`.
    std::array<std::uint64_t, 3> digest(Millis now) const noexcept;
    std::string_view state_name() const noexcept;

private:
    enum class State : std::uint8_t {
        idle,
        quota_finding,
        entering,
        held_finding,
        beginning,
        reading_back,
        orphan_waiting,
        orphan_finding,
        running,
        atomic_running,
        hook_before,
        noting_ref,
        noting_response,
        hook_commit,
        hook_rollback,
        finishing,
        finish_waiting,
        giving_back,
        give_back_waiting,
        disproving,
        disprove_waiting,
        inside_disproving,
        reserving,
        asking,
        settling,
        waiting,
        wait_finding,
        answering,
        leaving,
        done,
    };

    /// A claim that nobody works on is given back for as long as the process keeps trying, and at least so many times,
    /// however slow the replies: else it would end as UNKNOWN though nothing happened.
    static constexpr std::uint8_t least_tries = 6;
    /// A waiting duplicate looks at least this long apart; the runtime's change notification comes before it.
    static constexpr Millis shortest_wait = 20;

    // One step each; the event's handling by state is in `on`.
    Action started(const Event& event);
    Action quota_found(const Event& event);
    Action enter(Millis now);
    Action entered(const Event& event);
    Action begin(Millis now);
    Action send_begin(Millis now);
    Action begun(const Event& event);
    Action begin_failed(const Event& event);
    Action read_back(const Event& event);
    Action acquired(Millis now, std::uint64_t version);
    Action handled(const Event& event);
    Action hook_ended(const Event& event);
    Action noted(const Event& event);
    Action atomic_ended(const Event& event);
    Action disprove(Millis now);
    Action disproved(const Event& event);
    Action inside_disproved(const Event& event);
    Action disprove_again(Millis now);
    bool record_may_be_gone(Millis now) const noexcept;
    Action finish(Millis now, RecordStatus status, Verdict then);
    Action send_finish(Millis now);
    Action finish_ended(const Event& event);
    Action give_back(Millis now);
    Action send_give_back(Millis now);
    Action gave_back(const Event& event);
    bool worth_another_try(Millis now) const noexcept;
    Action orphan(const Event& event);
    Action unknown_row(Millis now, std::uint64_t version);
    Action reserved(const Event& event);
    Action resolved(const Event& event);
    Action settled(const Event& event);
    Action held(const Event& event);
    Action in_progress(Millis now, Millis remaining);
    Action look_again(const Event& event);
    Action finished_row(RecordStatus status);
    Action answer(Verdict verdict);
    Action after_answer(Millis now);
    Action leave(Millis now);
    Action after_leave(Millis now);
    Action find(State next, Millis now);
    Action wait(State next, Millis until);
    Action back_off(State next, Millis now);
    static std::uint32_t expected(State state) noexcept;
    [[noreturn]] void unexpected(const Event& event) const noexcept;

    const Rules* rules_;
    State state_ = State::idle;
    Verdict then_ = Verdict::fresh;  ///< what to answer when the finish under way is recorded
    RecordStatus finish_status_ = RecordStatus::success;
    bool lock_ = false;       ///< the gate's lock is, or may be, ours
    bool lock_sure_ = false;  ///< the gate said so, so that it became ours before everything that followed
    bool acquired_ = false;
    bool answered_ = false;
    bool abandoned_ = false;
    bool ran_ = false;  ///< the handler was started
    bool unprotected_ = false;
    bool begin_resent_ = false;  ///< an ambiguous begin is out there, and a second was sent with the same owner
    bool stray_ = false;         ///< a begin whose reply was lost may still be applied
    bool asked_ = false;         ///< the resolver is asked at most once for a request
    bool keep_ = false;          ///< leave keeps the answered result
    bool recording_ = false;     ///< the caller has the true answer; the record is still being written
    bool giving_back_ = false;   ///< answered already; the claim is still to be given back
    bool wait_after_leave_ = false;
    bool maybe_ = false;
    std::uint8_t tries_ = 0;
    std::uint64_t version_ = 0;
    std::uint64_t row_version_ = 0;  ///< of an UNKNOWN row being asked about
    Millis first_sent_ = 0;          ///< when the first begin of this round was sent: the lease counts from then
    Millis phase_started_ = 0;
    Millis back_off_ = 0;
    Millis wait_end_ = 0;
    Millis remaining_ = 0;
};

}  // namespace nebis::protocol
