// SPDX-License-Identifier: Apache-2.0
// `atomic` with both claims, `mark`, `hooked`.
#include "script.hpp"

namespace nebis::protocol {
namespace {

using Status = RecordStatus;
using Found = BeginOutcome::Kind;
using Report = AtomicReport::Kind;

Rules atomic_rules() {
    Rules rules = without_gate(rules_of(Mode::atomic));
    rules.finish_budget = 50;
    return rules;
}
Rules inside_rules() {
    Rules rules = atomic_rules();
    rules.claim_inside = true;
    return rules;
}

/// Begun and running, ready for the end of the transaction.
Script atomic_running(const Rules& rules = atomic_rules()) {
    Script script(rules);
    script.play({{start(), "begin lease unknown"}, {acquired(7), "run_atomic v7"}});
    return script;
}
Script inside_running(const Rules& rules = inside_rules()) {
    Script script(rules);
    script.play({{start(), "run_atomic"}});
    return script;
}

TEST(Atomic, effect_and_record_commit_together) {
    atomic_running().play({{atomic_ended(Report::committed), "answer fresh SUCCESS"}, {proceed(), "done"}});
    atomic_running().play(
        {{atomic_ended(Report::committed, Status::rejected), "answer fresh REJECTED"}, {proceed(), "done"}});
    Rules gated = rules_of(Mode::atomic);
    Script(gated).play({{start(), "enter"},
                        {granted(), "begin lease unknown"},
                        {acquired(7), "run_atomic v7"},
                        {atomic_ended(Report::committed), "answer fresh SUCCESS"},
                        {proceed(), "leave keep"},
                        {proceed(), "done"}});
}

TEST(Atomic, rolled_back_and_fenced_off) {
    atomic_running().play({{atomic_ended(Report::rolled_back, Status::fail), "finish FAIL v7"},
                           {applied(), "answer fresh FAIL"},
                           {proceed(), "done"}});
    Event never = atomic_ended(Report::rolled_back, Status::fail);
    never.not_started = true;
    atomic_running().play({{never, "give_back FAIL v7"}, {applied(), "answer unavailable"}, {proceed(), "done"}});
    atomic_running().play({{atomic_ended(Report::fenced_off), "answer fenced_off"}, {proceed(), "done"}});
}

TEST(Atomic, an_ambiguous_commit_is_disproved_by_a_write) {
    const auto disproved = [](const Event& event, const std::string& answer) {
        atomic_running().play(
            {{atomic_ended(Report::ambiguous), "finish FAIL v7"}, {event, answer}, {proceed(), "done"}});
    };
    disproved(applied(), "answer unavailable");
    disproved(not_applied(row(Status::success, 7, true)), "answer row");
    disproved(not_applied(row(Status::rejected, 7, true)), "answer row");
    disproved(not_applied(row(Status::fail, 7, true)), "answer unavailable");  // applied before, reply lost
    disproved(not_applied(live(9, false)), "answer fenced_off");
    disproved(not_applied({}), "answer unavailable maybe");  // purged: nobody can tell
}

TEST(Atomic, an_ambiguous_commit_that_cant_be_disproved_is_never_called_not_executed) {
    atomic_running().play({{atomic_ended(Report::ambiguous), "finish FAIL v7"},
                           {finish_failed(false), "wait 20"},
                           {timer(), "finish FAIL v7", 20},
                           {finish_failed(false), "answer unavailable maybe", 30},
                           {proceed(), "done"}});
}

TEST(Inside, one_commit_in_all) {
    Script script = inside_running();
    script.play({{atomic_ended(Report::committed, Status::success, 8), "answer fresh SUCCESS"}, {proceed(), "done"}});
    EXPECT_EQ(script.machine().version(), 8u);
    inside_running().play(
        {{atomic_ended(Report::rolled_back, Status::fail), "answer fresh FAIL"}, {proceed(), "done"}});
    Event never = atomic_ended(Report::rolled_back, Status::fail);
    never.not_started = true;
    inside_running().play({{never, "answer unavailable"}, {proceed(), "done"}});
    inside_running().play({{atomic_ended(Report::fenced_off), "answer fenced_off"}, {proceed(), "done"}});
}

TEST(Inside, what_the_insert_finds) {
    inside_running().play({{atomic_found(Found::finished), "answer row"}, {proceed(), "done"}});
    inside_running().play({{atomic_found(Found::mismatch), "answer mismatch"}, {proceed(), "done"}});
    inside_running().play({{atomic_found(Found::late), "answer unavailable"}, {proceed(), "done"}});
    inside_running().play({{atomic_found(Found::in_progress), "answer in_progress"}, {proceed(), "done"}});
}

TEST(Inside, an_ambiguous_commit_is_disproved_by_the_insert) {
    const auto disproved = [](const Event& event, const std::string& answer, const Rules& rules = inside_rules()) {
        inside_running(rules).play(
            {{atomic_ended(Report::ambiguous), "begin lease unknown"}, {event, answer}, {proceed(), "done"}});
    };
    Rules refuse = inside_rules();
    refuse.refuse_finished = true;
    disproved(begun_finished(Status::success, true, 8), "answer row");
    disproved(begun_finished(Status::success, true, 8), "answer row", refuse);  // its own: no duplicate
    disproved(begun_finished(Status::success, false, 8), "answer row");
    disproved(begun_finished(Status::success, false, 8), "answer duplicate", refuse);
    disproved(begun(Found::mismatch), "answer fenced_off");
    for (const Event& mine : {acquired(9), begun(Found::in_progress, 9, true), begun(Found::unknown, 9, true)})
        inside_running().play({{atomic_ended(Report::ambiguous), "begin lease unknown"},
                               {mine, "give_back FAIL v9"},
                               {applied(), "answer unavailable"},
                               {proceed(), "done"}});
}

TEST(Inside, a_commit_still_under_way_is_waited_for) {
    for (const Event& again : {busy(), begun(Found::late), begin_failed(false)})
        inside_running().play({{atomic_ended(Report::ambiguous), "begin lease unknown"},
                               {again, "wait 20"},
                               {timer(), "begin lease unknown", 20},
                               {again, "answer unavailable maybe", 30},
                               {proceed(), "done"}});
    // A disproving insert that may land late is given back.
    inside_running().play({{atomic_ended(Report::ambiguous), "begin lease unknown"},
                           {begin_failed(true), "wait 20"},
                           {timer(), "begin lease unknown", 20},
                           {begin_failed(true), "answer unavailable maybe", 30},
                           {proceed(), "wait 2550"},
                           {timer(), "find", 2'500},
                           {found(live(9, true)), "give_back FAIL v9"},
                           {applied(), "done"}});
}

TEST(Atomic, what_is_gone_after_the_retention_proves_nothing) {
    Rules brief = atomic_rules();
    brief.retention = 100;
    atomic_running(brief).play({{atomic_ended(Report::ambiguous), "finish FAIL v7"},
                                {not_applied(live(9, false)), "answer unavailable maybe", 100}});
    atomic_running(brief).play(
        {{atomic_ended(Report::ambiguous), "finish FAIL v7"}, {applied(), "answer unavailable", 100}});
    brief.claim_inside = true;
    inside_running(brief).play({{atomic_ended(Report::ambiguous), "begin lease unknown"},
                                {begun(Found::mismatch), "answer unavailable maybe", 100}});
    for (const Event& mine : {acquired(9), begun(Found::in_progress, 9, true)})
        inside_running(brief).play({{atomic_ended(Report::ambiguous), "begin lease unknown"},
                                    {mine, "give_back FAIL v9", 100},
                                    {applied(), "answer unavailable maybe"}});
}

TEST(Inside, a_caller_that_left_runs_nothing) {
    Rules gated = inside_rules();
    gated.gate = true;
    Script(gated).play({{start(), "enter"},
                        {abandon(), "none"},
                        {granted(), "answer abandoned"},
                        {proceed(), "leave"},
                        {proceed(), "done"}});
}

// ---- mark

const Rules mark = rules_of(Mode::mark);

TEST(Mark, is_seen_and_never_released_also_after_a_failure) {
    for (Status result : {Status::success, Status::fail, Status::unknown})
        Script(mark).play({{start(), "enter"},
                           {granted(), "begin"},
                           {acquired(7), "run v7"},
                           {handled(result), "answer fresh " + std::string(word(result))},
                           {proceed(), "done"}});
    Script(mark).play({{start(), "enter"},
                       {granted(), "begin"},
                       {begun_finished(Status::marked), "answer duplicate"},
                       {proceed(), "leave"},
                       {proceed(), "done"}});
}

TEST(Mark, its_own_mark_found_again_is_acquired) {
    Script(mark).play({{start(), "enter"},
                       {granted(), "begin"},
                       {begin_failed(true), "find"},
                       {found(row(Status::marked, 7, true)), "run v7"}});
    Script(mark).play({{start(), "enter"},
                       {granted(), "begin"},
                       {begin_failed(true), "find"},
                       {find_failed(), "begin"},
                       {begun_finished(Status::marked, true, 7), "run v7"}});
}

TEST(Mark, has_no_lease_and_gives_back_what_never_started) {
    Script(without_gate(mark)).play({{start(), "begin"}, {acquired(7), "run v7", 60'000}});
    Script(mark).play({{start(), "enter"},
                       {granted(), "begin"},
                       {acquired(7), "run v7"},
                       {not_started(), "give_back FAIL v7"},
                       {applied(), "answer unavailable"},
                       {proceed(), "leave"},
                       {proceed(), "done"}});
    Script(without_gate(mark))
        .play({{start(), "begin"},
               {begin_failed(true), "find"},
               {find_failed(), "begin"},
               {begin_failed(true), "answer unavailable"},
               {proceed(), "wait 2500"},
               {timer(), "find", 2'500},
               {found(row(Status::marked, 7, true)), "give_back FAIL v7"},
               {applied(), "done"}});
}

// ---- hooked

Script hooked_begun(Millis later = 0) {
    Script script(without_gate(rules_of(Mode::hooked)));
    script.play({{start(), "begin lapse"}, {acquired(7), "hook_before v7"}, {hooked(true), "note v7", later}});
    return script;
}
Script hooked_running() {
    Script script = hooked_begun();
    script.play({{applied(), "run v7"}});
    return script;
}
Script hooked_committing() {
    Script script = hooked_running();
    script.play({{handled(Status::success), "note v7"}, {applied(), "hook_commit v7"}});
    return script;
}

TEST(Hooked, reference_before_the_first_branch_response_before_the_commit) {
    hooked_committing().play(
        {{hooked(true), "finish SUCCESS v7"}, {applied(), "answer fresh SUCCESS"}, {proceed(), "done"}});
}

TEST(Hooked, no_transaction_no_handler) {
    Script(without_gate(rules_of(Mode::hooked)))
        .play({{start(), "begin lapse"},
               {acquired(7), "hook_before v7"},
               {hooked(false), "give_back FAIL v7"},
               {applied(), "answer unavailable"},
               {proceed(), "done"}});
}

TEST(Hooked, a_handler_that_fails_rolls_back) {
    hooked_running().play({{handled(Status::fail), "hook_rollback v7"},
                           {hooked(true), "finish FAIL v7"},
                           {applied(), "answer fresh FAIL"},
                           {proceed(), "done"}});
    hooked_running().play({{handled(Status::rejected), "hook_rollback v7"},
                           {hooked(true), "finish REJECTED v7"},
                           {applied(), "answer fresh REJECTED"}});
    hooked_running().play({{handled(Status::unknown), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}});
    hooked_running().play(
        {{not_started(), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}, {applied(), "answer unavailable"}});
}

TEST(Hooked, dont_know_is_not_rolled_back) {
    hooked_running().play({{handled(Status::fail), "hook_rollback v7"},
                           {hooked(false, true), "finish UNKNOWN v7"},
                           {applied(), "answer unknown"}});
    hooked_committing().play(
        {{hooked(false, true), "finish UNKNOWN v7"}, {applied(), "answer unknown"}, {proceed(), "done"}});
}

TEST(Hooked, a_commit_that_is_refused_rolls_back) {
    hooked_committing().play(
        {{hooked(false), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}, {applied(), "answer unavailable"}});
}

TEST(Hooked, a_note_that_cant_be_kept_takes_the_transaction_back) {
    hooked_begun().play(
        {{finish_failed(), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}, {applied(), "answer unavailable"}});
    hooked_begun().play(
        {{not_applied(live(9, false)), "hook_rollback v7"}, {hooked(true), "answer fenced_off"}, {proceed(), "done"}});
    Script writing = hooked_running();
    writing.play({{handled(Status::success), "note v7"}});
    Script fenced = writing;
    writing.play({{finish_failed(), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}});
    fenced.play(
        {{not_applied(row(Status::unknown, 7, true)), "hook_rollback v7"}, {hooked(false), "answer fenced_off"}});
}

TEST(Hooked, too_late_to_start_after_the_note) {
    hooked_begun(9'500).play(
        {{applied(), "hook_rollback v7"}, {hooked(true), "finish FAIL v7"}, {applied(), "answer unavailable"}});
}

}  // namespace
}  // namespace nebis::protocol
