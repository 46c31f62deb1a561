// SPDX-License-Identifier: Apache-2.0
#include "protocol/request_machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace nebis::protocol {
namespace {

constexpr std::uint8_t give_back_tries = 8;
constexpr std::uint8_t orphan_tries = 6;
/// A waiting duplicate looks at least this long apart; the runtime's change notification comes before it.
constexpr Millis shortest_wait = 20;

}  // namespace

void RequestMachine::unexpected(const Event& event) const {
    // A driver that feeds an impossible event has lost track of a claim; going on could run a handler twice.
    std::fprintf(stderr, "nebis: protocol invariant broken: event %d in state %s\n", static_cast<int>(event.kind),
                 state_name().data());
    std::abort();
}

Action RequestMachine::on(const Event& event) {
    using Kind = Event::Kind;
    if (event.kind == Kind::abandon) {
        abandoned_ = true;
        return state_ == State::waiting ? answer(Verdict::abandoned) : Action{};
    }
    switch (state_) {
        case State::idle:
            if (event.kind != Kind::start) break;
            wait_end_ = event.now + rules_->wait;
            return enter(event.now);
        case State::entering:
            if (event.kind == Kind::entered) {
                if (event.enter == EnterOutcome::Kind::finished)
                    return answer(rules_->refuse_finished ? Verdict::duplicate : Verdict::cached);
                if (event.enter == EnterOutcome::Kind::held) {
                    remaining_ = event.remaining;
                    return find(State::held_finding, event.now);
                }
                lock_ = true;
                return begin(event.now);
            }
            if (event.kind == Kind::enter_failed) {
                lock_ = event.ambiguous;  // go on, and release by owner
                return rules_->fail_open ? begin(event.now) : answer(Verdict::unavailable);
            }
            break;
        case State::held_finding:
            if (event.kind == Kind::found) return held(event);
            if (event.kind == Kind::find_failed) return answer(Verdict::unavailable);
            break;
        case State::beginning:
            if (event.kind == Kind::begun) return begun(event);
            if (event.kind == Kind::begin_failed) return begin_failed(event);
            break;
        case State::reading_back:
            if (event.kind == Kind::found || event.kind == Kind::find_failed) return read_back(event);
            break;
        case State::running:
            if (event.kind == Kind::handled) return handled(event);
            break;
        case State::atomic_running:
            if (event.kind == Kind::atomic_ended) return atomic_ended(event);
            break;
        case State::hook_before:
        case State::hook_commit:
        case State::hook_rollback:
            if (event.kind == Kind::hooked) return hook_ended(event);
            break;
        case State::noting_ref:
        case State::noting_response:
            if (event.kind == Kind::finished || event.kind == Kind::finish_failed) return noted(event);
            break;
        case State::finishing:
            if (event.kind == Kind::finished || event.kind == Kind::finish_failed) return finish_ended(event);
            break;
        case State::finish_waiting:
            if (event.kind == Kind::timer) return send_finish(event.now);
            break;
        case State::giving_back:
            if (event.kind == Kind::finished || event.kind == Kind::finish_failed) return gave_back(event);
            break;
        case State::give_back_waiting:
            if (event.kind == Kind::timer) return send_give_back(event.now);
            break;
        case State::disproving:
        case State::inside_disproving: return disproved(event);
        case State::disprove_waiting:
            if (event.kind == Kind::timer) return disprove(event.now);
            break;
        case State::orphan_waiting:
            if (event.kind == Kind::timer) return find(State::orphan_finding, event.now);
            break;
        case State::orphan_finding:
            if (event.kind == Kind::found || event.kind == Kind::find_failed) return orphan(event);
            break;
        case State::reserving:
            if (event.kind != Kind::reserved) break;
            if (!event.ok) return answer(Verdict::unknown);  // somebody else asks
            state_ = State::asking;
            return {.kind = Action::Kind::ask,
                    .version = row_version_,
                    .until = event.now + rules_->lease - rules_->margin};
        case State::asking:
        case State::settling: return settled(event);
        case State::waiting:
            if (event.kind == Kind::timer) return find(State::wait_finding, event.now);
            break;
        case State::wait_finding:
            if (event.kind == Kind::found || event.kind == Kind::find_failed) return look_again(event);
            break;
        case State::answering:
            if (event.kind == Kind::proceed) return after_answer(event.now);
            break;
        case State::leaving:
            if (event.kind == Kind::proceed) return after_leave(event.now);
            break;
        case State::done: break;
    }
    unexpected(event);
}

