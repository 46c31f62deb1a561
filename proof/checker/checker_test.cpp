// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// A check that can't fail proves nothing: each invariant is broken here by hand, and must be named. Good histories
/// that look alike must pass.
namespace nebis::proof {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;

constexpr StoreMillis start = 1'000'000;
constexpr StoreMillis lease = 1'000;
constexpr StoreMillis retention = 60'000;

Micros at(StoreMillis millis) { return (start + millis) * 1000; }

RowState row(RecordStatus status, std::uint64_t version, StoreMillis written, std::string response = {}) {
    return {status,
            version,
            "owner-of-" + std::to_string(version),
            start + written + lease,
            start + written + retention,
            std::move(response)};
}

Call call(Said said, StoreMillis sent, StoreMillis answered, std::string answer, std::string logical = "~1~") {
    return {.logical = std::move(logical),
            .sent = at(sent),
            .answered = at(answered),
            .said = said,
            .answer = std::move(answer)};
}

/// An order: begun at 0, done at 10, asked again at 50.
KeyHistory good_order() {
    KeyHistory history;
    history.key = "k";
    history.atomic = true;
    history.calls = {call(Said::success, 0, 20, "201 order 7 ~1~"), call(Said::success, 50, 60, "201 order 7 ~1~")};
    history.effects = {{"~1~", 100, at(10)}};
    const RowState processing = row(RecordStatus::processing, 100, 0);
    history.rows = {{start, {}, processing},
                    {start + 10, processing, row(RecordStatus::success, 100, 10, "201 order 7 ~1~")}};
    return history;
}

/// A payment whose instance was killed after the effect: UNKNOWN after the lease, then settled by look-up.
KeyHistory good_payment() {
    KeyHistory history;
    history.key = "k";
    history.calls = {call(Said::lost, 0, 30, ""), call(Said::unknown, 1'100, 1'110, "409 unknown"),
                     call(Said::success, 1'500, 1'520, "201 paid ~1~")};
    history.effects = {{"~1~", 100, at(10)}};
    const RowState processing = row(RecordStatus::processing, 100, 0);
    const RowState unknown = row(RecordStatus::unknown, 100, 0);
    history.rows = {{start, {}, processing},
                    {start + 1'100, processing, unknown},
                    {start + 1'510, unknown, row(RecordStatus::success, 100, 1'510, "201 paid ~1~")}};
    return history;
}

Circumstances rest() { return {.faults = {{at(20), at(300)}}, .at_rest = true, .has_trail = true}; }

auto breaks(int invariant) { return Contains(Field("invariant", &Violation::invariant, invariant)); }

std::vector<Violation> judge(const KeyHistory& history, Circumstances circumstances = rest()) {
    return check(history, circumstances);
}

std::string told(const std::vector<Violation>& violations) {
    std::string all;
    for (const auto& violation : violations)
        all += "I" + std::to_string(violation.invariant) + " " + violation.what + "\n";
    return all;
}

TEST(Checker, acquits_an_order_and_its_replay) {
    const auto found = judge(good_order());
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, acquits_a_payment_settled_after_a_kill) {
    const auto found = judge(good_payment());
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, acquits_a_takeover_after_the_lease) {
    auto history = good_order();
    const RowState dead = row(RecordStatus::processing, 50, -1'100);
    history.rows.front().before = dead;
    history.rows.insert(history.rows.begin(), {start - 1'100, {}, dead});
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, acquits_a_second_effect_in_a_second_window) {
    auto history = good_order();
    const StoreMillis later = retention + 1'000;
    history.rows.push_back({start + later - 500, history.rows.back().after, {}});  // cleaned up
    const RowState again = row(RecordStatus::processing, 200, later);
    history.rows.push_back({start + later, {}, again});
    history.rows.push_back({start + later + 5, again, row(RecordStatus::success, 200, later + 5, "201 order 8 ~1~")});
    history.effects.push_back({"~1~", 200, at(later)});
    history.calls.push_back(call(Said::success, later, later + 9, "201 order 8 ~1~"));
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

/// Claim inside: each row appears ended.
KeyHistory orders_in_one_commit() {
    auto history = good_order();
    const StoreMillis later = retention + 1'000;
    const RowState first = row(RecordStatus::success, 100, 10, "201 order 7 ~1~");
    history.rows = {{start + 10, {}, first},
                    {start + later - 500, first, {}},  // cleaned up
                    {start + later + 5, {}, row(RecordStatus::success, 200, later + 5, "201 order 8 ~1~")}};
    history.effects.push_back({"~1~", 200, at(later)});
    history.calls.push_back(call(Said::success, later, later + 9, "201 order 8 ~1~"));
    return history;
}

TEST(Checker, acquits_orders_whose_row_appears_ended) {
    const auto found = judge(orders_in_one_commit());
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, I1_two_effects_in_a_window_whose_row_appears_ended) {
    auto history = orders_in_one_commit();
    history.effects.push_back({"~1~", 150, at(30)});
    EXPECT_THAT(judge(history), breaks(1));
}

TEST(Checker, I2_a_row_appears_as_success_without_its_effect) {
    auto history = orders_in_one_commit();
    history.effects.clear();
    EXPECT_THAT(judge(history), breaks(2));
}

TEST(Checker, I7_a_row_appears_as_success_with_another_attempts_effect) {
    auto history = orders_in_one_commit();
    history.effects.front().token = 90;
    history.effects.back().token = 190;
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, I7_a_payments_row_never_appears_ended) {
    auto history = good_payment();
    history.rows = {{start, {}, row(RecordStatus::success, 100, 10, "201 paid ~1~")}};
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, I7_no_row_is_taken_over_as_ended) {
    auto history = orders_in_one_commit();
    const RowState failed = row(RecordStatus::fail, 50, -90);
    history.rows.front().before = failed;
    history.rows.insert(history.rows.begin(), {{start - 100, {}, row(RecordStatus::processing, 50, -100)},
                                               {start - 90, row(RecordStatus::processing, 50, -100), failed}});
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, acquits_a_run_again_after_not_executed) {
    auto history = good_order();
    const RowState failed = row(RecordStatus::fail, 50, -90);
    history.rows.front().before = failed;
    history.rows.insert(history.rows.begin(), {{start - 100, {}, row(RecordStatus::processing, 50, -100)},
                                               {start - 90, row(RecordStatus::processing, 50, -100), failed}});
    history.calls.insert(history.calls.begin(), call(Said::not_executed, -100, -80, "503 try again"));
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, acquits_other_payloads_that_are_refused) {
    auto history = good_order();
    history.calls.push_back(call(Said::mismatch, 70, 80, "422 other request", "~2~"));
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, I1_two_effects) {
    auto history = good_order();
    history.effects.push_back({"~1~", 101, at(40)});
    EXPECT_THAT(judge(history), breaks(1));
}

TEST(Checker, I1_finally_answered_without_the_effect) {
    auto history = good_order();
    history.effects.clear();
    EXPECT_THAT(judge(history), breaks(1));
}

TEST(Checker, I2_success_without_effect) {
    auto history = good_payment();
    history.effects.clear();
    EXPECT_THAT(judge(history), breaks(2));
}

TEST(Checker, I2_row_says_success_without_effect) {
    auto history = good_payment();
    history.effects.clear();
    history.calls.pop_back();
    EXPECT_THAT(judge(history), breaks(2));
}

TEST(Checker, I3_two_bodies) {
    auto history = good_order();
    history.calls[1].answer = "201 order 8 ~1~";
    EXPECT_THAT(judge(history), breaks(3));
}

TEST(Checker, I4_another_callers_answer) {
    auto history = good_order();
    history.calls.push_back(call(Said::success, 70, 80, "201 order 9 ~2~"));
    EXPECT_THAT(judge(history), breaks(4));
}

TEST(Checker, I5_version_falls_after_a_delete) {
    auto history = good_order();
    history.rows.push_back({start + retention + 100, history.rows.back().after, {}});
    history.rows.push_back({start + retention + 200, {}, row(RecordStatus::processing, 99, retention + 200)});
    history.rows.push_back(
        {start + retention + 210, history.rows.back().after, row(RecordStatus::fail, 99, retention + 210)});
    EXPECT_THAT(judge(history), breaks(5));
}

TEST(Checker, I5_two_effects_share_a_token) {
    auto history = good_order();
    history.effects.push_back({"~1~", 100, at(40)});
    EXPECT_THAT(judge(history), breaks(5));
}

TEST(Checker, I6_success_is_overwritten_by_fail) {
    auto history = good_order();
    history.rows.push_back({start + 30, history.rows.back().after, row(RecordStatus::fail, 100, 30)});
    EXPECT_THAT(judge(history), breaks(6));
}

TEST(Checker, I6_kept_response_changes) {
    auto history = good_order();
    history.rows.push_back({start + 30, history.rows.back().after, row(RecordStatus::success, 100, 30, "other")});
    EXPECT_THAT(judge(history), breaks(6));
}

TEST(Checker, I6_deleted_while_it_counts) {
    auto history = good_order();
    history.rows.push_back({start + 30, history.rows.back().after, {}});
    EXPECT_THAT(judge(history), breaks(6));
}

TEST(Checker, I6_success_is_forgotten_by_the_next_answer) {
    auto history = good_order();
    history.calls[1].said = Said::in_progress;
    history.calls[1].answer = "409";
    EXPECT_THAT(judge(history), breaks(6));
}

TEST(Checker, I6_an_operator_may_change_it) {
    auto history = good_order();
    history.rows.push_back({start + 30, history.rows.back().after, {}, true});
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, I7_recorded_success_of_the_wrong_attempt) {
    auto history = good_order();
    history.effects[0].token = 99;
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, I7_owner_changes_within_a_version) {
    auto history = good_order();
    history.rows.back().after->owner = "a stranger";
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, I7_whoever_settles_may_put_its_own_name) {
    auto history = good_payment();
    history.rows.back().after->owner = "the asker";
    const auto found = judge(history);
    EXPECT_THAT(found, IsEmpty()) << told(found);
    history.rows[1].after->owner = "a stranger";  // but who makes it UNKNOWN may not
    EXPECT_THAT(judge(history), breaks(7));
}

TEST(Checker, I8_takeover_of_a_living_lease) {
    auto history = good_order();
    const RowState alive = row(RecordStatus::processing, 50, -100);
    history.rows.front().before = alive;
    history.rows.insert(history.rows.begin(), {start - 100, {}, alive});
    EXPECT_THAT(judge(history), breaks(8));
}

TEST(Checker, I8_execute_runs_again_what_may_have_happened) {
    auto history = good_payment();
    const RowState unknown = row(RecordStatus::unknown, 100, 0);
    const RowState again = row(RecordStatus::processing, 200, 1'510);
    history.rows.back() = {start + 1'510, unknown, again};
    history.rows.push_back({start + 1'515, again, row(RecordStatus::fail, 200, 1'515)});
    EXPECT_THAT(judge(history), breaks(8));
}

TEST(Checker, I9_not_executed_but_done) {
    auto history = good_order();
    history.calls = {call(Said::not_executed, 0, 20, "503")};
    history.rows.clear();
    EXPECT_THAT(judge(history), breaks(9));
}

TEST(Checker, I9_row_says_fail_but_done) {
    auto history = good_payment();
    history.rows.back().after->status = RecordStatus::fail;
    EXPECT_THAT(judge(history), breaks(9));
}

TEST(Checker, I10_row_stays_in_progress) {
    auto history = good_order();
    history.rows.pop_back();
    EXPECT_THAT(judge(history), breaks(10));
    auto running = rest();
    running.at_rest = false;
    const auto found = judge(history, running);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, I10_nobody_is_ever_answered) {
    auto history = good_order();
    for (auto& one : history.calls) one.said = Said::in_progress;
    EXPECT_THAT(judge(history), breaks(10));
}

TEST(Checker, I11_unknown_without_a_fault) {
    auto calm = rest();
    calm.faults.clear();
    EXPECT_THAT(judge(good_payment(), calm), breaks(11));
    auto early = rest();
    early.faults = {{at(-900), at(-100)}};
    EXPECT_THAT(judge(good_payment(), early), breaks(11));
    auto asked_for = good_payment();
    asked_for.upstream_faulted = true;
    const auto found = judge(asked_for, calm);
    EXPECT_THAT(found, IsEmpty()) << told(found);
}

TEST(Checker, I12_other_payload_is_answered_as_success) {
    auto history = good_order();
    history.calls.push_back(call(Said::success, 70, 80, "201 order 7", "~2~"));
    EXPECT_THAT(judge(history), breaks(12));
}

TEST(Checker, I0_surprising_answer) {
    auto history = good_order();
    history.calls.push_back(call(Said::surprise, 70, 80, "500 internal"));
    EXPECT_THAT(judge(history), breaks(0));
}

TEST(Checker, figures_count_keys) {
    Verdict verdict;
    auto doubled = good_order();
    doubled.effects.push_back({"~1~", 101, at(40)});
    doubled.effects.push_back({"~1~", 102, at(41)});
    auto lost = good_payment();
    lost.effects.clear();
    auto stuck = good_order();
    stuck.calls.clear();
    stuck.rows.pop_back();
    for (const auto& history : {good_order(), doubled, lost, stuck}) verdict.add(history, rest());
    EXPECT_EQ(verdict.keys, 4U);
    EXPECT_EQ(verdict.answered, 3U);
    EXPECT_EQ(verdict.doubled, 1U);
    EXPECT_EQ(verdict.lost, 1U);
    EXPECT_EQ(verdict.stuck, 1U);
    EXPECT_FALSE(verdict.clean());
}

TEST(LogicalIds, are_found_in_any_text) {
    EXPECT_THAT(logical_ids_in("{\"a\":\"~1f~\",\"b\":\"x~2~\"}"), testing::ElementsAre("~1f~", "~2~"));
    EXPECT_THAT(logical_ids_in("~~ ~g~ ~1"), IsEmpty());
    EXPECT_EQ(logical_id(255), "~ff~");
}

TEST(HistoryFile, is_json) { EXPECT_THAT(to_json(good_order()), testing::HasSubstr("\"said\":\"success\"")); }

}  // namespace
}  // namespace nebis::proof
