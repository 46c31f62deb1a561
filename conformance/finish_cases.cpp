// SPDX-License-Identifier: Apache-2.0
#include "store_bench.hpp"

#include <string>

// FinishRequest, RenewRequest and their outcomes, sentence by sentence.
namespace nebis::conformance {
namespace {

using Renewed = RenewOutcome::Kind;
using std::chrono::milliseconds;

void finish_records_the_response(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    const Response answer = response(std::string("\0line\r\n\xC3\xA9\xFF", 10), 201);
    End end;
    end.retention = 70'000;
    const FinishOutcome out = b.finish("k", version, owner(1), RecordStatus::success, &answer, end);
    b.expect(out.applied, "the owner finishes its attempt");
    const Record row = b.row("k", &b.other_session());
    b.expect(row.status == RecordStatus::success, "the row is SUCCESS");
    b.expect(row.response == answer, "the response is kept: status, headers in order with repeats, body bytes");
    b.equal(row.expire_time, out.now + 70'000, "its retention begins now");
    b.expect(row.version == version && row.owner == owner(1), "version and owner stay");
    b.expect(row.lease_expire_time <= out.now, "its lease has ended");
}

void every_end_is_kept(StoreBench& b) {
    std::uint64_t number = 1;
    for (const auto status :
         {RecordStatus::success, RecordStatus::rejected, RecordStatus::fail, RecordStatus::unknown}) {
        const std::string key = "k" + std::to_string(number);
        const std::uint64_t version = b.acquire(key, owner(number));
        b.expect(b.finish(key, version, owner(number), status).applied, "each end can be written");
        const Record row = b.row(key);
        b.expect(row.status == status, "and is what is found");
        b.expect(!row.response, "without a response when none was given");
        ++number;
    }
}

void sizes_of_responses(StoreBench& b) {
    Response empty;
    Response large = response(std::string(300'000, 'x'));
    Response many;
    many.status = -1;
    for (int i = 0; i < 200; ++i)
        many.headers.push_back({"H" + std::to_string(i), std::string(static_cast<std::size_t>(i), 'v')});
    Response tombstone;
    tombstone.status = 200;
    tombstone.tombstone = true;
    int number = 1;
    for (const Response* one : {&empty, &large, &many, &tombstone}) {
        const std::string key = "k" + std::to_string(number++);
        b.finish(key, b.acquire(key, owner(1)), owner(1), RecordStatus::success, one);
        b.expect(b.row(key).response == *one,
                 "an empty, a large, a many-headed response and a tombstone come back as they were");
    }
}

void only_owner_and_version_finish(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    const Response answer = response("mine");
    for (const auto wrong : {version - 1, version + 1}) {
        const FinishOutcome out = b.finish("k", wrong, owner(1), RecordStatus::success, &answer);
        b.expect(!out.applied, "another version doesn't finish");
        b.expect(out.current && out.current->version == version && out.current->status == RecordStatus::processing,
                 "and is shown the row");
    }
    FinishOutcome out = b.finish("k", version, owner(2), RecordStatus::fail);
    b.expect(!out.applied && out.current && out.current->owner == owner(1),
             "another owner doesn't finish and is shown the row");
    b.expect(b.row("k").status == RecordStatus::processing, "nothing was changed");
    out = b.finish("absent", version, owner(1), RecordStatus::success);
    b.expect(!out.applied && !out.current, "a row that isn't there is neither finished nor made");
    b.expect(!b.find("absent"), "really");
}

void second_finish_sees_the_first(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    const Response first = response("first"), second = response("second");
    b.finish("k", version, owner(1), RecordStatus::success, &first);
    const FinishOutcome out = b.finish("k", version, owner(1), RecordStatus::fail, &second);
    b.expect(!out.applied, "what is final is not finished again, not even by its owner");
    b.expect(out.current && out.current->status == RecordStatus::success && out.current->response == first,
             "the row's answer is the answer");
    b.expect(b.row("k").response == first, "and it stays");
}

void finish_moves_only_from_named_statuses(StoreBench& b) {
    const std::uint64_t processing = b.acquire("p", owner(1));
    b.expect(!b.finish("p", processing, owner(1), RecordStatus::success, nullptr, {.from_processing = false}).applied,
             "PROCESSING left out");
    b.expect(b.finish("p", processing, owner(1), RecordStatus::unknown).applied, "PROCESSING named");
    b.expect(!b.finish("p", processing, owner(1), RecordStatus::success, nullptr, {.from_unknown = false}).applied,
             "UNKNOWN left out");
    b.expect(b.finish("p", processing, owner(1), RecordStatus::success, nullptr, {.from_processing = false}).applied,
             "UNKNOWN named");
    const std::uint64_t marked = b.acquire("m", owner(2), {.status = RecordStatus::marked});
    b.expect(!b.finish("m", marked, owner(2), RecordStatus::fail).applied, "MARKED left out");
    b.expect(b.finish("m", marked, owner(2), RecordStatus::fail, nullptr, {.from_marked = true}).applied,
             "MARKED named");
}

void owner_may_finish_late(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    b.expect(b.begin("k", owner(2), {.lapse = true}).kind == BeginOutcome::Kind::unknown, "the attempt was given up");
    const Response answer = response("late");
    b.expect(b.finish("k", version, owner(1), RecordStatus::success, &answer).applied,
             "its owner finishes late all the same");
    b.expect(b.row("k").response == answer, "and that is recorded");
    const std::uint64_t other = b.acquire("over", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    b.expect(b.finish("over", other, owner(1), RecordStatus::success).applied,
             "a lease that is over doesn't stop its owner either");
}

void taken_over_attempt_is_fenced_off(StoreBench& b) {
    const std::uint64_t old = b.acquire("k", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    const std::uint64_t fresh = b.acquire("k", owner(2), {.take_over_lease = true});
    const Response answer = response("old");
    const FinishOutcome out = b.finish("k", old, owner(1), RecordStatus::success, &answer, {}, &b.other_session());
    b.expect(!out.applied, "an attempt that was taken over doesn't finish");
    b.expect(out.current && out.current->version == fresh, "and learns by whom");
    b.expect(b.renew("k", old, owner(1), 60'000) == Renewed::lost, "nor renews");
    b.expect(b.finish("k", fresh, owner(2), RecordStatus::success).applied, "the new one does");
}

void outcome_ref_and_owner(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = 50'000});
    const StoreMillis lease = b.row("k").lease_expire_time;
    const Response early = response("early");
    b.expect(b.finish("k", version, owner(1), RecordStatus::processing, &early, {.outcome_ref = "tx-1"}).applied,
             "PROCESSING over PROCESSING");
    Record row = b.row("k");
    b.expect(row.status == RecordStatus::processing && row.outcome_ref == "tx-1" && row.response == early,
             "keeps reference and response");
    b.equal(row.lease_expire_time, lease, "and the lease as it is");
    b.expect(b.finish("k", version, owner(1), RecordStatus::unknown, &early).applied, "an empty reference");
    b.equal(b.row("k").outcome_ref, "tx-1", "leaves the column alone");
    b.expect(b.finish("k", version, owner(1), RecordStatus::success, &early, {.new_owner = owner(9)}).applied,
             "an operator's write");
    row = b.row("k");
    b.expect(row.owner == owner(9), "replaces the owner");
    b.equal(row.version, version, "and not the version");
    const std::uint64_t again = b.acquire("f", owner(1));
    b.finish("f", again, owner(1), RecordStatus::fail, &early, {.outcome_ref = "tx-2"});
    b.acquire("f", owner(2));
    row = b.row("f");
    b.expect(row.outcome_ref.empty() && !row.response, "a new attempt starts without reference and response");
}

void renew_prolongs(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = 10'000, .retention = 20'000});
    const Record before = b.row("k");
    b.expect(b.renew("k", version, owner(1), 90'000, false, &b.other_session()) == Renewed::renewed,
             "the owner renews");
    const Record after = b.row("k");
    b.expect(after.lease_expire_time >= before.lease_expire_time + 80'000, "the lease ends one lease after now");
    b.expect(after.expire_time >= after.lease_expire_time, "and the retention never before it");
    b.expect(after.version == version && after.owner == owner(1) && after.status == RecordStatus::processing,
             "nothing else changed");
    b.expect(b.renew("k", version, owner(1), 90'000) == Renewed::renewed, "twice in the same moment is twice renewed");
}

void renew_late_is_renewed_while_ours(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    b.expect(b.renew("k", version, owner(1), 60'000) == Renewed::renewed, "a late renewal of a row nobody took over");
    b.expect(b.begin("k", owner(2), {.take_over_lease = true}).kind == BeginOutcome::Kind::in_progress,
             "keeps the others out again");
}

void renew_is_lost(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    b.expect(b.renew("k", version + 1, owner(1), 1000) == Renewed::lost, "another version");
    b.expect(b.renew("k", version, owner(2), 1000) == Renewed::lost, "another owner");
    b.expect(b.renew("absent", version, owner(1), 1000) == Renewed::lost, "no row");
    b.expect(b.renew("k", version, owner(1), 1000, true) == Renewed::lost, "asking about an attempt that is at work");
    for (const auto status : {RecordStatus::success, RecordStatus::rejected, RecordStatus::fail, RecordStatus::unknown,
                              RecordStatus::marked}) {
        const Record row = b.prepared("k" + std::to_string(static_cast<int>(status)), status, 5);
        b.expect(b.renew(row.trace_id, row.version, row.owner, 1000) == Renewed::lost, "a row that isn't PROCESSING");
        b.expect(b.row(row.trace_id).lease_expire_time == row.lease_expire_time, "stays as it was");
    }
}

void one_asks(StoreBench& b) {
    const Record row = b.prepared("k", RecordStatus::unknown, 1);
    b.expect(b.renew("k", row.version, row.owner, b.short_lease(), true) == Renewed::renewed,
             "an asker reserves an UNKNOWN row");
    b.expect(b.row("k").status == RecordStatus::unknown, "which stays UNKNOWN");
    b.expect(b.renew("k", row.version, row.owner, b.short_lease(), true, &b.other_session()) == Renewed::lost,
             "so that a second one doesn't");
    b.pass_lease();
    b.expect(b.renew("k", row.version, row.owner, 60'000, true) == Renewed::renewed,
             "until the first one's time is over");
    b.expect(b.finish("k", row.version, row.owner, RecordStatus::success).applied, "and settles it");
}

}  // namespace

std::vector<StoreCase> finish_cases() {
    return {
        {"finish_records_the_response", finish_records_the_response},
        {"finish_every_end_is_kept", every_end_is_kept},
        {"finish_sizes_of_responses", sizes_of_responses},
        {"finish_only_owner_and_version", only_owner_and_version_finish},
        {"finish_second_sees_the_first", second_finish_sees_the_first},
        {"finish_moves_only_from_named_statuses", finish_moves_only_from_named_statuses},
        {"finish_owner_may_be_late", owner_may_finish_late},
        {"finish_taken_over_attempt_is_fenced_off", taken_over_attempt_is_fenced_off},
        {"finish_outcome_ref_and_owner", outcome_ref_and_owner},
        {"renew_prolongs", renew_prolongs},
        {"renew_late_is_renewed_while_ours", renew_late_is_renewed_while_ours},
        {"renew_is_lost", renew_is_lost},
        {"renew_one_asks", one_asks},
    };
}

}  // namespace nebis::conformance
