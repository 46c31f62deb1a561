// SPDX-License-Identifier: Apache-2.0
// `execute`: enter, begin, run, finish, leave, and what may go wrong at each.
#include "script.hpp"

namespace nebis::protocol {
namespace {

using Status = RecordStatus;
using Found = BeginOutcome::Kind;
const Rules hold = rules_of(Mode::execute);
const Rules bare = without_gate(hold);

TEST(Execute, a_fresh_request) {
    Script script(hold);
    script.play({{start(), "enter"},
                 {granted(), "begin lapse"},
                 {acquired(7), "run v7"},
                 {handled(Status::success), "finish SUCCESS v7"},
                 {applied(), "answer fresh SUCCESS"},
                 {proceed(), "leave keep"},
                 {proceed(), "done"}});
    EXPECT_TRUE(script.machine().ended());
    EXPECT_TRUE(script.machine().answered());
    EXPECT_TRUE(script.machine().holds_record());
    EXPECT_EQ(script.machine().version(), 7u);
}

TEST(Execute, what_a_handler_says_becomes_the_status) {
    Script(hold).play({{start(), "enter"},
                       {granted(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {handled(Status::fail), "finish FAIL v7"},
                       {applied(), "answer fresh FAIL"},
                       {proceed(), "leave"},
                       {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {handled(Status::rejected), "finish REJECTED v7"},
                       {applied(), "answer fresh REJECTED"},
                       {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {handled(Status::unknown), "finish UNKNOWN v7"},
                       {applied(), "answer fresh UNKNOWN"},
                       {proceed(), "done"}});
}

TEST(Execute, a_cached_result_is_replayed_or_refused) {
    Script(hold).play({{start(), "enter"}, {cached(), "answer cached"}, {proceed(), "done"}});
    Rules refuse = hold;
    refuse.refuse_finished = true;
    Script(refuse).play({{start(), "enter"}, {cached(), "answer duplicate"}, {proceed(), "done"}});
}

TEST(Execute, a_gate_that_fails_is_passed_by_and_its_lock_released_by_owner) {
    Script(hold).play({{start(), "enter"},
                       {enter_failed(true), "begin lapse"},
                       {acquired(7), "run v7"},
                       {handled(Status::success), "finish SUCCESS v7"},
                       {applied(), "answer fresh SUCCESS"},
                       {proceed(), "leave"},  // and nothing cached: that enter may land after a purge
                       {proceed(), "done"}});
    Script(hold).play({{start(), "enter"},
                       {enter_failed(false), "begin lapse"},
                       {busy(), "answer in_progress"},
                       {proceed(), "done"}});
    Rules closed = hold;
    closed.fail_open = false;
    Script(closed).play(
        {{start(), "enter"}, {enter_failed(true), "answer unavailable"}, {proceed(), "leave"}, {proceed(), "done"}});
}

TEST(Execute, N29_a_stale_lock_never_hides_a_result) {
    const auto meets = [](const RowView& row, const std::string& answer, const Rules& rules = hold) {
        Script(rules).play({{start(), "enter"}, {held(500), "find"}, {found(row), answer}, {proceed(), "done"}});
    };
    meets(row(Status::success, 3), "answer row");
    meets(row(Status::rejected, 3), "answer row");
    meets(row(Status::marked, 3), "answer duplicate");
    meets(row(Status::unknown, 3), "answer unknown");
    meets(row(Status::unknown, 3), "answer in_progress", rules_of(Mode::execute, OnUnknown::retry));
    meets(row(Status::unknown, 3), "answer in_progress", rules_of(Mode::atomic));
    meets(row(Status::fail, 3), "answer in_progress");
    meets(live(3, false), "answer in_progress");
    meets({}, "answer in_progress");
    RowView other = row(Status::success, 3);
    other.fits = false;
    meets(other, "answer mismatch");
    other.expired = true;
    meets(other, "answer in_progress");
}

TEST(Execute, in_progress_tells_when_to_try_again) {
    Script locked(hold);
    locked.play({{start(), "enter"}, {held(500), "find"}, {nothing_found(), "answer in_progress"}});
    EXPECT_EQ(locked.last().retry_after, 500);
    Script leased(hold);
    leased.play({{start(), "enter"}, {held(500), "find"}, {found(live(3, false, 90)), "answer in_progress"}});
    EXPECT_EQ(leased.last().retry_after, 90);
    Script begun_late(bare);
    begun_late.play({{start(), "begin lapse"}, {busy(70), "answer in_progress"}});
    EXPECT_EQ(begun_late.last().retry_after, 70);
    Script(hold).play(
        {{start(), "enter"}, {held(500), "find"}, {find_failed(), "answer unavailable"}, {proceed(), "done"}});
}

TEST(Begin, asks_to_take_over_as_the_mode_allows) {
    Script(without_gate(rules_of(Mode::execute, OnUnknown::hold))).play({{start(), "begin lapse"}});
    Script(without_gate(rules_of(Mode::execute, OnUnknown::ask))).play({{start(), "begin lapse"}});
    Script(without_gate(rules_of(Mode::execute, OnUnknown::retry))).play({{start(), "begin lease unknown"}});
    Script(without_gate(rules_of(Mode::atomic))).play({{start(), "begin lease unknown"}});
    Script(without_gate(rules_of(Mode::hooked))).play({{start(), "begin lapse"}});
    Script(without_gate(rules_of(Mode::mark))).play({{start(), "begin"}});
}

TEST(Begin, answers_what_it_finds) {
    Script(bare).play({{start(), "begin lapse"}, {begun_finished(Status::success), "answer row"}, {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"}, {begun(Found::mismatch), "answer mismatch"}, {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"}, {begun(Found::unknown, 3), "answer unknown"}, {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"}, {begun(Found::late), "answer unavailable"}, {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"}, {begin_failed(false), "answer unavailable"}, {proceed(), "done"}});
    // A later duplicate that held the lock and found a final row fills the cache the same way.
    Script(hold).play({{start(), "enter"},
                       {granted(), "begin lapse"},
                       {begun_finished(Status::rejected), "answer row"},
                       {proceed(), "leave keep"},
                       {proceed(), "done"}});
    Rules refuse = bare;
    refuse.refuse_finished = true;
    Script(refuse).play({{start(), "begin lapse"}, {begun_finished(Status::success), "answer duplicate"}});
}

TEST(Begin, a_lost_reply_is_read_back_by_owner) {
    Script(bare).play({{start(), "begin lapse"}, {begin_failed(true), "find"}, {found(live(7, true)), "run v7"}});
    Script(bare).play(
        {{start(), "begin lapse"}, {begin_failed(true), "find"}, {found(ended(7, true)), "give_back FAIL v7"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {found(row(Status::unknown, 7, true)), "give_back FAIL v7"}});
}

TEST(Begin, and_sent_again_with_the_same_owner_once) {
    for (const Event& look :
         {nothing_found(), find_failed(), found(live(6, false)), found(row(Status::success, 7, true))})
        Script(bare).play(
            {{start(), "begin lapse"}, {begin_failed(true), "find"}, {look, "begin lapse"}, {acquired(7), "run v7"}});
    // A second time it isn't; and once no begin can arrive any more, somebody looks.
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {nothing_found(), "begin lapse"},
                       {begin_failed(true), "answer unavailable"},
                       {proceed(), "wait 2500"},
                       {timer(), "find", 2500},
                       {nothing_found(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {nothing_found(), "begin lapse"},
                       {begin_failed(false), "answer unavailable"},
                       {proceed(), "wait 2500"},
                       {timer(), "find", 2500},
                       {found(live(7, true)), "give_back FAIL v7"},
                       {applied(), "done"}});
}

TEST(Begin, one_that_comes_too_late_has_done_nothing_but_the_lost_one_may_have) {
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {nothing_found(), "begin lapse"},
                       {begun(Found::late), "find"},
                       {nothing_found(), "answer unavailable"},
                       {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {nothing_found(), "begin lapse"},
                       {begun(Found::late), "find"},
                       {find_failed(), "answer unavailable"},
                       {proceed(), "wait 2500"},
                       {timer(), "find", 2500},
                       {found(row(Status::unknown, 7, true)), "give_back FAIL v7"},
                       {applied(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {nothing_found(), "begin lapse"},
                       {begun(Found::late), "find"},
                       {found(live(7, true)), "run v7"}});
}

TEST(Begin, in_progress_of_our_own_is_acquired_while_its_lease_lives) {
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {find_failed(), "begin lapse"},
                       {begun(Found::in_progress, 7, true, 5'000), "run v7"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {find_failed(), "begin lapse"},
                       {begun(Found::in_progress, 7, true, 0), "give_back FAIL v7"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {find_failed(), "begin lapse"},
                       {begun(Found::unknown, 7, true), "give_back FAIL v7"}});
}

TEST(Begin, the_handler_starts_only_while_the_lease_surely_lives) {
    Script script(bare);
    script.play({{start(), "begin lapse"}, {acquired(7), "run v7", 9'499}});
    EXPECT_EQ(script.machine().lease_end(), 9'500);
    Script(bare).play({{start(), "begin lapse"},
                       {acquired(7), "give_back FAIL v7", 9'500},
                       {applied(), "answer unavailable"},
                       {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {not_started(), "give_back FAIL v7"},
                       {applied(), "answer unavailable"},
                       {proceed(), "done"}});
}

TEST(GiveBack, is_tried_again_after_the_answer_as_long_as_a_finish_is) {
    Rules rules = bare;
    rules.record_for = 10'000;
    Script script(rules);
    script.play({{start(), "begin lapse"},
                 {acquired(7), "run v7"},
                 {not_started(), "give_back FAIL v7"},
                 {finish_failed(), "answer unavailable"},
                 {proceed(), "wait 20"}});
    Millis pause = 20;
    while (script.now() + 2 * pause < rules.record_for) {
        script.play({{timer(), "give_back FAIL v7", pause}});
        pause = std::min<Millis>(2 * pause, rules.retry_max);
        script.play({{finish_failed(), "wait " + std::to_string(script.now() + pause)}});
    }
    script.play({{timer(), "give_back FAIL v7", pause}, {finish_failed(), "done", rules.record_for}});
    Script(bare).play({{start(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {not_started(), "give_back FAIL v7"},
                       {finish_failed(), "answer unavailable"},
                       {proceed(), "wait 20"},
                       {timer(), "give_back FAIL v7", 20},
                       {not_applied(live(9, false)), "done"}});
}

TEST(Abandon, nothing_starts_for_a_caller_that_has_left) {
    Script(hold).play({{start(), "enter"},
                       {abandon(), "none"},
                       {granted(), "answer abandoned"},
                       {proceed(), "leave"},
                       {proceed(), "done"}});
    Script(hold).play({{start(), "enter"},
                       {granted(), "begin lapse"},
                       {abandon(), "none"},
                       {acquired(7), "give_back FAIL v7"},
                       {applied(), "answer abandoned"},
                       {proceed(), "leave"},
                       {proceed(), "done"}});
    Script(bare).play({{start(), "begin lapse"},
                       {begin_failed(true), "find"},
                       {abandon(), "none"},
                       {found(live(7, true)), "give_back FAIL v7"}});
    Script(bare).play(
        {{start(), "begin lapse"}, {abandon(), "none"}, {busy(), "answer abandoned"}, {proceed(), "done"}});
}

TEST(Unprotected, only_when_allowed_and_surely_not_begun) {
    Rules allow = bare;
    allow.allow_unprotected = true;
    Script(allow).play({{start(), "begin lapse"},
                        {begin_failed(false), "run unprotected"},
                        {handled(Status::rejected), "answer fresh REJECTED not-recorded unprotected"},
                        {proceed(), "done"}});
    Script(allow).play({{start(), "begin lapse"},
                        {begin_failed(false), "run unprotected"},
                        {not_started(), "answer unavailable unprotected"},
                        {proceed(), "done"}});
    Script(allow).play({{start(), "begin lapse"},
                        {begin_failed(true), "find"},
                        {find_failed(), "begin lapse"},
                        {begin_failed(false), "answer unavailable"}});
    Script(allow).play({{start(), "begin lapse"}, {abandon(), "none"}, {begin_failed(false), "answer abandoned"}});
}

TEST(Unprotected, B105_never_when_the_store_is_there_and_says_no) {
    Rules allow = bare;
    allow.allow_unprotected = true;
    Event damage = begin_failed(false);
    damage.answered = true;
    Script(allow).play({{start(), "begin lapse"}, {damage, "answer unavailable"}, {proceed(), "done"}});
}

// ---- finish

void finish_meets(const RowView& row, const std::string& answer, bool keep = false) {
    Script(hold).play({{start(), "enter"},
                       {granted(), "begin lapse"},
                       {acquired(7), "run v7"},
                       {handled(Status::success), "finish SUCCESS v7"},
                       {not_applied(row), answer},
                       {proceed(), keep ? "leave keep" : "leave"},
                       {proceed(), "done"}});
}

TEST(Finish, the_answer_is_the_rows_never_the_attempts_own) {
    finish_meets(row(Status::success, 7, true), "answer fresh SUCCESS", true);  // applied before, reply lost
    finish_meets(row(Status::success, 7, false), "answer row", true);           // an operator wrote
    finish_meets(row(Status::rejected, 7, false), "answer row", true);
    finish_meets(row(Status::fail, 7, false), "answer row");
    finish_meets(row(Status::success, 9, false), "answer fenced_off");
    finish_meets(live(9, false), "answer fenced_off");
    finish_meets({}, "answer fenced_off");
}

TEST(Finish, is_repeated_until_the_caller_cant_wait_and_then_behind_its_back) {
    Rules rules = hold;
    rules.finish_budget = 50;
    rules.record_for = 200;
    Script script(rules);
    script.play({{start(), "enter"},
                 {granted(), "begin lapse"},
                 {acquired(7), "run v7"},
                 {handled(Status::success), "finish SUCCESS v7"},
                 {finish_failed(), "wait 20"},
                 {timer(), "finish SUCCESS v7", 20},
                 {finish_failed(), "answer fresh SUCCESS not-recorded", 30},
                 {proceed(), "wait 90"},
                 {timer(), "finish SUCCESS v7", 40}});
    Script recorded = script, operated = script, given_up = script;
    recorded.play({{applied(), "leave keep"}, {proceed(), "done"}});
    operated.play({{not_applied(row(Status::fail, 7)), "leave"}, {proceed(), "done"}});
    given_up.play({{finish_failed(), "wait 170"},
                   {timer(), "finish SUCCESS v7", 80},
                   {finish_failed(), "leave", 30},
                   {proceed(), "done"}});
}

TEST(Finish, back_off_is_bounded) {
    Rules rules = bare;
    rules.retry_max = 30;
    rules.finish_budget = 1'000;
    Script(rules).play({{start(), "begin lapse"},
                        {acquired(7), "run v7"},
                        {handled(Status::success), "finish SUCCESS v7"},
                        {finish_failed(), "wait 20"},
                        {timer(), "finish SUCCESS v7", 20},
                        {finish_failed(), "wait 50"},
                        {timer(), "finish SUCCESS v7", 30},
                        {finish_failed(), "wait 80"}});
}

// An outage that outlasts a few quick tries must not leave a claim behind that nobody works on.
TEST(GiveBack, waits_for_a_store_that_stays_away_and_makes_a_few_tries_however_slow_each_is) {
    Rules rules = bare;
    rules.record_for = 100;
    Script script(rules);
    script.play({{start(), "begin lapse"},
                 {acquired(7), "run v7"},
                 {not_started(), "give_back FAIL v7"},
                 {finish_failed(), "answer unavailable", 1'000},
                 {proceed(), "wait 1020"}});
    Millis pause = 20;
    for (int tries = 1; tries < 6; ++tries) {
        script.play({{timer(), "give_back FAIL v7", pause}});
        pause *= 2;
        script.play({{finish_failed(), "wait " + std::to_string(script.now() + 1'000 + pause), 1'000}});
    }
    script.play({{timer(), "give_back FAIL v7", pause}, {finish_failed(), "done", 1'000}});
}

TEST(Finish, a_lost_begin_that_lands_after_a_clean_failure_is_given_back) {
    Rules rules = bare;
    rules.record_for = 1'000;
    Script script(rules);
    script.play({{start(), "begin lapse"},
                 {begin_failed(true), "find"},
                 {nothing_found(), "begin lapse"},
                 {acquired(7), "run v7"},
                 {handled(Status::fail), "finish FAIL v7"},
                 {applied(), "answer fresh FAIL"},
                 {proceed(), "wait 2500"},
                 {timer(), "find", 2500}});
    Script taken = script, own = script, blind = script;
    taken.play({{found(live(8, true)), "give_back FAIL v8"}, {applied(), "done"}});
    own.play({{found(row(Status::unknown, 7, true)), "done"}});  // the handler ran under it: hands off
    blind.play({{find_failed(), "wait 2520"}, {timer(), "find", 20}, {found(live(9, false)), "done"}});
    // A store that is away: looked for as long as a finish would be tried.
    for (int i = 0; i < 6; ++i)
        script.play({{find_failed(), "wait " + std::to_string(script.now() + (20 << i))}, {timer(), "find", 20 << i}});
    script.play({{find_failed(), "done"}});
    EXPECT_GE(script.now(), 2'500 + rules.record_for);
}

}  // namespace
}  // namespace nebis::protocol