// ---- enter and begin
// -------------------------------------------------------------------------------------------------

Action RequestMachine::enter(Millis now) {
    if (!rules_->gate) return begin(now);
    state_ = State::entering;
    return {.kind = Action::Kind::enter, .until = now + rules_->enter_budget};
}

Action RequestMachine::held(const Event& event) {
    const RowView& row = event.row;
    // A stale lock must never hide a result; but only a row that decides is an answer here, the lock's holder does the
    // rest.
    if (row.exists && !row.expired && !row.fits) return answer(Verdict::mismatch);
    if (row.exists && is_final(row.status) && !row.expired && row.status != RecordStatus::fail)
        return finished_row(row.status);
    if (row.exists && row.status == RecordStatus::unknown && rules_->on_unknown != OnUnknown::retry &&
        rules_->mode != Mode::atomic)
        return answer(Verdict::unknown);
    return in_progress(event.now, row.exists && row.remaining > 0 ? row.remaining : remaining_);
}

Action RequestMachine::begin(Millis now) {
    if (abandoned_) return answer(Verdict::abandoned);
    if (rules_->mode == Mode::atomic && rules_->claim_inside) {
        first_sent_ = now;
        ran_ = true;
        state_ = State::atomic_running;
        return {.kind = Action::Kind::run_atomic,
                .take_over_lease = true,
                .take_over_unknown = true,
                .until = now + rules_->begin_budget};
    }
    first_sent_ = now;
    begin_resent_ = false;
    return send_begin(now);
}

Action RequestMachine::send_begin(Millis now) {
    if (state_ != State::inside_disproving) state_ = State::beginning;
    const bool again =
        rules_->mode == Mode::atomic || (rules_->mode == Mode::execute && rules_->on_unknown == OnUnknown::retry);
    return {.kind = Action::Kind::begin,
            .take_over_lease = again,
            .take_over_unknown = again,
            .lapse = !again && rules_->mode != Mode::mark,
            .until = now + rules_->begin_budget};
}

Action RequestMachine::begun(const Event& event) {
    using Kind = BeginOutcome::Kind;
    switch (event.begin) {
        case Kind::acquired: return acquired(event.now, event.version);
        case Kind::in_progress:
            if (event.ours) {  // our own insert, whose reply was lost
                if (event.remaining > 0) return acquired(event.now, event.version);
                version_ = event.version;
                return give_back(event.now);  // too late to start; the handler never ran
            }
            return in_progress(event.now, event.remaining);
        case Kind::finished:
            if (event.ours && event.row.status == RecordStatus::marked) return acquired(event.now, event.version);
            return finished_row(event.row.status);
        case Kind::mismatch: return answer(Verdict::mismatch);
        case Kind::unknown:
            if (event.ours) {
                version_ = event.version;
                return give_back(event.now);
            }
            return unknown_row(event.now, event.version);
        case Kind::late:
            // This begin changed nothing, but the one whose reply was lost may have.
            if (begin_resent_) return find(State::reading_back, event.now);
            return answer(Verdict::unavailable);
        case Kind::other_scheme: break;  // the driver hashes again and asks again; never shown to the machine
    }
    unexpected(event);
}

Action RequestMachine::begin_failed(const Event& event) {
    stray_ = stray_ || event.ambiguous;
    if (event.ambiguous && !begin_resent_) return find(State::reading_back, event.now);
    if (stray_ || !rules_->allow_unprotected) return answer(Verdict::unavailable);
    if (abandoned_) return answer(Verdict::abandoned);
    unprotected_ = ran_ = true;
    state_ = State::running;
    return {.kind = Action::Kind::run, .unprotected = true};
}

