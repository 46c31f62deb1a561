// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/request_machine.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

/// Tables of events and actions: each event in a word, each action as a line of text.
namespace nebis::protocol {

inline std::string_view word(RecordStatus status) {
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

inline std::string_view word(Verdict verdict) {
    switch (verdict) {
        case Verdict::none: return "none";
        case Verdict::fresh: return "fresh";
        case Verdict::row: return "row";
        case Verdict::cached: return "cached";
        case Verdict::resolved: return "resolved";
        case Verdict::in_progress: return "in_progress";
        case Verdict::mismatch: return "mismatch";
        case Verdict::unknown: return "unknown";
        case Verdict::duplicate: return "duplicate";
        case Verdict::fenced_off: return "fenced_off";
        case Verdict::unavailable: return "unavailable";
        case Verdict::abandoned: return "abandoned";
        case Verdict::over_quota: return "over_quota";
    }
    return "?";
}

/// "begin take lapse", "finish SUCCESS v7", "answer fresh SUCCESS not-recorded", "wait 40" …
inline std::string text(const Action& action) {
    using Kind = Action::Kind;
    const std::string version = action.version == 0 ? "" : " v" + std::to_string(action.version);
    switch (action.kind) {
        case Kind::none: return "none";
        case Kind::enter: return "enter";
        case Kind::begin:
            return std::string("begin") + (action.take_over_lease ? " lease" : "") +
                   (action.take_over_unknown ? " unknown" : "") + (action.lapse ? " lapse" : "");
        case Kind::find: return "find";
        case Kind::run: return (action.unprotected ? "run unprotected" : "run") + version;
        case Kind::run_atomic: return "run_atomic" + version;
        case Kind::hook_before: return "hook_before" + version;
        case Kind::hook_commit: return "hook_commit" + version;
        case Kind::hook_rollback: return "hook_rollback" + version;
        case Kind::note: return "note" + version;
        case Kind::finish:
            return std::string(action.what == Action::Finish::own         ? "finish "
                               : action.what == Action::Finish::give_back ? "give_back "
                                                                          : "settle ") +
                   std::string(word(action.status)) + version;
        case Kind::reserve: return "reserve" + version;
        case Kind::ask: return "ask" + version;
        case Kind::wait: return "wait " + std::to_string(action.until);
        case Kind::answer: {
            std::string line = "answer " + std::string(word(action.verdict));
            if (action.verdict == Verdict::fresh || action.verdict == Verdict::resolved)
                line += " " + std::string(word(action.status));
            if (action.verdict == Verdict::fresh && !action.recorded) line += " not-recorded";
            if (action.unprotected) line += " unprotected";
            if (action.maybe) line += " maybe";
            return line;
        }
        case Kind::leave: return action.keep ? "leave keep" : "leave";
        case Kind::done: return "done";
    }
    return "?";
}

// ---- events --------------------------------------------------------------------------------------------------------

inline Event start() { return {.kind = Event::Kind::start}; }
inline Event start_unseen() { return {.kind = Event::Kind::start, .unseen = true}; }
inline Event start_over_quota() { return {.kind = Event::Kind::start, .over_quota = true}; }
inline Event proceed() { return {.kind = Event::Kind::proceed}; }
inline Event timer() { return {.kind = Event::Kind::timer}; }
inline Event abandon() { return {.kind = Event::Kind::abandon}; }
inline Event granted() { return {.kind = Event::Kind::entered, .enter = EnterOutcome::Kind::granted}; }
inline Event held(Millis remaining = 0) {
    return {.kind = Event::Kind::entered, .enter = EnterOutcome::Kind::held, .remaining = remaining};
}
inline Event cached() { return {.kind = Event::Kind::entered, .enter = EnterOutcome::Kind::finished}; }
inline Event enter_failed(bool ambiguous) { return {.kind = Event::Kind::enter_failed, .ambiguous = ambiguous}; }
inline Event begun(BeginOutcome::Kind kind, std::uint64_t version = 0, bool ours = false, Millis remaining = 0) {
    return {.kind = Event::Kind::begun, .begin = kind, .ours = ours, .version = version, .remaining = remaining};
}
inline Event acquired(std::uint64_t version) { return begun(BeginOutcome::Kind::acquired, version); }
inline Event busy(Millis remaining = 0) { return begun(BeginOutcome::Kind::in_progress, 0, false, remaining); }
inline Event begun_finished(RecordStatus status, bool ours = false, std::uint64_t version = 3) {
    Event event = begun(BeginOutcome::Kind::finished, version, ours);
    event.row = {.exists = true, .status = status, .version = version, .ours = ours};
    return event;
}
inline Event begin_failed(bool ambiguous) { return {.kind = Event::Kind::begin_failed, .ambiguous = ambiguous}; }
inline Event found(const RowView& row) { return {.kind = Event::Kind::found, .row = row}; }
inline Event nothing_found() { return found({}); }
inline Event find_failed() { return {.kind = Event::Kind::find_failed}; }
inline Event handled(RecordStatus result) { return {.kind = Event::Kind::handled, .result = result}; }
inline Event not_started() { return {.kind = Event::Kind::handled, .not_started = true}; }
inline Event applied() { return {.kind = Event::Kind::finished, .applied = true}; }
inline Event not_applied(const RowView& row) { return {.kind = Event::Kind::finished, .row = row}; }
inline Event finish_failed(bool ambiguous = true) {
    return {.kind = Event::Kind::finish_failed, .ambiguous = ambiguous};
}
inline Event hooked(bool ok, bool ambiguous = false) {
    return {.kind = Event::Kind::hooked, .ambiguous = ambiguous, .ok = ok};
}
inline Event reserved(bool ok) { return {.kind = Event::Kind::reserved, .ok = ok}; }
inline Event resolved(Resolution::Kind kind) { return {.kind = Event::Kind::resolved, .resolution = kind}; }
inline Event atomic_ended(AtomicReport::Kind report, RecordStatus result = RecordStatus::success,
                          std::uint64_t version = 0) {
    return {.kind = Event::Kind::atomic_ended, .report = report, .result = result, .version = version};
}
inline Event atomic_found(BeginOutcome::Kind kind, RecordStatus status = RecordStatus::success) {
    Event event = atomic_ended(AtomicReport::Kind::found);
    event.begin = kind;
    event.row = {.exists = true, .status = status};
    return event;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

inline RowView row(RecordStatus status, std::uint64_t version, bool ours = false) {
    return {.exists = true, .status = status, .version = version, .ours = ours};
}
inline RowView live(std::uint64_t version, bool ours, Millis remaining = 100) {
    return {
        .exists = true, .status = RecordStatus::processing, .version = version, .ours = ours, .remaining = remaining};
}
inline RowView ended(std::uint64_t version, bool ours) {
    return {.exists = true, .status = RecordStatus::processing, .version = version, .ours = ours, .lease_over = true};
}

// ---- the script ----------------------------------------------------------------------------------------------------

struct Line {
    Event event;
    std::string action;
    Millis later = 0;  ///< time that passes before the event
};

/// Feeds the events one by one; a wrong action names its line.
class Script {
public:
    explicit Script(const Rules& rules = {}) : rules_(std::make_shared<Rules>(rules)), machine_(rules_.get()) {}
    Script& play(std::initializer_list<Line> lines) {
        for (const Line& line : lines) {
            now_ += line.later;
            Event event = line.event;
            event.now = now_;
            last_ = machine_.on(event);
            ++number_;
            EXPECT_EQ(text(last_), line.action)
                << "line " << number_ << ", state " << machine_.state_name() << ", t = " << now_;
        }
        return *this;
    }
    const RequestMachine& machine() const { return machine_; }
    const Action& last() const { return last_; }
    Millis now() const { return now_; }

private:
    std::shared_ptr<const Rules> rules_;  ///< copies of a script, and their machines, share it
    RequestMachine machine_;
    Action last_;
    Millis now_ = 0;
    int number_ = 0;
};

inline Rules rules_of(Mode mode, OnUnknown on_unknown = OnUnknown::hold) {
    Rules rules;
    rules.mode = mode;
    rules.on_unknown = on_unknown;
    return rules;
}
inline Rules without_gate(Rules rules) {
    rules.gate = false;
    return rules;
}

}  // namespace nebis::protocol
