// SPDX-License-Identifier: Apache-2.0
#include "store_bench.hpp"

#include <algorithm>
#include <string>

// What StoreSession promises of spans.
namespace nebis::conformance {
namespace {

using Kind = BeginOutcome::Kind;

std::string numbered(const char* prefix, std::size_t i) {
    std::string text = std::to_string(i);
    return prefix + std::string(4 - std::min<std::size_t>(text.size(), 4), '0') + text;
}

BeginRequest plain(std::string_view key, const Owner& who) {
    BeginRequest request;
    request.trace_id = key;
    request.operation = "order";
    request.owner = who;
    request.request_hash = request_hash(1);
    request.lease_millis = 60'000;
    request.retention_millis = 3'600'000;
    return request;
}

/// Outcomes that no store writes: one that is left shows.
std::vector<Result<BeginOutcome>> unset_begins(std::size_t size) {
    return std::vector<Result<BeginOutcome>>(size, Error(ErrorKind::internal, "not set"));
}
std::vector<Result<FinishOutcome>> unset_finishes(std::size_t size) {
    return std::vector<Result<FinishOutcome>>(size, Error(ErrorKind::internal, "not set"));
}

void full_batch_of_fresh_keys(StoreBench& b) {
    const std::size_t size = b.store().traits().batch_max;
    b.expect(size >= 1, "a batch holds at least one row");
    std::vector<std::string> keys;
    std::vector<BeginRequest> begins;
    for (std::size_t i = 0; i < size; ++i) keys.push_back(numbered("k", i));
    for (std::size_t i = 0; i < size; ++i) begins.push_back(plain(keys[i], owner(i)));
    auto begun = unset_begins(size);
    b.session().begin(begins, begun, StoreBench::soon());
    std::vector<Response> answers;
    for (const auto& key : keys) answers.push_back(response(key));
    std::vector<FinishRequest> finishes(size);
    for (std::size_t i = 0; i < size; ++i) {
        const BeginOutcome out = b.take(std::move(begun[i]), "every outcome is set");
        b.expect(out.kind == Kind::acquired, "all are acquired");
        finishes[i].trace_id = keys[i];
        finishes[i].owner = owner(i);
        finishes[i].version = out.version;
        finishes[i].response = &answers[i];
        finishes[i].retention_millis = 3'600'000;
    }
    auto finished = unset_finishes(size);
    b.session().finish(finishes, finished, StoreBench::soon());
    std::vector<FindRequest> finds;
    for (const auto& key : keys) finds.push_back({key});
    std::vector<Result<FindOutcome>> found(size, Error(ErrorKind::internal, "not set"));
    b.other_session().find(finds, found, StoreBench::soon());
    for (std::size_t i = 0; i < size; ++i) {
        b.expect(b.take(std::move(finished[i]), "every outcome is set").applied, "all are finished");
        const FindOutcome row = b.take(std::move(found[i]), "every outcome is set");
        b.expect(row.record && row.record->trace_id == keys[i] && row.record->response == answers[i],
                 "each outcome lies where its request lay");
    }
}

void mixed_batch_gives_each_its_own(StoreBench& b) {
    const std::vector<std::string> keys{"a-fresh", "b-held",   "c-done", "d-failed", "e-unknown",
                                        "f-other", "g-marked", "h-late", "i-fresh"};
    b.prepared("b-held", RecordStatus::processing, 1);
    b.prepared("c-done", RecordStatus::success, 1);
    b.prepared("d-failed", RecordStatus::fail, 1);
    b.prepared("e-unknown", RecordStatus::unknown, 1);
    b.prepared("f-other", RecordStatus::success, 1, {.hash = 7});
    b.prepared("g-marked", RecordStatus::marked, 1);
    std::vector<BeginRequest> begins;
    for (std::size_t i = 0; i < keys.size(); ++i) begins.push_back(plain(keys[i], owner(10 + i)));
    begins[7].not_after = b.now() - 1;
    auto out = unset_begins(keys.size());
    b.session().begin(begins, out, StoreBench::soon());
    const Kind wanted[] = {Kind::acquired, Kind::in_progress, Kind::finished, Kind::acquired, Kind::unknown,
                           Kind::mismatch, Kind::finished,    Kind::late,     Kind::acquired};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const BeginOutcome outcome = b.take(std::move(out[i]), "every outcome is set");
        b.expect(outcome.kind == wanted[i], "each row of a batch has its own outcome: " + keys[i]);
        if (outcome.record) b.expect(outcome.record->trace_id == keys[i], "and its own record");
    }
}

void bad_row_harms_no_other(StoreBench& b) {
    // A key far beyond what the protocol makes (128 bytes): a store may take it or refuse it, alone.
    const std::vector<std::string> keys{"a", std::string(70'000, 'b'), "c"};
    std::vector<BeginRequest> begins;
    for (const auto& key : keys) begins.push_back(plain(key, owner(1)));
    auto out = unset_begins(keys.size());
    b.session().begin(begins, out, StoreBench::soon());
    b.expect(out[0] && out[0]->kind == Kind::acquired && out[2] && out[2]->kind == Kind::acquired,
             "its neighbours are acquired");
    b.expect(!out[1] || out[1]->kind == Kind::acquired, "it is acquired or refused");
    b.expect(
        out[1] || (out[1].error().kind() != ErrorKind::maybe_applied && out[1].error().kind() != ErrorKind::internal),
        "and a refusal says that nothing happened");
    b.expect(b.find("a").has_value() && b.find("c").has_value(), "which is so");
}

void finishes_of_a_batch_are_judged_apart(StoreBench& b) {
    const std::uint64_t good = b.acquire("a", owner(1)), fenced = b.acquire("b", owner(2)),
                        last = b.acquire("d", owner(4));
    std::vector<FinishRequest> finishes(4);
    const char* const keys[] = {"a", "b", "c", "d"};
    const std::uint64_t versions[] = {good, fenced - 1, good, last};
    for (std::size_t i = 0; i < 4; ++i) {
        finishes[i].trace_id = keys[i];
        finishes[i].version = versions[i];
        finishes[i].owner = owner(i + 1);
        finishes[i].retention_millis = 60'000;
    }
    auto out = unset_finishes(4);
    b.session().finish(finishes, out, StoreBench::soon());
    b.expect(out[0] && out[0]->applied && out[3] && out[3]->applied, "good ones are applied");
    b.expect(out[1] && !out[1]->applied && out[1]->current && out[1]->current->version == fenced,
             "a fenced one is not and sees the row");
    b.expect(out[2] && !out[2]->applied && !out[2]->current, "an absent one is not and sees none");
}

void renewals_of_a_batch_are_judged_apart(StoreBench& b) {
    const std::uint64_t one = b.acquire("a", owner(1), {.lease = 1000}),
                        two = b.acquire("b", owner(2), {.lease = 1000});
    const std::vector<RenewRequest> requests{
        {"a", one, owner(1), 90'000}, {"b", two, owner(1), 90'000}, {"c", two, owner(1), 90'000}};
    std::vector<Result<RenewOutcome>> out(3, Error(ErrorKind::internal, "not set"));
    b.session().renew(requests, out, StoreBench::soon());
    b.expect(out[0] && out[0]->kind == RenewOutcome::Kind::renewed, "ours is renewed");
    b.expect(out[1] && out[1]->kind == RenewOutcome::Kind::lost, "another owner's is not");
    b.expect(out[2] && out[2]->kind == RenewOutcome::Kind::lost, "an absent one is not");
    b.expect(b.row("b").lease_expire_time < b.row("a").lease_expire_time, "really");
}

void write_finishes_first(StoreBench& b) {
    const std::uint64_t version = b.acquire("a", owner(1));
    const Response answer = response("a");
    std::vector<FinishRequest> finishes(1);
    finishes[0].trace_id = "a";
    finishes[0].version = version;
    finishes[0].owner = owner(1);
    finishes[0].response = &answer;
    finishes[0].retention_millis = 60'000;
    const std::vector<BeginRequest> begins{plain("a", owner(2)), plain("b", owner(3))};
    auto finished = unset_finishes(1);
    auto begun = unset_begins(2);
    b.session().write(finishes, finished, begins, begun, StoreBench::soon());
    b.expect(finished[0] && finished[0]->applied, "the finish is applied");
    b.expect(begun[0] && begun[0]->kind == Kind::finished && begun[0]->record && begun[0]->record->response == answer,
             "and counts as first for a begin of the same key beside it");
    b.expect(begun[1] && begun[1]->kind == Kind::acquired, "other begins go their way");
    begun = unset_begins(2);
    const std::vector<BeginRequest> more{plain("c", owner(4)), plain("d", owner(5))};
    b.session().write({}, {}, more, begun, StoreBench::soon());
    b.expect(begun[0] && begun[0]->kind == Kind::acquired && begun[1] && begun[1]->kind == Kind::acquired,
             "begins alone are written, too");
}

void empty_spans_are_nothing(StoreBench& b) {
    b.session().begin({}, {}, StoreBench::soon());
    b.session().finish({}, {}, StoreBench::soon());
    b.session().renew({}, {}, StoreBench::soon());
    b.session().find({}, {}, StoreBench::soon());
    b.session().write({}, {}, {}, {}, StoreBench::soon());
    b.acquire("k", owner(1));
}

void passed_deadline_is_no_disaster(StoreBench& b) {
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    const BeginRequest request = plain("k", owner(1));
    auto out = unset_begins(1);
    const auto start = std::chrono::steady_clock::now();
    b.session().begin({&request, 1}, out, past);
    b.expect(std::chrono::steady_clock::now() - start < std::chrono::seconds(5),
             "a deadline that has passed is not waited for");
    const bool there = b.find("k").has_value();
    if (out[0])
        b.expect(there == (out[0]->kind == Kind::acquired), "what is reported as done is done");
    else if (out[0].error().kind() != ErrorKind::maybe_applied)
        b.expect(!there, "what is reported as not done is not");
    b.expect(out[0] || out[0].error().kind() != ErrorKind::internal, "the outcome is set");
    b.acquire("later", owner(2));
}

}  // namespace

std::vector<StoreCase> batch_cases() {
    return {
        {"batch_full_of_fresh_keys", full_batch_of_fresh_keys},
        {"batch_mixed_gives_each_its_own", mixed_batch_gives_each_its_own},
        {"batch_bad_row_harms_no_other", bad_row_harms_no_other},
        {"batch_finishes_are_judged_apart", finishes_of_a_batch_are_judged_apart},
        {"batch_renewals_are_judged_apart", renewals_of_a_batch_are_judged_apart},
        {"batch_write_finishes_first", write_finishes_first},
        {"batch_empty_spans_are_nothing", empty_spans_are_nothing},
        {"deadline_passed_is_no_disaster", passed_deadline_is_no_disaster},
    };
}

}  // namespace nebis::conformance