Action RequestMachine::read_back(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::found && row.exists && row.ours) {
        if (row.status == RecordStatus::marked || (row.status == RecordStatus::processing && !row.lease_over))
            return acquired(event.now, row.version);
        if (row.status == RecordStatus::processing || row.status == RecordStatus::unknown) {
            version_ = row.version;
            return give_back(event.now);
        }
    }
    if (!begin_resent_) {
        begin_resent_ = true;
        return send_begin(event.now);
    }
    stray_ = event.kind == Event::Kind::find_failed;  // a good look after `late` has shown that nothing came of it
    return answer(Verdict::unavailable);
}

Action RequestMachine::acquired(Millis now, std::uint64_t version) {
    acquired_ = true;
    version_ = version;
    if (abandoned_) return give_back(now);
    if (rules_->mode != Mode::mark && now >= lease_end()) return give_back(now);
    if (rules_->mode == Mode::hooked) {
        state_ = State::hook_before;
        return {.kind = Action::Kind::hook_before, .version = version_, .until = lease_end()};
    }
    ran_ = true;
    if (rules_->mode == Mode::atomic) {
        state_ = State::atomic_running;
        return {.kind = Action::Kind::run_atomic, .version = version_, .until = now + rules_->begin_budget};
    }
    state_ = State::running;
    return {.kind = Action::Kind::run, .version = version_};
}

// ---- the handler and what it means
// -----------------------------------------------------------------------------------

Action RequestMachine::handled(const Event& event) {
    if (unprotected_ || rules_->mode == Mode::mark) finish_status_ = event.result;  // told, though nothing is written
    if (unprotected_) return answer(event.not_started ? Verdict::unavailable : Verdict::fresh);
    if (event.not_started) {
        ran_ = false;
        if (rules_->mode != Mode::hooked) return give_back(event.now);
        finish_status_ = RecordStatus::fail;
        then_ = Verdict::unavailable;
    } else if (rules_->mode == Mode::mark) {
        return answer(Verdict::fresh);
    } else if (rules_->mode == Mode::execute) {
        return finish(event.now, event.result, Verdict::fresh);
    } else if (event.result == RecordStatus::success) {
        finish_status_ = RecordStatus::success;
        state_ = State::noting_response;
        return {.kind = Action::Kind::note, .version = version_, .until = event.now + rules_->finish_budget};
    } else {
        finish_status_ = event.result == RecordStatus::rejected ? RecordStatus::rejected : RecordStatus::fail;
        then_ = Verdict::fresh;
    }
    state_ = State::hook_rollback;
    return {.kind = Action::Kind::hook_rollback, .version = version_};
}

Action RequestMachine::hook_ended(const Event& event) {
    if (state_ == State::hook_before) {
        if (!event.ok) return give_back(event.now);
        state_ = State::noting_ref;
        return {.kind = Action::Kind::note, .version = version_, .until = event.now + rules_->finish_budget};
    }
    if (state_ == State::hook_commit) {
        if (event.ok) return finish(event.now, RecordStatus::success, Verdict::fresh);
        if (event.ambiguous) return finish(event.now, RecordStatus::unknown, Verdict::unknown);
        finish_status_ = RecordStatus::fail;
        then_ = Verdict::unavailable;
        state_ = State::hook_rollback;
        return {.kind = Action::Kind::hook_rollback, .version = version_};
    }
    if (then_ == Verdict::fenced_off) return answer(Verdict::fenced_off);
    // "Don't know" is not "rolled back".
    return event.ok ? finish(event.now, finish_status_, then_)
                    : finish(event.now, RecordStatus::unknown, Verdict::unknown);
}

Action RequestMachine::noted(const Event& event) {
    const bool ref = state_ == State::noting_ref;
    if (event.kind == Event::Kind::finished && event.applied) {
        if (ref && event.now >= lease_end()) {
            then_ = Verdict::unavailable;
            finish_status_ = RecordStatus::fail;
        } else {
            state_ = ref ? State::running : State::hook_commit;
            ran_ = true;
            return {.kind = ref ? Action::Kind::run : Action::Kind::hook_commit, .version = version_};
        }
    } else {
        // The row isn't ours any more, or may not hold what a recovery would need: take the transaction back.
        then_ = event.kind == Event::Kind::finished ? Verdict::fenced_off : Verdict::unavailable;
        finish_status_ = RecordStatus::fail;
    }
    state_ = State::hook_rollback;
    return {.kind = Action::Kind::hook_rollback, .version = version_};
}

