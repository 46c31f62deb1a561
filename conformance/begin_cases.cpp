// SPDX-License-Identifier: Apache-2.0
#include "store_bench.hpp"

#include <algorithm>
#include <array>

// BeginRequest and BeginOutcome, sentence by sentence.
namespace nebis::conformance {
namespace {

using Kind = BeginOutcome::Kind;
using std::chrono::milliseconds;

constexpr std::array final_statuses{RecordStatus::success, RecordStatus::rejected, RecordStatus::fail,
                                    RecordStatus::marked};

void fresh_key_is_acquired(StoreBench& b) {
    const StoreMillis before = b.now();
    const BeginOutcome out =
        b.begin("k", owner(1),
                {.lease = 60'000, .retention = 90'000, .operation = "pay", .instance = "i-1", .snapshot = "{1}"});
    const StoreMillis after = b.now();
    b.expect(out.kind == Kind::acquired, "a key that was never seen is acquired");
    b.equal(out.attempts, 1U, "it is the first attempt");
    b.expect(!out.took_over, "nothing was taken over");
    b.expect(out.now >= before && out.now <= after, "`now` is the store's clock of the decision");
    b.expect(out.version >= static_cast<std::uint64_t>(before) * 1000,
             "the first version is the store's clock in microseconds");

    const Record row = b.row("k");
    b.expect(row.status == RecordStatus::processing, "the row is PROCESSING");
    b.equal(row.version, out.version, "the row has the version that was won");
    b.expect(row.owner == owner(1), "the row has its owner");
    b.equal(row.attempts, 1U, "the row counts one attempt");
    b.expect(row.request_hash == request_hash(1), "the row has the request's hash and scheme");
    b.equal(row.lease_expire_time, out.now + 60'000, "the lease ends one lease after now");
    b.equal(row.expire_time, out.now + 90'000, "the retention ends one retention after now");
    b.equal(row.operation, "pay", "the operation is kept");
    b.equal(row.instance, "i-1", "the instance is kept");
    b.equal(row.request_body, "{1}", "the request snapshot is kept");
    b.expect(!row.response, "there is no response yet");
    b.expect(row.create_time == out.now && row.update_time == out.now, "both times are now");
    b.equal(row.trace_id, "k", "the key comes back as it was given");
}

void held_key_is_in_progress(StoreBench& b) {
    b.acquire("k", owner(1), {.lease = 60'000});
    const Record before = b.row("k");
    const BeginOutcome out = b.begin("k", owner(2), {}, &b.other_session());
    b.expect(out.kind == Kind::in_progress, "a key that another attempt holds is in progress");
    b.expect(out.owner == owner(1), "the holder is named");
    b.equal(out.version, before.version, "the holder's version is told");
    b.expect(out.remaining_millis > 0 && out.remaining_millis <= 60'000, "the rest of the holder's lease is told");
    const Record after = b.row("k");
    b.expect(after.owner == before.owner && after.version == before.version &&
                 after.lease_expire_time == before.lease_expire_time,
             "nothing was changed");
}

void own_row_found_again_shows_itself(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1));
    const BeginOutcome out = b.begin("k", owner(1), {.take_over_lease = true});
    b.expect(out.kind == Kind::in_progress && out.owner == owner(1),
             "a begin whose reply was lost finds its own row, and can tell");
    b.equal(out.version, version, "with the version that it had won");
}

void another_request_is_a_mismatch(StoreBench& b) {
    std::uint64_t number = 1;
    for (const auto status : {RecordStatus::processing, RecordStatus::success, RecordStatus::fail,
                              RecordStatus::rejected, RecordStatus::unknown, RecordStatus::marked}) {
        const std::string key = "k" + std::to_string(number);
        const Record before = b.prepared(key, status, number);
        const BeginOutcome out =
            b.begin(key, owner(100), {.take_over_lease = true, .take_over_unknown = true, .lapse = true, .hash = 2});
        b.expect(out.kind == Kind::mismatch, "same key, other request: mismatch, whatever the status");
        b.expect(b.row(key).version == before.version && b.row(key).status == status, "and nothing was changed");
        ++number;
    }
}

void another_scheme_is_named(StoreBench& b) {
    std::uint64_t number = 1;
    for (const auto status : {RecordStatus::processing, RecordStatus::success, RecordStatus::unknown}) {
        const std::string key = "k" + std::to_string(number);
        b.prepared(key, status, number, {.scheme = 1});
        const BeginOutcome out =
            b.begin(key, owner(100), {.take_over_lease = true, .take_over_unknown = true, .hash = 1, .scheme = 2});
        b.expect(out.kind == Kind::other_scheme, "hashes of different schemes are neither equal nor a mismatch");
        b.expect(out.record && out.record->request_hash.scheme == 1, "the row's scheme is told");
        ++number;
    }
}

void late_arrival_changes_nothing(StoreBench& b) {
    const StoreMillis past = b.now() - 1;
    BeginOutcome out = b.begin("fresh", owner(1), {.not_after = past});
    b.expect(out.kind == Kind::late, "a begin that arrives after `not_after` is late");
    b.expect(!b.find("fresh"), "and inserts nothing");
    const Record before = b.prepared("failed", RecordStatus::fail, 2);
    out = b.begin("failed", owner(3), {.not_after = past});
    b.expect(out.kind == Kind::late && b.row("failed").version == before.version, "and takes nothing over");
    out = b.begin("fresh", owner(1), {.not_after = b.now() + 60'000});
    b.expect(out.kind == Kind::acquired, "one that arrives in time is not");
}

void failed_key_runs_again(StoreBench& b) {
    const Record before = b.prepared("k", RecordStatus::fail, 1);
    const BeginOutcome out = b.begin("k", owner(2), {.operation = "second", .instance = "i-2", .snapshot = "{2}"});
    b.expect(out.kind == Kind::acquired, "FAIL runs again");
    b.expect(out.version > before.version, "under a greater version");
    b.equal(out.attempts, 2U, "as the second attempt");
    b.expect(!out.took_over, "and not as a take-over: its owner had finished");
    const Record row = b.row("k");
    b.expect(row.status == RecordStatus::processing && row.owner == owner(2), "the row is the new attempt's");
    b.expect(!row.response, "the old response is gone");
    b.expect(row.operation == "second" && row.instance == "i-2" && row.request_body == "{2}",
             "with what the new attempt gave");
    b.equal(row.create_time, before.create_time, "the record is as old as it was");
}

void finished_key_replays(StoreBench& b) {
    const Response success = response(std::string("bytes \0 and \xff more", 17), 201);
    Response refusal = response("no", 422);
    refusal.headers.clear();
    const std::uint64_t one = b.acquire("ok", owner(1));
    b.finish("ok", one, owner(1), RecordStatus::success, &success);
    const std::uint64_t two = b.acquire("no", owner(2));
    b.finish("no", two, owner(2), RecordStatus::rejected, &refusal);

    BeginOutcome out =
        b.begin("ok", owner(3), {.take_over_lease = true, .take_over_unknown = true}, &b.other_session());
    b.expect(out.kind == Kind::finished && out.record, "SUCCESS inside its retention is finished");
    b.expect(out.record && out.record->status == RecordStatus::success && out.record->response == success,
             "with the response that was recorded, byte for byte, headers in order");
    b.expect(out.record && out.record->version == one, "and the version that recorded it");
    out = b.begin("no", owner(3));
    b.expect(out.kind == Kind::finished && out.record && out.record->status == RecordStatus::rejected &&
                 out.record->response == refusal,
             "REJECTED replays its refusal");
}

void expired_final_counts_as_new(StoreBench& b) {
    std::uint64_t number = 1;
    for (const auto status : final_statuses)
        b.prepared("k" + std::to_string(number), status, number, {}, b.short_lease()), ++number;
    std::array<Record, final_statuses.size()> before;
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = b.row("k" + std::to_string(i + 1));
    b.pass_lease();
    for (std::size_t i = 0; i < before.size(); ++i) {
        const std::string key = "k" + std::to_string(i + 1);
        const BeginOutcome out = b.begin(key, owner(50), {.hash = 9, .scheme = 2});
        b.expect(out.kind == Kind::acquired, "a final row past its retention counts as new, for any request");
        b.expect(out.version > before[i].version, "under a greater version");
        b.equal(out.attempts, 1U, "as a first attempt");
        b.expect(!out.took_over, "which is no take-over");
        b.expect(b.row(key).create_time > before[i].create_time, "and is as old as this attempt");
    }
}

void living_lease_is_never_taken_over(StoreBench& b) {
    b.acquire("k", owner(1), {.lease = 60'000});
    b.pass(milliseconds(5));
    const BeginOutcome out =
        b.begin("k", owner(2), {.take_over_lease = true, .take_over_unknown = true, .lapse = true});
    b.expect(out.kind == Kind::in_progress, "a living lease is in progress, whatever the caller may take over");
    b.expect(b.row("k").status == RecordStatus::processing, "and doesn't lapse");
}

void lease_over_is_taken_over_when_allowed(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    BeginOutcome out = b.begin("k", owner(2));
    b.expect(out.kind == Kind::in_progress, "without permission it stays in progress");
    b.equal(out.remaining_millis, 0, "with no lease left");
    out = b.begin("k", owner(2), {.take_over_lease = true});
    b.expect(out.kind == Kind::acquired && out.took_over, "with `take_over_lease` it is taken over, and that is said");
    b.expect(out.version > version, "under a greater version");
    b.equal(out.attempts, 2U, "as the second attempt");
    b.expect(b.row("k").lease_expire_time > b.now(), "with a lease of its own");
}

void lease_over_lapses_when_asked(StoreBench& b) {
    const std::uint64_t version = b.acquire("k", owner(1), {.lease = b.short_lease()});
    b.pass_lease();
    BeginOutcome out = b.begin("k", owner(2), {.lapse = true});
    b.expect(out.kind == Kind::unknown && out.record, "an abandoned attempt becomes UNKNOWN in begin");
    b.expect(out.record && out.record->version == version && out.record->owner == owner(1), "and is still its owner's");
    b.expect(b.row("k").status == RecordStatus::unknown, "the row says so");
    b.acquire("t", owner(3), {.lease = b.short_lease()});
    b.pass_lease();
    out = b.begin("t", owner(4), {.take_over_lease = true, .lapse = true});
    b.expect(out.kind == Kind::acquired, "taking over goes before lapsing");
}

void unknown_is_held(StoreBench& b) {
    const Record before = b.prepared("k", RecordStatus::unknown, 1);
    BeginOutcome out = b.begin("k", owner(2), {.take_over_lease = true, .lapse = true});
    b.expect(out.kind == Kind::unknown, "UNKNOWN is held from whoever may only take leases over");
    b.expect(out.record && out.record->status == RecordStatus::unknown && out.record->version == before.version,
             "and shown");
    out = b.begin("k", owner(2), {.take_over_unknown = true});
    b.expect(out.kind == Kind::acquired && out.took_over, "with `take_over_unknown` it is taken over");
    b.expect(out.version > before.version && out.attempts == 2, "as a second attempt under a greater version");
}

void unknown_ends_only_after_its_own_retention(StoreBench& b) {
    b.prepared("k", RecordStatus::unknown, 1, {}, b.short_lease());
    b.pass_lease();
    BeginOutcome out = b.begin("k", owner(2));
    b.expect(out.kind == Kind::unknown, "past its retention UNKNOWN still stays until settled");
    out = b.begin("k", owner(2), {.unknown_retention = 600'000});
    b.expect(out.kind == Kind::unknown, "and until the retention for UNKNOWN has ended as well");
    out = b.begin("k", owner(2), {.unknown_retention = 1, .hash = 2});
    b.expect(out.kind == Kind::mismatch, "even then not for another request");
    b.pass(milliseconds(2));
    out = b.begin("k", owner(2), {.unknown_retention = 1});
    b.expect(out.kind == Kind::acquired && out.took_over, "after that it is taken over");
}

void marked_has_no_lease(StoreBench& b) {
    const BeginOutcome first = b.begin("k", owner(1), {.lease = b.short_lease(), .status = RecordStatus::marked});
    b.expect(first.kind == Kind::acquired, "a key is marked once");
    b.pass_lease();
    const BeginOutcome again =
        b.begin("k", owner(2),
                {.take_over_lease = true, .take_over_unknown = true, .lapse = true, .status = RecordStatus::marked});
    b.expect(again.kind == Kind::finished && again.record && again.record->status == RecordStatus::marked,
             "and found marked from then on");
    b.expect(again.record && again.record->owner == owner(1), "by whom is told, so that its own mark is known again");
}

void version_grows_over_deletes(StoreBench& b) {
    const std::uint64_t first = b.acquire("k", owner(1));
    b.expect(b.take(b.session().purge("k", first, StoreBench::soon()), "purge answers"), "the row was there");
    const std::uint64_t second = b.acquire("k", owner(2));
    b.expect(second > first, "after a purge the fencing token still grows");
    End end;
    end.retention = 1;
    b.finish("k", second, owner(2), RecordStatus::fail, nullptr, end);
    b.pass(milliseconds(2));
    b.equal(b.take(b.session().clean({.limit = 10}, StoreBench::soon()), "clean answers"), std::size_t{1},
            "the expired row is deleted");
    b.expect(b.acquire("k", owner(3)) > second, "after clean-up it still grows");
}

void keys_are_equal_only_byte_by_byte(StoreBench& b) {
    // C05, B017-B019, B021, B022: what a collation, a pattern or a quoting bug would merge or mangle.
    std::vector<std::string> keys{
        "order-abc",
        "Order-abc",
        "ORDER-ABC",
        "order-abc ",
        " order-abc",
        "order-abc\t",
        "order-abc\n",
        "\xC3\xA9",
        "e\xCC\x81",
        "E\xCC\x81",
        "ss",
        "\xC3\x9F",
        "\xE2\x84\xAB",
        "\xC3\x85",
        "A\xCC\x8A",
        std::string("nul\0a", 5),
        std::string("nul\0b", 5),
        std::string("nul"),
        std::string("\0", 1),
        std::string("\0\0", 2),
        "' OR 1=1 --",
        "'; DROP TABLE idempotent_record; --",
        "\"quoted\"",
        "\\",
        "\\\\",
        "%",
        "_",
        "a_c",
        "abc",
        "a%c",
        "*",
        "{k}",
        "?[x]:",
        "\xFF\xFE",
        "\x80",
        "0",
        "00",
        "0x30",
        "1",
        "1.0",
        "NULL",
        "null",
        "true",
        std::string(128, 'k'),
        std::string(127, 'k') + "K",
        std::string(127, 'k'),
        std::string(127, 'k') + " ",
    };
    std::sort(keys.begin(), keys.end());
    std::vector<BeginRequest> requests(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        requests[i].trace_id = keys[i];
        requests[i].operation = "order";
        requests[i].owner = owner(i);
        requests[i].request_hash = request_hash(1);
        requests[i].lease_millis = requests[i].retention_millis = 60'000;
    }
    std::vector<Result<BeginOutcome>> out(keys.size(), BeginOutcome{});
    b.session().begin(requests, out, StoreBench::soon());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const BeginOutcome outcome = b.take(std::move(out[i]), "begin answers for every key");
        b.expect(outcome.kind == Kind::acquired, "keys that differ in a byte are different keys");
        const auto found = b.find(keys[i], &b.other_session());
        b.expect(found && found->trace_id == keys[i] && found->owner == owner(i),
                 "a key is found by its bytes and comes back unchanged");
    }
}

}  // namespace

std::vector<StoreCase> begin_cases() {
    return {
        {"begin_fresh_key_is_acquired", fresh_key_is_acquired},
        {"begin_held_key_is_in_progress", held_key_is_in_progress},
        {"begin_own_row_found_again_shows_itself", own_row_found_again_shows_itself},
        {"begin_another_request_is_a_mismatch", another_request_is_a_mismatch},
        {"begin_another_scheme_is_named", another_scheme_is_named},
        {"begin_late_arrival_changes_nothing", late_arrival_changes_nothing},
        {"begin_failed_key_runs_again", failed_key_runs_again},
        {"begin_finished_key_replays", finished_key_replays},
        {"begin_expired_final_counts_as_new", expired_final_counts_as_new},
        {"begin_living_lease_is_never_taken_over", living_lease_is_never_taken_over},
        {"begin_lease_over_is_taken_over_when_allowed", lease_over_is_taken_over_when_allowed},
        {"begin_lease_over_lapses_when_asked", lease_over_lapses_when_asked},
        {"begin_unknown_is_held", unknown_is_held},
        {"begin_unknown_ends_only_after_its_own_retention", unknown_ends_only_after_its_own_retention},
        {"begin_marked_has_no_lease", marked_has_no_lease},
        {"begin_version_grows_over_deletes", version_grows_over_deletes},
        {"keys_are_equal_only_byte_by_byte", keys_are_equal_only_byte_by_byte},
    };
}

}  // namespace nebis::conformance
