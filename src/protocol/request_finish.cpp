// SPDX-License-Identifier: Apache-2.0
// Steps 4 and 5: the handler in each mode, what its end means, and how that is recorded or taken back.
#include "protocol/request_machine.hpp"

#include <algorithm>

namespace nebis::protocol {

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

/// So late that a committed record may have come and gone: that it isn't there proves nothing any more.
bool RequestMachine::record_may_be_gone(Millis now) const noexcept { return now - first_sent_ >= rules_->retention; }

Action RequestMachine::disproved(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::finish_failed) return disprove_again(event.now);
    if (event.applied) return answer(Verdict::unavailable);  // surely not committed, and it can't be any more
    if (row.exists && row.version == version_ && is_final(row.status)) {
        keep_ = is_terminal(row.status);
        return answer(row.status == RecordStatus::fail ? Verdict::unavailable : Verdict::row);
    }
    maybe_ = !row.exists || record_may_be_gone(event.now);  // purged or expired: nobody can tell any more
    return answer(maybe_ ? Verdict::unavailable : Verdict::fenced_off);
}

Action RequestMachine::inside_disproved(const Event& event) {
    if (event.kind == Event::Kind::begin_failed) {
        stray_ = stray_ || event.ambiguous;
        return disprove_again(event.now);
    }
    if (event.begin == BeginOutcome::Kind::finished) {
        if (!event.ours) return finished_row(event.row.status);
        keep_ = is_terminal(event.row.status);  // it was committed, and by nobody else: no duplicate
        return answer(Verdict::row);
    }
    if (event.begin == BeginOutcome::Kind::mismatch) {
        maybe_ = record_may_be_gone(event.now);  // else: another request took the key, so ours isn't there
        return answer(maybe_ ? Verdict::unavailable : Verdict::fenced_off);
    }
    if (event.begin != BeginOutcome::Kind::acquired && !event.ours) return disprove_again(event.now);
    version_ = event.version;  // our insert went through: there was no commit
    maybe_ = record_may_be_gone(event.now);
    return give_back(event.now);
}

Action RequestMachine::disprove_again(Millis now) {
    if (now - phase_started_ < rules_->finish_budget) return back_off(State::disprove_waiting, now);
    maybe_ = true;
    return answer(Verdict::unavailable);
}

// ---- finish

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
    phase_started_ = now;
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
    giving_back_ = event.kind == Event::Kind::finish_failed && worth_another_try(event.now);
    if (giving_back_ && answered_) return back_off(State::give_back_waiting, event.now);
    if (answered_) return leave(event.now);
    return answer(abandoned_ ? Verdict::abandoned : Verdict::unavailable);
}

bool RequestMachine::worth_another_try(Millis now) const noexcept {
    return tries_ < least_tries || now - phase_started_ < rules_->record_for;
}

/// A begin whose reply was lost may have been applied after this attempt had found another way to its end: look once it
/// can't any more, and give back what came of it. A version that our handler ran under is left alone.
Action RequestMachine::orphan(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::find_failed) {
        if (worth_another_try(event.now)) return back_off(State::orphan_waiting, event.now);
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

}  // namespace nebis::protocol