Action RequestMachine::atomic_ended(const Event& event) {
    using Kind = AtomicReport::Kind;
    switch (event.report) {
        case Kind::committed:
            if (rules_->claim_inside) version_ = event.version;
            acquired_ = true;
            finish_status_ = event.result;
            keep_ = is_terminal(event.result);
            return answer(Verdict::fresh);
        case Kind::rolled_back:
            finish_status_ = event.result;
            if (rules_->claim_inside) return answer(event.not_started ? Verdict::unavailable : Verdict::fresh);
            if (event.not_started) return give_back(event.now);
            return finish(event.now, event.result, Verdict::fresh);
        case Kind::fenced_off: return answer(Verdict::fenced_off);
        case Kind::ambiguous:
            phase_started_ = event.now;
            back_off_ = rules_->retry_first;
            return disprove(event.now);
        case Kind::found:
            ran_ = false;
            if (event.begin == BeginOutcome::Kind::finished) return finished_row(event.row.status);
            if (event.begin == BeginOutcome::Kind::mismatch) return answer(Verdict::mismatch);
            if (event.begin == BeginOutcome::Kind::late) return answer(Verdict::unavailable);
            return in_progress(event.now, event.remaining);
    }
    unexpected(event);
}

/// An ambiguous commit is read back with a write: a plain read may miss a commit still under way.
Action RequestMachine::disprove(Millis now) {
    if (rules_->claim_inside) {
        state_ = State::inside_disproving;
        return send_begin(now);
    }
    state_ = State::disproving;
    return {.kind = Action::Kind::finish,
            .what = Action::Finish::own,
            .status = RecordStatus::fail,
            .version = version_,
            .until = now + rules_->finish_budget};
}

Action RequestMachine::disproved(const Event& event) {
    const RowView& row = event.row;
    bool again = event.kind == Event::Kind::finish_failed || event.kind == Event::Kind::begin_failed;
    stray_ = stray_ || (event.kind == Event::Kind::begin_failed && event.ambiguous);
    // So late that a committed record may have come and gone: that it isn't there proves nothing any more.
    const bool stale = event.now - first_sent_ >= rules_->retention;
    if (state_ == State::disproving && event.kind == Event::Kind::finished) {
        if (event.applied) return answer(Verdict::unavailable);  // surely not committed, and it can't be any more
        if (row.exists && row.version == version_ && is_final(row.status)) {
            keep_ = is_terminal(row.status);
            return answer(row.status == RecordStatus::fail ? Verdict::unavailable : Verdict::row);
        }
        maybe_ = stale || !row.exists;  // gone, purged perhaps: nobody can tell any more
        return answer(maybe_ ? Verdict::unavailable : Verdict::fenced_off);
    }
    if (state_ == State::inside_disproving && event.kind == Event::Kind::begun) {
        switch (event.begin) {
            case BeginOutcome::Kind::acquired:
                version_ = event.version;
                maybe_ = stale;
                return give_back(event.now);
            case BeginOutcome::Kind::finished:
                if (!event.ours) return finished_row(event.row.status);
                keep_ = is_terminal(event.row.status);  // it was committed, and by nobody else: no duplicate
                return answer(Verdict::row);
            case BeginOutcome::Kind::mismatch:
                maybe_ = stale;  // else: somebody else's request took the key, so ours isn't there
                return answer(maybe_ ? Verdict::unavailable : Verdict::fenced_off);
            default:
                if (event.ours) {
                    version_ = event.version;
                    maybe_ = stale;
                    return give_back(event.now);
                }
                again = true;
        }
    }
    if (!again) unexpected(event);
    if (event.now - phase_started_ >= rules_->finish_budget) {
        maybe_ = true;
        return answer(Verdict::unavailable);
    }
    return back_off(State::disprove_waiting, event.now);
}

