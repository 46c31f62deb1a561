// SPDX-License-Identifier: Apache-2.0
#include "nebis/rewrite.hpp"
#include "store_bench.hpp"

#include <algorithm>
#include <string>
#include <thread>

// recover, clean, purge, now, key_rule, verify, open, and what other handles see.
namespace nebis::conformance {
namespace {

using std::chrono::milliseconds;

std::vector<Record> recover(StoreBench& b, const RecoverRequest& request = {}) {
    return b.take(b.session().recover(request, StoreBench::soon()), "recover answers");
}
std::size_t clean(StoreBench& b, std::size_t limit = 100) {
    return b.take(b.session().clean({limit}, StoreBench::soon()), "clean answers");
}

void recovery_moves_the_abandoned(StoreBench& b) {
    // C51: nothing that is alive is touched.
    const std::uint64_t dead = b.acquire("dead", owner(1), {.lease = b.short_lease(), .snapshot = "{7}"});
    b.acquire("alive", owner(2), {.lease = 600'000});
    const std::uint64_t renewed = b.acquire("renewed", owner(3), {.lease = b.short_lease()});
    b.acquire("marked", owner(4), {.lease = b.short_lease(), .status = RecordStatus::marked});
    b.prepared("done", RecordStatus::success, 5, {.lease = b.short_lease()});
    b.renew("renewed", renewed, owner(3), 600'000);
    b.pass_lease();
    const auto moved = recover(b);
    b.equal(moved.size(), std::size_t{1}, "exactly the abandoned attempt is moved");
    b.expect(!moved.empty() && moved[0].trace_id == "dead" && moved[0].status == RecordStatus::unknown &&
                 moved[0].version == dead && moved[0].owner == owner(1) && moved[0].request_body == "{7}",
             "and reported as it is after the move");
    b.expect(b.row("dead").status == RecordStatus::unknown, "the row is UNKNOWN");
    b.expect(b.row("alive").status == RecordStatus::processing && b.row("renewed").status == RecordStatus::processing,
             "leases live on");
    b.expect(b.row("marked").status == RecordStatus::marked && b.row("done").status == RecordStatus::success,
             "final rows stay");
    b.expect(recover(b).empty(), "a second run finds nothing");
    b.expect(b.finish("dead", dead, owner(1), RecordStatus::success).applied, "the late owner still finishes");
}

void recovery_heeds_age_instance_and_limit(StoreBench& b) {
    for (int i = 0; i < 6; ++i)
        b.acquire("k" + std::to_string(i), owner(static_cast<std::uint64_t>(i)),
                  {.lease = b.short_lease(), .instance = i % 2 == 0 ? "even" : "odd"});
    b.pass_lease();
    b.expect(recover(b, {.min_age_millis = 3'600'000}).empty(), "rows touched lately are left alone");
    b.equal(recover(b, {.limit = 2, .own_instance = "odd"}).size(), std::size_t{2}, "not more than the limit");
    const auto rest = recover(b, {.own_instance = "odd"});
    b.expect(rest.size() == 1 && rest[0].instance == "odd", "only this instance's rows");
    b.equal(recover(b).size(), std::size_t{3}, "all others when none is named");
}

void clean_up_deletes_expired_finals_only(StoreBench& b) {
    // C50, C51.
    const std::int64_t soon = b.short_lease();
    int number = 1;
    for (const auto status : {RecordStatus::success, RecordStatus::rejected, RecordStatus::fail, RecordStatus::marked,
                              RecordStatus::unknown})
        b.prepared("short" + std::to_string(number++), status, 1, {}, soon);
    for (const auto status : {RecordStatus::success, RecordStatus::rejected, RecordStatus::fail, RecordStatus::marked})
        b.prepared("long" + std::to_string(number++), status, 1);
    b.acquire("running", owner(1), {.lease = soon, .retention = soon});
    b.pass_lease();
    b.equal(clean(b, 3), std::size_t{3}, "not more than the limit at a time");
    b.equal(clean(b), std::size_t{1}, "then the rest of the expired final rows");
    b.equal(clean(b), std::size_t{0}, "and no more");
    for (int i = 1; i <= 4; ++i) b.expect(!b.find("short" + std::to_string(i)), "expired final rows are gone");
    b.expect(b.find("short5").has_value(), "UNKNOWN is never deleted");
    for (int i = 6; i <= 9; ++i) b.expect(b.find("long" + std::to_string(i)).has_value(), "what counts still stays");
    b.expect(b.find("running").has_value(), "an attempt that runs is never deleted, however old");
}

void clean_up_in_small_batches_ends(StoreBench& b) {
    std::vector<std::string> keys;
    for (int i = 0; i < 150; ++i) keys.push_back("k" + std::to_string(1000 + i));
    for (const auto& key : keys) b.prepared(key, RecordStatus::fail, 1, {}, 1);
    b.pass(milliseconds(2));
    std::size_t deleted = 0;
    for (std::size_t step = 1; step != 0 && deleted <= keys.size(); deleted += step)
        step = clean(b, 40), b.expect(step <= 40, "a batch keeps its limit");
    b.equal(deleted, keys.size(), "all are deleted in the end");
}

void purge_is_exact(StoreBench& b) {
    int number = 1;
    for (const auto status : {RecordStatus::processing, RecordStatus::success, RecordStatus::unknown}) {
        const Record row = b.prepared("k" + std::to_string(number++), status, 1);
        b.expect(!b.take(b.session().purge(row.trace_id, row.version + 1, StoreBench::soon()), "purge answers"),
                 "another version isn't there");
        b.expect(b.find(row.trace_id).has_value(), "and nothing is deleted");
        b.expect(b.take(b.session().purge(row.trace_id, row.version, StoreBench::soon()), "purge answers"),
                 "this one is, whatever its status");
        b.expect(!b.find(row.trace_id, &b.other_session()), "and is gone");
        b.expect(!b.take(b.session().purge(row.trace_id, row.version, StoreBench::soon()), "purge answers"), "once");
    }
}

void clock_runs(StoreBench& b) {
    const StoreMillis first = b.now();
    b.expect(first > 1'500'000'000'000 && first < 4'000'000'000'000, "the clock counts milliseconds since 1970");
    b.pass(milliseconds(10));
    b.expect(b.now() >= first + 10, "and runs");
    b.acquire("k", owner(1));
    const Record row = b.row("k");
    b.expect(row.now >= row.create_time, "a read tells the time of its own");
}

void key_rule_stands_until_accepted(StoreBench& b) {
    const auto rule = [&](StoreSession& session, std::string_view operation, std::string_view digest, bool accept) {
        return b.take(session.key_rule(operation, digest, accept, StoreBench::soon()), "key_rule answers");
    };
    const std::string binary("a\0b", 3);
    b.equal(rule(b.session(), "pay", binary, false), binary, "the first digest stands");
    b.equal(rule(b.other_session(), "pay", "two", false), binary, "against another one");
    b.equal(rule(b.session(), "refund", "two", false), "two", "for each operation on its own");
    b.equal(rule(b.other_session(), "pay", "two", true), "two", "until another is accepted");
    b.equal(rule(b.session(), "pay", binary, false), "two", "which stands from then on");
}

void schema_can_be_made_again(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    b.take(b.store().create_schema(StoreBench::soon()), "making a schema that is there does nothing");
    b.take(b.store().verify(StoreBench::soon()), "and it still verifies");
    b.equal(b.row("k").version, version, "with its rows");
}

void every_handle_sees_every_commit(StoreBench& b) {
    if (!b.has_another()) {
        b.expect(!b.store().traits().shared, "a store that other processes share has a second handle");
        return b.not_asked("not shared with other processes");
    }
    const std::uint64_t version = b.acquire("k", owner(1));
    b.equal(b.row("k", &b.other_session()).version, version, "what was begun here is seen there at once");
    b.expect(b.finish("k", version, owner(1), RecordStatus::success, nullptr, {}, &b.other_session()).applied,
             "and finished there");
    b.expect(b.row("k").status == RecordStatus::success, "and seen here");
}

void rows_outlive_their_sessions(StoreBench& b) {
    if (!b.has_another()) return b.not_asked("not shared with other processes");
    b.expect(b.store().traits().durable, "a shared store is durable");
    const Record before = b.prepared("k", RecordStatus::success, 1);
    auto third = b.fixture().another(std::shared_ptr<Store>(std::shared_ptr<void>(), &b.store()));
    auto session = b.open(*third);
    const Record after = b.row("k", session.get());
    b.expect(after.version == before.version && after.response == before.response,
             "a handle opened later sees the same rows");
}

void waiters_are_woken(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    // Wakes may be spurious, so wait for quiet first, bounded, then for the change.
    const auto until = StoreBench::soon();
    for (int i = 0; i < 50 && b.other_store().wait_for_change(std::chrono::steady_clock::now() + milliseconds(10));
         ++i) {}
    bool woken = false;
    std::thread waiter([&] {
        while (!woken && std::chrono::steady_clock::now() < until) {
            b.other_store().wait_for_change(until);
            const FindRequest request{"k"};
            Result<FindOutcome> out = FindOutcome{};
            b.other_session().find({&request, 1}, {&out, 1}, until);
            woken = out && out->record && out->record->status == RecordStatus::success;
        }
    });
    b.finish("k", version, owner(1), RecordStatus::success);
    waiter.join();
    b.expect(woken, "a waiter is woken after a finish and finds it");
}

void rows_are_paged_and_rewritten(StoreBench& b) {
    auto* const rewriter = dynamic_cast<RowRewriter*>(&b.session());
    if (!rewriter) return b.not_asked("can't rewrite rows");
    for (const char* key : {"b", "a", "c", "e", "d"}) b.prepared(key, RecordStatus::success, 1);
    std::string keys, after;
    std::vector<Record> rows;
    do {
        auto page = b.take(rewriter->page(after, 2, StoreBench::soon()), "page answers");
        for (Record& row : page.rows) {
            keys += row.trace_id;
            rows.push_back(std::move(row));
        }
        after = page.last;
    } while (!after.empty());
    b.equal(keys, std::string("abcde"), "each row once, in the order of the keys");
    b.equal(rows.size(), std::size_t{5}, "all of them");

    const auto rewrite = [&](const Record& seen) {
        const Response fresh = response("rewritten");
        const RewriteRequest request{&seen, "{2}", &fresh};
        Result<bool> out = false;
        rewriter->rewrite({&request, 1}, {&out, 1}, StoreBench::soon());
        return b.take(std::move(out), "rewrite answers");
    };
    const Record before = b.row("a");
    b.expect(rewrite(rows[0]), "a row that nobody touched is rewritten");
    Record now = b.row("a", &b.other_session());
    b.expect(now.request_body == "{2}" && now.response == response("rewritten"), "for everybody to see");
    b.expect(now.status == before.status && now.version == before.version && now.owner == before.owner &&
                 now.lease_expire_time == before.lease_expire_time && now.expire_time == before.expire_time &&
                 now.update_time == before.update_time && now.create_time == before.create_time &&
                 now.attempts == before.attempts && now.outcome_ref == before.outcome_ref,
             "and nothing else of it changes");

    const auto stale = [&](auto change) {
        Record seen = rows[1];
        change(seen);
        return !rewrite(seen);
    };
    b.expect(stale([](Record& seen) { --seen.version; }), "another version is left alone");
    b.expect(stale([](Record& seen) { seen.owner = owner(9); }), "another owner's");
    b.expect(stale([](Record& seen) { seen.status = RecordStatus::unknown; }), "another status");
    b.expect(stale([](Record& seen) { --seen.update_time; }), "one written since");
    b.expect(stale([](Record& seen) { seen.trace_id = "none"; }), "one that is gone");
    b.expect(b.row("b").request_body != "{2}", "and keeps its bodies");
}

}  // namespace

std::vector<StoreCase> upkeep_cases() {
    return {
        {"recover_moves_the_abandoned", recovery_moves_the_abandoned},
        {"recover_heeds_age_instance_and_limit", recovery_heeds_age_instance_and_limit},
        {"clean_deletes_expired_finals_only", clean_up_deletes_expired_finals_only},
        {"clean_in_small_batches_ends", clean_up_in_small_batches_ends},
        {"purge_is_exact", purge_is_exact},
        {"rows_are_paged_and_rewritten", rows_are_paged_and_rewritten},
        {"clock_runs", clock_runs},
        {"key_rule_stands_until_accepted", key_rule_stands_until_accepted},
        {"schema_can_be_made_again", schema_can_be_made_again},
        {"shared_every_handle_sees_every_commit", every_handle_sees_every_commit},
        {"durable_rows_outlive_their_sessions", rows_outlive_their_sessions},
        {"wait_for_change_wakes", waiters_are_woken},
    };
}

}  // namespace nebis::conformance
