// SPDX-License-Identifier: Apache-2.0
// A driver that feeds an event that can't come has lost track of a claim: the machine stops the process, in every
// build.
#include "script.hpp"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace nebis::protocol {
namespace {

using Kind = Event::Kind;
using Status = RecordStatus;

struct Reached {
    std::string state;
    Script script;
    std::set<Kind> fitting;
};

Script script_with(const Rules& rules, std::initializer_list<Line> lines) {
    Script script(rules);
    script.play(lines);
    return script;
}

/// A machine in each state, and the events that may come there.
std::vector<Reached> every_state() {
    const Rules hold = rules_of(Mode::execute), bare = without_gate(hold);
    Rules waits = hold;
    waits.wait_for_answer = true;
    waits.wait = 1'000;
    Rules asks = without_gate(rules_of(Mode::execute, OnUnknown::ask));
    asks.resolver = true;
    Rules inside = without_gate(rules_of(Mode::atomic));
    inside.claim_inside = true;
    const Rules atomic = without_gate(rules_of(Mode::atomic)), hooks = without_gate(rules_of(Mode::hooked));
    const std::set<Kind> finish{Kind::finished, Kind::finish_failed}, find{Kind::found, Kind::find_failed};
    const std::set<Kind> begin{Kind::begun, Kind::begin_failed};

    std::vector<Reached> all;
    const auto add = [&](std::string state, Script script, std::set<Kind> fitting) {
        fitting.insert(Kind::abandon);
        all.push_back({std::move(state), std::move(script), std::move(fitting)});
    };
    add("idle", Script(hold), {Kind::start});
    add("entering", script_with(hold, {{start(), "enter"}}), {Kind::entered, Kind::enter_failed});
    add("held_finding", script_with(hold, {{start(), "enter"}, {held(9), "find"}}), find);
    add("beginning", script_with(bare, {{start(), "begin lapse"}}), begin);
    add("reading_back", script_with(bare, {{start(), "begin lapse"}, {begin_failed(true), "find"}}), find);
    Script stray = script_with(bare, {{start(), "begin lapse"},
                                      {begin_failed(true), "find"},
                                      {find_failed(), "begin lapse"},
                                      {begin_failed(true), "answer unavailable"},
                                      {proceed(), "wait 2500"}});
    add("orphan_waiting", stray, {Kind::timer});
    stray.play({{timer(), "find"}});
    add("orphan_finding", stray, find);
    Script running = script_with(bare, {{start(), "begin lapse"}, {acquired(7), "run v7"}});
    add("running", running, {Kind::handled});
    Script back = running;
    back.play({{not_started(), "give_back FAIL v7"}});
    add("giving_back", back, finish);
    back.play({{finish_failed(), "answer unavailable"}});
    add("answering", back, {Kind::proceed});
    back.play({{proceed(), "wait 20"}});
    add("give_back_waiting", back, {Kind::timer});
    Script ending = running;
    ending.play({{handled(Status::success), "finish SUCCESS v7"}});
    add("finishing", ending, finish);
    ending.play({{finish_failed(), "wait 20"}});
    add("finish_waiting", ending, {Kind::timer});
    Script tx = script_with(atomic, {{start(), "begin lease unknown"}, {acquired(7), "run_atomic v7"}});
    add("atomic_running", tx, {Kind::atomic_ended});
    tx.play({{atomic_ended(AtomicReport::Kind::ambiguous), "finish FAIL v7"}});
    add("disproving", tx, finish);
    tx.play({{finish_failed(), "wait 20"}});
    add("disprove_waiting", tx, {Kind::timer});
    add("inside_disproving",
        script_with(inside,
                    {{start(), "run_atomic"}, {atomic_ended(AtomicReport::Kind::ambiguous), "begin lease unknown"}}),
        begin);
    Script hook = script_with(hooks, {{start(), "begin lapse"}, {acquired(7), "hook_before v7"}});
    add("hook_before", hook, {Kind::hooked});
    hook.play({{hooked(true), "note v7"}});
    add("noting_ref", hook, finish);
    hook.play({{applied(), "run v7"}});
    Script rollback = hook;
    rollback.play({{handled(Status::fail), "hook_rollback v7"}});
    add("hook_rollback", rollback, {Kind::hooked});
    hook.play({{handled(Status::success), "note v7"}});
    add("noting_response", hook, finish);
    hook.play({{applied(), "hook_commit v7"}});
    add("hook_commit", hook, {Kind::hooked});
    Script asker = script_with(asks, {{start(), "begin lapse"}, {begun(BeginOutcome::Kind::unknown, 3), "reserve v3"}});
    add("reserving", asker, {Kind::reserved});
    asker.play({{reserved(true), "ask v3"}});
    add("asking", asker, {Kind::resolved});
    asker.play({{resolved(Resolution::Kind::happened), "settle SUCCESS v3"}});
    add("settling", asker, finish);
    Script waiter = script_with(waits, {{start(), "enter"}, {held(300), "find"}, {nothing_found(), "wait 300"}});
    add("waiting", waiter, {Kind::timer});
    waiter.play({{timer(), "find"}});
    add("wait_finding", waiter, find);
    Script leaver = script_with(
        hold, {{start(), "enter"}, {granted(), "begin lapse"}, {busy(), "answer in_progress"}, {proceed(), "leave"}});
    add("leaving", leaver, {Kind::proceed});
    leaver.play({{proceed(), "done"}});
    add("done", leaver, {});
    return all;
}

TEST(MachineDeathTest, every_event_that_cant_come_stops_the_process) {
    GTEST_FLAG_SET(death_test_style, "fast");
    std::set<std::string> states;
    for (Reached& reached : every_state()) {
        ASSERT_EQ(reached.script.machine().state_name(), reached.state);
        states.insert(reached.state);
        // One wrong event for each state keeps the test quick; which one goes round.
        std::vector<Kind> wrong;
        for (int kind = 0; kind <= static_cast<int>(Kind::abandon); ++kind)
            if (!reached.fitting.contains(static_cast<Kind>(kind))) wrong.push_back(static_cast<Kind>(kind));
        const Event event{.kind = wrong[states.size() % wrong.size()]};
        RequestMachine machine = reached.script.machine();
        EXPECT_DEATH(machine.on(event), "protocol invariant broken: event [0-9]+ in state " + reached.state);
    }
    EXPECT_EQ(states.size(), 29u);
}

TEST(MachineDeathTest, a_scheme_the_driver_should_have_handled) {
    GTEST_FLAG_SET(death_test_style, "fast");
    Script script(without_gate(rules_of(Mode::execute)));
    script.play({{start(), "begin lapse"}});
    RequestMachine machine = script.machine();
    EXPECT_DEATH(machine.on(begun(BeginOutcome::Kind::other_scheme)), "in state beginning");
}

TEST(Digest, tells_states_apart_and_forgets_what_is_past) {
    std::map<std::array<std::uint64_t, 3>, std::string> seen;
    for (const Reached& reached : every_state()) {
        const auto [at, fresh] = seen.emplace(reached.script.machine().digest(0), reached.state);
        EXPECT_TRUE(fresh) << at->second << " and " << reached.state;
    }
    Script early(without_gate(rules_of(Mode::execute))), late = early;
    early.play({{start(), "begin lapse"}});
    late.play({{start(), "begin lapse", 50}});
    EXPECT_EQ(early.machine().digest(10), late.machine().digest(60));
    EXPECT_NE(early.machine().digest(10), late.machine().digest(50));
    EXPECT_EQ(early.machine().digest(20'000), late.machine().digest(30'000));
    static_assert(std::is_trivially_copyable_v<RequestMachine>);
}

}  // namespace
}  // namespace nebis::protocol