// ---- finish
// ----------------------------------------------------------------------------------------------------------

Action RequestMachine::finish(Millis now, RecordStatus status, Verdict then) {
    finish_status_ = status;
    then_ = then;
    phase_started_ = now;
    back_off_ = rules_->retry_first;
    return send_finish(now);
}

Action RequestMachine::send_finish(Millis now) {
    state_ = State::finishing;
    const Millis until =
        recording_ ? now + rules_->finish_budget : std::max(phase_started_ + rules_->finish_budget, now + 1);
    return {.kind = Action::Kind::finish,
            .what = Action::Finish::own,
            .status = finish_status_,
            .version = version_,
            .until = until};
}

Action RequestMachine::finish_ended(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::finish_failed) {
        const Millis spent = event.now - phase_started_;
        if (!recording_ && spent >= rules_->finish_budget) {
            recording_ = true;  // the true answer now, the record as soon as it can be written
            return answer(then_);
        }
        if (recording_ && spent >= rules_->record_for) return leave(event.now);
        // Sending the same compare-and-set again is safe and reads back: once applied it finds our own final row.
        return back_off(State::finish_waiting, event.now);
    }
    const bool own =
        event.applied || (row.exists && row.version == version_ && row.ours && row.status == finish_status_);
    if (own) {
        keep_ = is_terminal(finish_status_) && then_ == Verdict::fresh;
        return recording_ ? leave(event.now) : answer(then_);
    }
    if (recording_) return leave(event.now);
    if (row.exists && row.version == version_ && is_final(row.status)) {
        keep_ = is_terminal(row.status);
        return answer(Verdict::row);  // an operator's word stands
    }
    return answer(Verdict::fenced_off);
}

Action RequestMachine::give_back(Millis now) {
    tries_ = 0;
    back_off_ = rules_->retry_first;
    return send_give_back(now);
}

Action RequestMachine::send_give_back(Millis now) {
    state_ = State::giving_back;
    return {.kind = Action::Kind::finish,
            .what = Action::Finish::give_back,
            .status = RecordStatus::fail,
            .version = version_,
            .until = now + rules_->finish_budget};
}

Action RequestMachine::gave_back(const Event& event) {
    acquired_ = false;
    if (event.kind == Event::Kind::finish_failed && tries_ < give_back_tries) {
        giving_back_ = true;
        if (answered_) return back_off(State::give_back_waiting, event.now);
    } else {
        giving_back_ = false;
    }
    if (answered_) return leave(event.now);
    return answer(abandoned_ ? Verdict::abandoned : Verdict::unavailable);
}

/// A begin whose reply was lost may have been applied after this attempt had found another way to its end: look once it
/// can't any more, and give back what came of it. A version that our handler ran under is left alone.
Action RequestMachine::orphan(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::find_failed) {
        if (tries_ < orphan_tries) return back_off(State::orphan_waiting, event.now);
    } else if (row.exists && row.ours && !(ran_ && row.version == version_) &&
               (row.status == RecordStatus::processing || row.status == RecordStatus::unknown ||
                row.status == RecordStatus::marked)) {
        version_ = row.version;
        stray_ = false;
        return give_back(event.now);
    }
    stray_ = false;
    return leave(event.now);
}

// ---- what was found
// --------------------------------------------------------------------------------------------------

Action RequestMachine::finished_row(RecordStatus status) {
    keep_ = is_terminal(status);
    if (status == RecordStatus::marked || rules_->refuse_finished) return answer(Verdict::duplicate);
    return answer(Verdict::row);
}

Action RequestMachine::unknown_row(Millis now, std::uint64_t version) {
    if (rules_->on_unknown == OnUnknown::ask && rules_->resolver && !asked_) {
        asked_ = true;
        row_version_ = version;
        state_ = State::reserving;
        return {.kind = Action::Kind::reserve, .version = row_version_, .until = now + rules_->begin_budget};
    }
    return answer(Verdict::unknown);
}

