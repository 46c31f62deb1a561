// SPDX-License-Identifier: Apache-2.0
// Duplicates that wait, and duplicates that ask what became of the first.
#include "script.hpp"

namespace nebis::protocol {
namespace {

using Status = RecordStatus;
using Found = BeginOutcome::Kind;
using Said = Resolution::Kind;

Rules waiting(Millis wait = 1'000) {
    Rules rules = rules_of(Mode::execute);
    rules.wait_for_answer = true;
    rules.wait = wait;
    return rules;
}

/// Held by somebody, and waiting.
Script waiting_script(const Rules& rules = waiting()) {
    Script script(rules);
    script.play({{start(), "enter"}, {held(300), "find"}, {found(live(3, false, 200)), "wait 200"}});
    return script;
}

TEST(Wait, a_lock_of_our_own_is_dropped_before_waiting) {
    Script(waiting()).play({{start(), "enter"},
                            {granted(), "begin lapse"},
                            {busy(200), "leave"},
                            {proceed(), "wait 200"},
                            {timer(), "find", 200},
                            {found(row(Status::success, 3)), "answer row"},
                            {proceed(), "done"}});
}

TEST(Wait, what_a_look_finds) {
    waiting_script().play({{timer(), "find"}, {found(row(Status::rejected, 3)), "answer row"}});
    waiting_script().play({{timer(), "find"}, {found(row(Status::marked, 3)), "answer duplicate"}});
    waiting_script().play({{timer(), "find"}, {found(live(3, false, 150)), "wait 150"}});
    waiting_script().play({{timer(), "find"}, {found(live(3, false, 5)), "wait 20"}});
    waiting_script().play({{timer(), "find"}, {find_failed(), "wait 20"}});
    RowView other = row(Status::success, 3);
    other.fits = false;
    waiting_script().play({{timer(), "find"}, {found(other), "answer mismatch"}});
    for (const RowView& open :
         {RowView{}, row(Status::fail, 3), row(Status::unknown, 3), ended(3, false), live(3, true)})
        waiting_script().play({{timer(), "find"}, {found(open), "enter"}});
    other.expired = true;
    waiting_script().play({{timer(), "find"}, {found(other), "enter"}});
}

TEST(Wait, then_it_begins_anew) {
    waiting_script().play({{timer(), "find", 200},
                           {found(row(Status::fail, 3)), "enter"},
                           {granted(), "begin lapse"},
                           {acquired(4), "run v4"},
                           {handled(Status::success), "finish SUCCESS v4"},
                           {applied(), "answer fresh SUCCESS"},
                           {proceed(), "leave keep"},
                           {proceed(), "done"}});
}

TEST(Wait, is_bounded) {
    waiting_script().play({{timer(), "find", 999}, {found(live(3, false, 500)), "wait 1000"}});
    waiting_script().play(
        {{timer(), "find", 1'000}, {found(live(3, false)), "answer in_progress"}, {proceed(), "done"}});
    waiting_script().play({{timer(), "find", 1'000}, {find_failed(), "answer in_progress"}});
    waiting_script().play({{timer(), "find", 1'000}, {found(row(Status::fail, 3)), "answer in_progress"}});
    Script(waiting(0)).play({{start(), "enter"}, {held(300), "find"}, {nothing_found(), "answer in_progress"}});
    // Nothing known of the holder: look again soon.
    Script(waiting()).play({{start(), "enter"}, {held(0), "find"}, {nothing_found(), "wait 20"}});
}

TEST(Wait, ends_when_the_caller_leaves) {
    waiting_script().play({{abandon(), "answer abandoned"}, {proceed(), "done"}});
    waiting_script().play(
        {{timer(), "find"}, {abandon(), "none"}, {found(row(Status::success, 3)), "answer abandoned"}});
}

Script asking(bool gate = false) {
    Rules rules = rules_of(Mode::execute, OnUnknown::ask);
    rules.resolver = true;
    rules.gate = gate;
    Script script(rules);
    if (gate)
        script.play({{start(), "enter"}, {granted(), "begin lapse"}});
    else
        script.play({{start(), "begin lapse"}});
    script.play({{begun(Found::unknown, 3), "reserve v3"}});
    return script;
}

TEST(Ask, one_asks_the_others_are_told_unknown) {
    asking().play({{reserved(false), "answer unknown"}, {proceed(), "done"}});
    Script script = asking();
    script.play({{reserved(true), "ask v3"}});
    EXPECT_EQ(script.last().until, 9'500);
}

TEST(Ask, what_happened_is_recorded_and_answered) {
    asking(true).play({{reserved(true), "ask v3"},
                       {resolved(Said::happened), "settle SUCCESS v3"},
                       {applied(), "answer resolved SUCCESS"},
                       {proceed(), "leave keep"},
                       {proceed(), "done"}});
    asking().play({{reserved(true), "ask v3"},
                   {resolved(Said::refused), "settle REJECTED v3"},
                   {applied(), "answer resolved REJECTED"},
                   {proceed(), "done"}});
    asking().play({{reserved(true), "ask v3"}, {resolved(Said::dont_know), "answer unknown"}, {proceed(), "done"}});
}

TEST(Ask, what_did_not_happen_runs_and_is_asked_about_once_only) {
    asking().play({{reserved(true), "ask v3"},
                   {resolved(Said::did_not_happen), "settle FAIL v3"},
                   {applied(), "begin lapse"},
                   {acquired(4), "run v4"}});
    asking().play({{reserved(true), "ask v3"},
                   {resolved(Said::did_not_happen), "settle FAIL v3"},
                   {applied(), "begin lapse"},
                   {begun(Found::unknown, 4), "answer unknown"}});
}

TEST(Ask, settling_is_a_compare_and_set) {
    const auto settles = [](const Event& event, const std::string& answer) {
        asking().play({{reserved(true), "ask v3"}, {resolved(Said::happened), "settle SUCCESS v3"}, {event, answer}});
    };
    settles(not_applied(row(Status::success, 3)), "answer row");
    settles(not_applied(row(Status::fail, 3)), "answer unknown");
    settles(not_applied(row(Status::success, 4)), "answer unknown");
    settles(not_applied({}), "answer unknown");
    settles(finish_failed(), "answer unknown");
}

TEST(Ask, without_a_resolver_it_is_hold) {
    Script(without_gate(rules_of(Mode::execute, OnUnknown::ask)))
        .play({{start(), "begin lapse"}, {begun(Found::unknown, 3), "answer unknown"}});
}

}  // namespace
}  // namespace nebis::protocol
