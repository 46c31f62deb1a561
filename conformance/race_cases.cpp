// SPDX-License-Identifier: Apache-2.0
#include "store_bench.hpp"

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>

// Two sessions at the same moment. Each race is run again and again: the store may not lose one of them.
namespace nebis::conformance {
namespace {

using Kind = BeginOutcome::Kind;
constexpr int rounds = 100;

/// Runs both at once; what they throw or break is reported by the caller's thread.
void together(const std::function<void()>& one, const std::function<void()>& two) {
    std::barrier start(2);
    std::thread other([&] {
        start.arrive_and_wait();
        two();
    });
    start.arrive_and_wait();
    one();
    other.join();
}

Result<BeginOutcome> begin(StoreSession& session, std::string_view key, const Owner& who,
                           bool take_over_lease = false) {
    BeginRequest request;
    request.trace_id = key;
    request.operation = "order";
    request.owner = who;
    request.request_hash = request_hash(1);
    request.lease_millis = 60'000;
    request.retention_millis = 60'000;
    request.take_over_lease = take_over_lease;
    Result<BeginOutcome> out = Error(ErrorKind::internal, "not set");
    session.begin({&request, 1}, {&out, 1}, StoreBench::soon());
    return out;
}

Result<FinishOutcome> finish(StoreSession& session, std::string_view key, std::uint64_t version, const Owner& who,
                             RecordStatus status) {
    FinishRequest request;
    request.trace_id = key;
    request.version = version;
    request.owner = who;
    request.status = status;
    request.retention_millis = 60'000;
    Result<FinishOutcome> out = Error(ErrorKind::internal, "not set");
    session.finish({&request, 1}, {&out, 1}, StoreBench::soon());
    return out;
}

void one_of_two_begins_wins(StoreBench& b) {
    for (int round = 0; round < rounds; ++round) {
        const std::string key = "k" + std::to_string(round);
        Result<BeginOutcome> one = BeginOutcome{}, two = BeginOutcome{};
        together([&] { one = begin(b.session(), key, owner(1)); },
                 [&] { two = begin(b.other_session(), key, owner(2)); });
        const BeginOutcome first = b.take(std::move(one), "begin answers"),
                           second = b.take(std::move(two), "begin answers");
        const int won = (first.kind == Kind::acquired ? 1 : 0) + (second.kind == Kind::acquired ? 1 : 0);
        b.equal(won, 1, "exactly one of two begins of a key acquires it");
        const BeginOutcome& loser = first.kind == Kind::acquired ? second : first;
        b.expect(loser.kind == Kind::in_progress, "the other one is told that it is in progress");
    }
}

void one_of_two_take_overs_wins(StoreBench& b) {
    std::vector<std::uint64_t> versions;
    for (int round = 0; round < rounds; ++round)
        versions.push_back(b.acquire("k" + std::to_string(round), owner(9), {.lease = b.short_lease()}));
    b.pass_lease();
    for (int round = 0; round < rounds; ++round) {
        const std::string key = "k" + std::to_string(round);
        Result<BeginOutcome> one = BeginOutcome{}, two = BeginOutcome{};
        together([&] { one = begin(b.session(), key, owner(1), true); },
                 [&] { two = begin(b.other_session(), key, owner(2), true); });
        const BeginOutcome first = b.take(std::move(one), "begin answers"),
                           second = b.take(std::move(two), "begin answers");
        const int won = (first.kind == Kind::acquired ? 1 : 0) + (second.kind == Kind::acquired ? 1 : 0);
        b.equal(won, 1, "exactly one of two take-overs wins");
        b.expect(b.row(key).version > versions[static_cast<std::size_t>(round)], "under a greater version");
    }
}

void finish_against_take_over(StoreBench& b) {
    std::vector<std::uint64_t> versions;
    for (int round = 0; round < rounds; ++round)
        versions.push_back(b.acquire("k" + std::to_string(round), owner(9), {.lease = b.short_lease()}));
    b.pass_lease();
    for (int round = 0; round < rounds; ++round) {
        const std::string key = "k" + std::to_string(round);
        const std::uint64_t version = versions[static_cast<std::size_t>(round)];
        Result<FinishOutcome> ended = FinishOutcome{};
        Result<BeginOutcome> taken = BeginOutcome{};
        together([&] { ended = finish(b.session(), key, version, owner(9), RecordStatus::success); },
                 [&] { taken = begin(b.other_session(), key, owner(1), true); });
        const bool applied = b.take(std::move(ended), "finish answers").applied;
        const BeginOutcome begun = b.take(std::move(taken), "begin answers");
        b.expect(applied != (begun.kind == Kind::acquired),
                 "either the owner finishes or another takes over, never both, never neither");
        if (!applied) continue;
        // A begin that meets the finish's row lock may say that somebody is alive (store.hpp); the next one may not.
        b.expect(begun.kind == Kind::finished || begun.kind == Kind::in_progress,
                 "who meets a finish sees it, or that somebody is alive");
        b.equal(b.take(begin(b.other_session(), key, owner(1), true), "begin answers").kind, Kind::finished,
                "and who comes after a finish sees it");
    }
}

void finish_against_recovery(StoreBench& b) {
    std::vector<std::uint64_t> versions;
    for (int round = 0; round < rounds; ++round)
        versions.push_back(b.acquire("k" + std::to_string(round), owner(9), {.lease = b.short_lease()}));
    b.pass_lease();
    std::atomic<bool> done{false};
    std::thread recovery([&] {
        while (!done) (void)b.other_session().recover({.limit = 3}, StoreBench::soon());
    });
    bool all = true;
    for (int round = 0; round < rounds; ++round) {
        const auto out = finish(b.session(), "k" + std::to_string(round), versions[static_cast<std::size_t>(round)],
                                owner(9), RecordStatus::success);
        all = all && out && out->applied;
    }
    done = true;
    recovery.join();
    b.expect(all, "recovery never keeps the owner from finishing");
    for (int round = 0; round < rounds; ++round)
        b.expect(b.row("k" + std::to_string(round)).status == RecordStatus::success,
                 "and never overwrites what was finished");
}

void finish_of_two_statuses(StoreBench& b) {
    for (int round = 0; round < rounds; ++round) {
        const std::string key = "k" + std::to_string(round);
        const std::uint64_t version = b.acquire(key, owner(1));
        Result<FinishOutcome> one = FinishOutcome{}, two = FinishOutcome{};
        together([&] { one = finish(b.session(), key, version, owner(1), RecordStatus::success); },
                 [&] { two = finish(b.other_session(), key, version, owner(1), RecordStatus::fail); });
        const FinishOutcome first = b.take(std::move(one), "finish answers"),
                            second = b.take(std::move(two), "finish answers");
        b.expect(first.applied != second.applied, "exactly one end is written");
        const RecordStatus written = first.applied ? RecordStatus::success : RecordStatus::fail;
        b.expect(b.row(key).status == written, "and stays");
        const FinishOutcome& loser = first.applied ? second : first;
        b.expect(loser.current && loser.current->status == written, "and is shown to the other");
    }
}

}  // namespace

std::vector<StoreCase> race_cases() {
    return {
        {"race_one_of_two_begins_wins", one_of_two_begins_wins},
        {"race_one_of_two_take_overs_wins", one_of_two_take_overs_wins},
        {"race_finish_against_take_over", finish_against_take_over},
        {"race_finish_against_recovery", finish_against_recovery},
        {"race_finish_of_two_statuses", finish_of_two_statuses},
    };
}

}  // namespace nebis::conformance