Action RequestMachine::settled(const Event& event) {
    if (state_ == State::asking && event.kind == Event::Kind::resolved) {
        if (event.resolution == Resolution::Kind::dont_know) return answer(Verdict::unknown);
        finish_status_ = event.resolution == Resolution::Kind::happened  ? RecordStatus::success
                         : event.resolution == Resolution::Kind::refused ? RecordStatus::rejected
                                                                         : RecordStatus::fail;
        state_ = State::settling;
        return {.kind = Action::Kind::finish,
                .what = Action::Finish::settle,
                .status = finish_status_,
                .version = row_version_,
                .until = event.now + rules_->finish_budget};
    }
    if (state_ != State::settling) unexpected(event);
    if (event.kind == Event::Kind::finish_failed) return answer(Verdict::unknown);
    if (event.kind != Event::Kind::finished) unexpected(event);
    if (event.applied) {
        if (finish_status_ == RecordStatus::fail) return begin(event.now);
        keep_ = true;
        return answer(Verdict::resolved);
    }
    if (event.row.exists && event.row.version == row_version_ && is_terminal(event.row.status))
        return finished_row(event.row.status);
    return answer(Verdict::unknown);
}

Action RequestMachine::in_progress(Millis now, Millis remaining) {
    remaining_ = remaining;
    if (!rules_->wait_for_answer || now >= wait_end_ || abandoned_)
        return answer(abandoned_ ? Verdict::abandoned : Verdict::in_progress);
    wait_after_leave_ = true;  // a lock of ours would keep the next attempt out while we only wait
    return leave(now);
}

Action RequestMachine::look_again(const Event& event) {
    const RowView& row = event.row;
    if (abandoned_) return answer(Verdict::abandoned);
    if (event.kind == Event::Kind::found) {
        if (row.exists && !row.expired && !row.fits) return answer(Verdict::mismatch);
        if (row.exists && !row.expired && is_final(row.status) && row.status != RecordStatus::fail)
            return finished_row(row.status);
    }
    if (event.now >= wait_end_) return answer(Verdict::in_progress);
    const bool busy = row.exists && row.status == RecordStatus::processing && !row.lease_over && !row.ours;
    if (event.kind == Event::Kind::found && !busy) return enter(event.now);
    const Millis remaining = event.kind == Event::Kind::found ? row.remaining : 0;
    return wait(State::waiting, std::min(wait_end_, event.now + std::max(remaining, shortest_wait)));
}

// ---- answer and leave
// ------------------------------------------------------------------------------------------------

Action RequestMachine::answer(Verdict verdict) {
    state_ = State::answering;
    answered_ = true;
    return {.kind = Action::Kind::answer,
            .verdict = verdict,
            .status = finish_status_,
            .recorded = !recording_ && !unprotected_,
            .maybe = maybe_,
            .unprotected = unprotected_,
            .version = version_,
            .retry_after = remaining_};
}

Action RequestMachine::after_answer(Millis now) {
    if (recording_) return back_off(State::finish_waiting, now);
    if (giving_back_) return back_off(State::give_back_waiting, now);
    return leave(now);
}

Action RequestMachine::leave(Millis now) {
    // `mark`: the lock stands for the window and is never released by the attempt that marked.
    const bool held = lock_ && rules_->gate && !(rules_->mode == Mode::mark && acquired_);
    lock_ = false;
    if (!held) return after_leave(now);
    state_ = State::leaving;
    return {.kind = Action::Kind::leave, .keep = keep_ && !wait_after_leave_};
}

Action RequestMachine::after_leave(Millis now) {
    if (wait_after_leave_) {
        wait_after_leave_ = false;
        return wait(State::waiting, std::min(wait_end_, now + std::max(remaining_, shortest_wait)));
    }
    if (stray_) {
        tries_ = 0;
        back_off_ = rules_->retry_first;
        // The store still takes a begin in the very millisecond of its not-after, and its clock isn't quite ours.
        return wait(State::orphan_waiting, now + rules_->begin_budget + rules_->margin);
    }
    state_ = State::done;
    return {.kind = Action::Kind::done};
}

