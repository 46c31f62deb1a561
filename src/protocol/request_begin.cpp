// SPDX-License-Identifier: Apache-2.0
// What stands in front, then steps 2 and 3: enter, begin, and what may be found there: somebody at work, a result, an
// unknown outcome.
#include "protocol/request_machine.hpp"

#include <algorithm>

namespace nebis::protocol {

/// The filter may spare the gate a look; whoever comes, the begin decides. A quota is about new keys alone, so the one
/// that is used up costs a look at the record before anything is refused.
Action RequestMachine::started(const Event& event) {
    wait_end_ = event.now + rules_->wait;
    if (event.over_quota) return find(State::quota_finding, event.now);
    return event.unseen && rules_->gate_is_optional() ? begin(event.now) : enter(event.now);
}

Action RequestMachine::quota_found(const Event& event) {
    if (event.kind == Event::Kind::find_failed) return answer(Verdict::unavailable);
    const bool known = event.row.exists && !event.row.expired;
    return known ? enter(event.now) : answer(Verdict::over_quota);
}

Action RequestMachine::enter(Millis now) {
    if (!rules_->gate) return begin(now);
    state_ = State::entering;
    return {.kind = Action::Kind::enter, .until = now + rules_->enter_budget};
}

Action RequestMachine::entered(const Event& event) {
    if (event.kind == Event::Kind::enter_failed) {
        lock_ = event.ambiguous;  // go on, and release by owner
        lock_sure_ = false;
        return rules_->fail_open ? begin(event.now) : answer(Verdict::unavailable);
    }
    switch (event.enter) {
        case EnterOutcome::Kind::finished:
            return answer(rules_->refuse_finished ? Verdict::duplicate : Verdict::cached);
        case EnterOutcome::Kind::held: remaining_ = event.remaining; return find(State::held_finding, event.now);
        case EnterOutcome::Kind::granted: break;
    }
    lock_ = lock_sure_ = true;
    return begin(event.now);
}

Action RequestMachine::held(const Event& event) {
    if (event.kind == Event::Kind::find_failed) return answer(Verdict::unavailable);
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
    if (stray_ || event.answered || !rules_->allow_unprotected) return answer(Verdict::unavailable);
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

// ---- what was found

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

Action RequestMachine::reserved(const Event& event) {
    if (!event.ok) return answer(Verdict::unknown);  // somebody else asks
    state_ = State::asking;
    return {.kind = Action::Kind::ask, .version = row_version_, .until = event.now + rules_->lease - rules_->margin};
}

Action RequestMachine::resolved(const Event& event) {
    switch (event.resolution) {
        case Resolution::Kind::happened: finish_status_ = RecordStatus::success; break;
        case Resolution::Kind::refused: finish_status_ = RecordStatus::rejected; break;
        case Resolution::Kind::did_not_happen: finish_status_ = RecordStatus::fail; break;
        case Resolution::Kind::dont_know: return answer(Verdict::unknown);
    }
    state_ = State::settling;
    return {.kind = Action::Kind::finish,
            .what = Action::Finish::settle,
            .status = finish_status_,
            .version = row_version_,
            .until = event.now + rules_->finish_budget};
}

Action RequestMachine::settled(const Event& event) {
    const RowView& row = event.row;
    if (event.kind == Event::Kind::finish_failed) return answer(Verdict::unknown);
    if (!event.applied) {
        const bool settled_already = row.exists && row.version == row_version_ && is_terminal(row.status);
        return settled_already ? finished_row(row.status) : answer(Verdict::unknown);
    }
    if (finish_status_ == RecordStatus::fail) return begin(event.now);
    keep_ = true;
    return answer(Verdict::resolved);
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

}  // namespace nebis::protocol
