// SPDX-License-Identifier: Apache-2.0
#include "protocol/request_machine.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace nebis::protocol {
namespace {

[[noreturn]] void broken(const std::string& what) { throw std::logic_error(what); }

}  // namespace
void RequestMachine::unexpected(const Event& event) const noexcept {
    // A driver that feeds an impossible event has lost track of a claim; going on could run a handler twice. What is
    // thrown can't leave a noexcept function, so the process ends and its terminate handler prints the words.
    broken("protocol invariant broken: event " + std::to_string(static_cast<int>(event.kind)) + " in state " +
           std::string(state_name()));
}

/// The events that may come in a state, as bits.
std::uint32_t RequestMachine::expected(State state) noexcept {
    using Kind = Event::Kind;
    const auto bits = [](auto... kinds) { return ((1U << static_cast<unsigned>(kinds)) | ... | 0U); };
    switch (state) {
        case State::idle: return bits(Kind::start);
        case State::entering: return bits(Kind::entered, Kind::enter_failed);
        case State::beginning:
        case State::inside_disproving: return bits(Kind::begun, Kind::begin_failed);
        case State::quota_finding:
        case State::held_finding:
        case State::reading_back:
        case State::orphan_finding:
        case State::wait_finding: return bits(Kind::found, Kind::find_failed);
        case State::running: return bits(Kind::handled);
        case State::atomic_running: return bits(Kind::atomic_ended);
        case State::hook_before:
        case State::hook_commit:
        case State::hook_rollback: return bits(Kind::hooked);
        case State::noting_ref:
        case State::noting_response:
        case State::finishing:
        case State::giving_back:
        case State::disproving:
        case State::settling: return bits(Kind::finished, Kind::finish_failed);
        case State::orphan_waiting:
        case State::finish_waiting:
        case State::give_back_waiting:
        case State::disprove_waiting:
        case State::waiting: return bits(Kind::timer);
        case State::reserving: return bits(Kind::reserved);
        case State::asking: return bits(Kind::resolved);
        case State::answering:
        case State::leaving: return bits(Kind::proceed);
        case State::done: break;
    }
    return 0;
}

Action RequestMachine::on(const Event& event) {
    if (event.kind == Event::Kind::abandon) {
        abandoned_ = true;
        return state_ == State::waiting ? answer(Verdict::abandoned) : Action{};
    }
    if ((expected(state_) >> static_cast<unsigned>(event.kind) & 1U) == 0) unexpected(event);
    switch (state_) {
        case State::idle: return started(event);
        case State::quota_finding: return quota_found(event);
        case State::entering: return entered(event);
        case State::held_finding: return held(event);
        case State::beginning: return event.kind == Event::Kind::begun ? begun(event) : begin_failed(event);
        case State::reading_back: return read_back(event);
        case State::running: return handled(event);
        case State::atomic_running: return atomic_ended(event);
        case State::hook_before:
        case State::hook_commit:
        case State::hook_rollback: return hook_ended(event);
        case State::noting_ref:
        case State::noting_response: return noted(event);
        case State::finishing: return finish_ended(event);
        case State::finish_waiting: return send_finish(event.now);
        case State::giving_back: return gave_back(event);
        case State::give_back_waiting: return send_give_back(event.now);
        case State::disproving: return disproved(event);
        case State::inside_disproving: return inside_disproved(event);
        case State::disprove_waiting: return disprove(event.now);
        case State::orphan_waiting: return find(State::orphan_finding, event.now);
        case State::orphan_finding: return orphan(event);
        case State::reserving: return reserved(event);
        case State::asking: return resolved(event);
        case State::settling: return settled(event);
        case State::waiting: return find(State::wait_finding, event.now);
        case State::wait_finding: return look_again(event);
        case State::answering: return after_answer(event.now);
        case State::leaving: return after_leave(event.now);
        case State::done: break;  // expects nothing
    }
    unexpected(event);
}

// ---- answer and leave

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
    // An enter whose reply was lost may land at any time, after a purge even: its lock proves nothing about our result.
    return {.kind = Action::Kind::leave, .keep = keep_ && lock_sure_ && !wait_after_leave_};
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
        phase_started_ = now + rules_->begin_budget + rules_->margin;
        return wait(State::orphan_waiting, phase_started_);
    }
    state_ = State::done;
    return {.kind = Action::Kind::done};
}

// ---- small pieces

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
                         static_cast<std::uint64_t>(finish_status_) << 16 |
                         static_cast<std::uint64_t>(std::min(tries_, least_tries)) << 24;
    std::uint64_t flags = 0;
    for (bool flag : {lock_, lock_sure_, acquired_, answered_, abandoned_, ran_, unprotected_, begin_resent_, stray_,
                      asked_, keep_, recording_, giving_back_, wait_after_leave_, maybe_})
        flags = flags << 1 | static_cast<std::uint64_t>(flag);
    // What lies further back than any rule looks is all the same; so is a moment that is over.
    const auto since = [now](Millis moment, Millis bound) {
        return static_cast<std::uint64_t>(std::clamp<Millis>(now - moment, 0, bound + 1)) & 0xFFFF;
    };
    const auto left = [now](Millis moment) { return static_cast<std::uint64_t>(std::max<Millis>(moment - now, 0)); };
    const bool ending = recording_ || giving_back_ || state_ == State::finishing || state_ == State::finish_waiting ||
                        state_ == State::disproving || state_ == State::disprove_waiting ||
                        state_ == State::inside_disproving || state_ == State::giving_back ||
                        state_ == State::give_back_waiting || state_ == State::orphan_waiting ||
                        state_ == State::orphan_finding;
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
        case State::quota_finding: return "quota_finding";
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