// ---- small pieces
// ----------------------------------------------------------------------------------------------------

Action RequestMachine::find(State next, Millis now) {
    state_ = next;
    return {.kind = Action::Kind::find, .until = now + rules_->begin_budget};
}

Action RequestMachine::wait(State next, Millis until) {
    state_ = next;
    return {.kind = Action::Kind::wait, .until = until};
}

Action RequestMachine::back_off(State next, Millis now) {
    if (tries_ < 255) ++tries_;
    const Millis pause = std::clamp<Millis>(back_off_, 1, rules_->retry_max);
    back_off_ = std::min(pause * 2, rules_->retry_max);
    return wait(next, now + pause);
}

std::array<std::uint64_t, 3> RequestMachine::digest(Millis now) const noexcept {
    if (state_ == State::done) return {static_cast<std::uint64_t>(state_), 0, 0};
    std::uint64_t what = static_cast<std::uint64_t>(state_) | static_cast<std::uint64_t>(then_) << 8 |
                         static_cast<std::uint64_t>(finish_status_) << 16 | static_cast<std::uint64_t>(tries_) << 24;
    std::uint64_t flags = 0;
    for (bool flag : {lock_, acquired_, answered_, abandoned_, ran_, unprotected_, begin_resent_, stray_, asked_, keep_,
                      recording_, giving_back_, wait_after_leave_, maybe_})
        flags = flags << 1 | static_cast<std::uint64_t>(flag);
    // What lies further back than any rule looks is all the same; so is a moment that is over.
    const auto since = [now](Millis moment, Millis bound) {
        return static_cast<std::uint64_t>(std::clamp<Millis>(now - moment, 0, bound + 1)) & 0xFFFF;
    };
    const auto left = [now](Millis moment) { return static_cast<std::uint64_t>(std::max<Millis>(moment - now, 0)); };
    const bool ending = recording_ || state_ == State::finishing || state_ == State::finish_waiting ||
                        state_ == State::disproving || state_ == State::disprove_waiting ||
                        state_ == State::inside_disproving;
    const std::uint64_t phase = ending ? since(phase_started_, rules_->finish_budget + rules_->record_for) : 0;
    const std::uint64_t wait = rules_->wait_for_answer ? left(wait_end_) & 0xFFF : 0;
    const std::uint64_t rest = wait_after_leave_ ? static_cast<std::uint64_t>(remaining_) & 0x3FF : 0;
    return {what | flags << 32, version_ << 32 ^ row_version_,
            since(first_sent_, rules_->lease) | phase << 16 | wait << 32 |
                (static_cast<std::uint64_t>(back_off_) & 0x3FF) << 44 | rest << 54};
}

std::string_view RequestMachine::state_name() const noexcept {
    switch (state_) {
        case State::idle: return "idle";
        case State::entering: return "entering";
        case State::held_finding: return "held_finding";
        case State::beginning: return "beginning";
        case State::reading_back: return "reading_back";
        case State::orphan_waiting: return "orphan_waiting";
        case State::orphan_finding: return "orphan_finding";
        case State::running: return "running";
        case State::atomic_running: return "atomic_running";
        case State::hook_before: return "hook_before";
        case State::noting_ref: return "noting_ref";
        case State::noting_response: return "noting_response";
        case State::hook_commit: return "hook_commit";
        case State::hook_rollback: return "hook_rollback";
        case State::finishing: return "finishing";
        case State::finish_waiting: return "finish_waiting";
        case State::giving_back: return "giving_back";
        case State::give_back_waiting: return "give_back_waiting";
        case State::disproving: return "disproving";
        case State::disprove_waiting: return "disprove_waiting";
        case State::inside_disproving: return "inside_disproving";
        case State::reserving: return "reserving";
        case State::asking: return "asking";
        case State::settling: return "settling";
        case State::waiting: return "waiting";
        case State::wait_finding: return "wait_finding";
        case State::answering: return "answering";
        case State::leaving: return "leaving";
        case State::done: return "done";
    }
    return "?";
}

}  // namespace nebis::protocol
