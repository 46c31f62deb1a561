// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <barrier>
#include <string>
#include <thread>

// gate.hpp, sentence by sentence.
namespace nebis::conformance {

using std::chrono::milliseconds;
using Kind = EnterOutcome::Kind;

GateBench::GateBench(const GateFixture& fixture) : fixture_(fixture), gate_(fixture.make()) {
    require(gate_ != nullptr, "the fixture makes a gate");
    session_ = take(gate_->open(soon()), "a session opens");
    other_session_ = take(gate_->open(soon()), "a second session opens");
}

void GateBench::pass(milliseconds span) {
    if (fixture_.advance) return fixture_.advance(span);
    std::this_thread::sleep_for(span);
}

EnterOutcome GateBench::enter(std::string_view key, std::uint64_t owner_number, std::int64_t lease, std::uint8_t hash,
                              std::uint8_t scheme) {
    const EnterRequest request{key, owner(owner_number), request_hash(hash, scheme), lease};
    Result<EnterOutcome> out = Error(ErrorKind::internal, "not set");
    session().enter({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "enter answers");
}

bool GateBench::leave(std::string_view key, std::uint64_t owner_number, const CachedResult* result, std::int64_t ttl) {
    const LeaveRequest request{key, owner(owner_number), result, ttl};
    Result<bool> out = Error(ErrorKind::internal, "not set");
    session().leave({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "leave answers");
}

bool GateBench::renew(std::string_view key, std::uint64_t owner_number, std::int64_t lease) {
    const LockRenewRequest request{key, owner(owner_number), lease};
    Result<bool> out = Error(ErrorKind::internal, "not set");
    session().renew({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "renew answers");
}

Result<void> GateBench::evict(std::string_view key, std::optional<std::uint64_t> taker) {
    const Owner by = owner(taker.value_or(0));
    return session().evict(key, taker ? &by : nullptr, 60'000, soon());
}

namespace {

CachedResult cached(std::string_view key, std::uint64_t version = 7) {
    CachedResult result;
    result.status = RecordStatus::success;
    result.version = version;
    result.attempts = 2;
    result.request_hash = request_hash(1);
    result.trace_id = key;
    result.response = response(std::string("answer\0of ", 10) + std::string(key));
    return result;
}

void free_key_is_granted(GateBench& b) {
    b.expect(b.granted("k", 1), "a free key is granted");
    b.expect(b.granted("other", 2), "another key is not in its way");
}

void held_key_is_held(GateBench& b) {
    b.enter("k", 1, 60'000);
    const EnterOutcome out = b.enter("k", 2);
    b.expect(out.kind == Kind::held, "a held key is held against others");
    b.expect(out.remaining_millis > 0 && out.remaining_millis <= 60'000,
             "with the rest of the holder's lease, or 1 when it can't tell");
    b.expect(b.granted("k", 1), "its own holder is granted again: a lost reply does no harm");
}

void lease_ends(GateBench& b) {
    b.enter("k", 1, b.short_lease());
    b.pass_lease();
    b.expect(b.granted("k", 2), "a lock has a time limit");
    b.expect(!b.leave("k", 1), "after it the old holder can't drop the new one's");
    b.expect(b.enter("k", 3).kind == Kind::held, "which is still held");
}

void leave_frees_only_ours(GateBench& b) {
    b.enter("k", 1);
    b.expect(!b.leave("k", 2), "somebody else's lock isn't dropped");
    b.expect(b.enter("k", 2).kind == Kind::held, "really");
    b.expect(b.leave("k", 1), "ours is");
    b.expect(!b.leave("k", 1), "once");
    b.expect(b.granted("k", 2), "then it is free");
    b.expect(!b.leave("absent", 1), "there is nothing to drop where nothing is held");
}

void renew_prolongs_only_ours(GateBench& b) {
    b.enter("k", 1, b.short_lease());
    b.expect(b.renew("k", 1, 60'000), "the holder renews");
    b.expect(!b.renew("k", 2, 60'000), "nobody else does");
    b.pass_lease();
    b.expect(b.enter("k", 2).kind == Kind::held, "the renewed lock outlives its first lease");
    b.enter("short", 1, b.short_lease());
    b.pass_lease();
    b.expect(!b.renew("short", 1, 60'000), "what is over is not brought back");
    b.expect(b.granted("short", 2), "and is free");
    b.expect(!b.renew("absent", 1, 60'000), "nor is what never was");
}

void result_is_replayed(GateBench& b) {
    if (!b.fixture().keeps_results) {
        const CachedResult kept = cached("k");
        b.enter("k", 1);
        b.expect(b.leave("k", 1, &kept), "a lock alone is left as ever");
        b.expect(b.granted("k", 2), "and keeps no result");
        return b.not_asked("keeps no results");
    }
    CachedResult kept = cached("k");
    b.enter("k", 1);
    b.expect(b.leave("k", 1, &kept), "the holder leaves its result");
    const EnterOutcome out = b.enter("k", 2);
    b.expect(out.kind == Kind::finished && out.result, "who comes after finds it");
    if (out.result)
        b.expect(out.result->status == kept.status && out.result->version == kept.version &&
                     out.result->attempts == kept.attempts && out.result->request_hash == kept.request_hash &&
                     out.result->trace_id == kept.trace_id && out.result->response == kept.response,
                 "whole and unchanged");
    b.expect(b.enter("K", 2).kind == Kind::granted, "and nobody else's key does");
    kept = cached("r");
    kept.status = RecordStatus::rejected;
    b.enter("r", 1);
    b.leave("r", 1, &kept);
    const EnterOutcome refused = b.enter("r", 2);
    b.expect(refused.kind == Kind::finished && refused.result && refused.result->status == RecordStatus::rejected,
             "REJECTED as well");
}

void result_is_kept_only_with_the_lock(GateBench& b) {
    const CachedResult stale = cached("k");
    b.enter("k", 1, b.short_lease());
    b.pass_lease();
    b.enter("k", 2);
    b.expect(!b.leave("k", 1, &stale), "who lost the lock");
    b.expect(b.enter("k", 3).kind == Kind::held, "leaves no result behind");
    b.expect(b.leave("k", 2), "and the holder isn't disturbed");
    b.expect(b.granted("k", 3), "really none");
    b.expect(!b.leave("never", 1, &stale), "who never had it doesn't either");
    b.expect(b.granted("never", 2), "really none");
}

void result_fits_the_request(GateBench& b) {
    if (!b.fixture().keeps_results) return b.not_asked("keeps no results");
    const CachedResult kept = cached("k");
    b.enter("k", 1);
    b.leave("k", 1, &kept);
    b.expect(b.enter("k", 2, 60'000, 9).kind != Kind::finished, "another request's hash gets no result");
    b.expect(b.enter("k", 2, 60'000, 1, 2).kind != Kind::finished, "the same digest of another scheme doesn't either");
}

void result_ends(GateBench& b) {
    if (!b.fixture().keeps_results) return b.not_asked("keeps no results");
    const CachedResult kept = cached("k");
    b.enter("k", 1);
    b.leave("k", 1, &kept, b.short_lease());
    b.pass_lease();
    b.expect(b.granted("k", 2), "a result lives as long as it was given");
    const CachedResult none = cached("z");
    b.enter("z", 1);
    b.expect(b.leave("z", 1, &none, 0), "given no time");
    b.expect(b.granted("z", 2), "it isn't kept at all");
}

void evict_takes_and_drops(GateBench& b) {
    const CachedResult kept = cached("k");
    b.enter("k", 1);
    b.leave("k", 1, &kept);
    b.take(b.evict("k", 50), "step A of an operator's change");
    b.expect(b.enter("k", 2).kind == Kind::held, "drops the result and takes the lock");
    b.take(b.evict("k", std::nullopt), "step C");
    b.expect(b.granted("k", 2), "drops both");
    b.leave("k", 2);
    b.take(b.evict("absent", std::nullopt), "step C where nothing is");
}

void evict_is_stronger_than_a_holder(GateBench& b) {
    const CachedResult late = cached("k");
    b.enter("k", 1);
    const Result<void> taken = b.evict("k", 50);
    if (!b.fixture().takes_from_holder) {
        b.expect(!taken && taken.error().kind() == ErrorKind::overloaded,
                 "while an attempt holds the lock, the operator is told to come again");
        b.expect(b.leave("k", 1), "the holder isn't disturbed");
        b.take(b.evict("k", 50), "afterwards step A");
    } else {
        b.expect(static_cast<bool>(taken), "step A takes a held lock");
        b.expect(!b.leave("k", 1, &late), "so that the attempt it was taken from leaves no result");
        b.expect(!b.renew("k", 1, 60'000), "nor renews");
    }
    b.expect(b.enter("k", 2).kind == Kind::held, "the lock is the operator's");
    b.take(b.evict("k", std::nullopt), "step C");
    b.expect(b.granted("k", 2), "nothing is left");
}

void batches_are_answered_apart(GateBench& b) {
    const std::size_t size = std::min<std::size_t>(b.gate().traits().batch_max, 64);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < size; ++i) keys.push_back("k" + std::to_string(1000 + i));
    for (std::size_t i = 0; i < size; i += 2) b.enter(keys[i], 1);
    std::vector<EnterRequest> enters;
    for (const auto& key : keys) enters.push_back({key, owner(2), request_hash(1), 60'000});
    std::vector<Result<EnterOutcome>> entered(size, Error(ErrorKind::internal, "not set"));
    b.session().enter(enters, entered, GateBench::soon());
    std::vector<LeaveRequest> leaves;
    for (const auto& key : keys) leaves.push_back({key, owner(2), nullptr, 0});
    std::vector<Result<bool>> left(size, Error(ErrorKind::internal, "not set"));
    b.other_session().leave(leaves, left, GateBench::soon());
    for (std::size_t i = 0; i < size; ++i) {
        const bool free = i % 2 == 1;
        b.expect(entered[i] && (entered[i]->kind == Kind::granted) == free, "each key of a batch has its own answer");
        b.expect(left[i] && *left[i] == free, "in entering and in leaving");
    }
}

void names_are_bytes(GateBench& b) {
    const std::vector<std::string> names{
        "a",   "A", "a ",   std::string("a\0", 2), "\xC3\xA9",           "e\xCC\x81", "*", "{a}", "?[a]",
        "a:b", "'", "\r\n", std::string(128, 'x'), std::string(127, 'x')};
    std::uint64_t number = 1;
    for (const auto& name : names)
        b.expect(b.granted(name, number++), "names that differ in a byte are different locks");
}

void one_of_two_is_granted(GateBench& b) {
    for (int round = 0; round < 100; ++round) {
        const std::string key = "k" + std::to_string(round);
        const EnterRequest one{key, owner(1), request_hash(1), 60'000}, two{key, owner(2), request_hash(1), 60'000};
        Result<EnterOutcome> first = Error(ErrorKind::internal, "not set"), second = first;
        std::barrier start(2);
        std::thread other([&] {
            start.arrive_and_wait();
            b.other_session().enter({&two, 1}, {&second, 1}, GateBench::soon());
        });
        start.arrive_and_wait();
        b.session().enter({&one, 1}, {&first, 1}, GateBench::soon());
        other.join();
        b.require(first && second, "enter answers");
        b.expect((first->kind == Kind::granted) != (second->kind == Kind::granted), "exactly one of two is granted");
    }
}

}  // namespace

std::vector<GateCase> all_gate_cases() {
    return {
        {"enter_free_key_is_granted", free_key_is_granted},
        {"enter_held_key_is_held", held_key_is_held},
        {"enter_lease_ends", lease_ends},
        {"leave_frees_only_ours", leave_frees_only_ours},
        {"renew_prolongs_only_ours", renew_prolongs_only_ours},
        {"result_is_replayed", result_is_replayed},
        {"result_is_kept_only_with_the_lock", result_is_kept_only_with_the_lock},
        {"result_fits_the_request", result_fits_the_request},
        {"result_ends", result_ends},
        {"evict_takes_and_drops", evict_takes_and_drops},
        {"evict_is_stronger_than_a_holder", evict_is_stronger_than_a_holder},
        {"batch_is_answered_apart", batches_are_answered_apart},
        {"names_are_bytes", names_are_bytes},
        {"race_one_of_two_is_granted", one_of_two_is_granted},
    };
}

}  // namespace nebis::conformance
