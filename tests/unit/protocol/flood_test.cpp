// SPDX-License-Identifier: Apache-2.0
// A filter and a quota in front: what they may spare, and what never.
#include "script.hpp"

namespace nebis::protocol {
namespace {

using Status = RecordStatus;

RowView expired(Status status) {
    RowView over = row(status, 3);
    over.expired = true;
    return over;
}

TEST(Flood, S30_an_unseen_key_passes_the_gate_by_and_never_the_store) {
    Script(rules_of(Mode::execute))
        .play({{start_unseen(), "begin lapse"},
               {acquired(3), "run v3"},
               {handled(Status::success), "finish SUCCESS v3"},
               {applied(), "answer fresh SUCCESS"},
               {proceed(), "done"}});  // no lock was taken, so there is none to leave
    Script(rules_of(Mode::execute)).play({{start_unseen(), "begin lapse"}, {busy(200), "answer in_progress"}});
    Script(rules_of(Mode::execute))
        .play({{start_unseen(), "begin lapse"}, {begun_finished(Status::success), "answer row"}});
    Script(rules_of(Mode::mark)).play({{start_unseen(), "begin"}, {acquired(3), "run v3"}});
    Script(without_gate(rules_of(Mode::execute))).play({{start_unseen(), "begin lapse"}});
}

TEST(Flood, S30_the_gate_is_asked_where_it_must_be) {
    Rules strict = rules_of(Mode::execute);
    strict.fail_open = false;
    Script(strict).play({{start_unseen(), "enter"}});
    // It keeps duplicates from waiting for a transaction that holds their row.
    Rules inside = rules_of(Mode::atomic);
    inside.claim_inside = true;
    Script(inside).play({{start_unseen(), "enter"}});
    Script(rules_of(Mode::execute)).play({{start(), "enter"}});
}

TEST(Flood, S30_a_waiting_duplicate_asks_the_gate_from_then_on) {
    Rules waiting = rules_of(Mode::execute);
    waiting.wait_for_answer = true;
    waiting.wait = 1'000;
    Script(waiting).play({{start_unseen(), "begin lapse"},
                          {busy(200), "wait 200"},
                          {timer(), "find", 200},
                          {found(row(Status::fail, 3)), "enter"}});
}

TEST(Flood, S59_over_quota_a_new_key_is_refused_and_a_known_one_is_not) {
    for (const RowView& known : {row(Status::success, 3), row(Status::fail, 3), row(Status::unknown, 3),
                                 row(Status::marked, 3), live(3, false), ended(3, false)})
        Script(rules_of(Mode::execute)).play({{start_over_quota(), "find"}, {found(known), "enter"}});
    for (const RowView& none : {RowView{}, expired(Status::success), expired(Status::fail)})
        Script(rules_of(Mode::execute))
            .play({{start_over_quota(), "find"}, {found(none), "answer over_quota"}, {proceed(), "done"}});
    Script(rules_of(Mode::execute)).play({{start_over_quota(), "find"}, {find_failed(), "answer unavailable"}});
}

TEST(Flood, S59_a_look_is_not_a_claim) {
    // What was there at the look is gone at the begin, or the other way round: the begin decides.
    Script(without_gate(rules_of(Mode::execute)))
        .play({{start_over_quota(), "find"},
               {found(row(Status::fail, 3)), "begin lapse"},
               {busy(100), "answer in_progress"}});
    Script(without_gate(rules_of(Mode::execute)))
        .play({{start_over_quota(), "find"}, {abandon(), "none"}, {found(row(Status::fail, 3)), "answer abandoned"}});
}

}  // namespace
}  // namespace nebis::protocol
