// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <latch>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

// Two instances whose only store is one Redis: what is kept, and exactly what isn't (docs/guarantees.md).
namespace {

using namespace nebis;
using nebis::test::acquired;
using nebis::test::eventually;
using nebis::test::finish_of;
using nebis::test::Instance;
using nebis::test::RedisServer;
using nebis::test::soon;
using nebis::test::store_at;
using nebis::test::Table;
using nebis::test::Witness;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Response made{201, {}, "made", false};

const std::vector<std::string> everysec{"--appendonly", "yes", "--appendfsync", "everysec"};
const std::vector<std::string> always{"--appendonly", "yes", "--appendfsync", "always"};

TEST(RedisStoreEngine, five_duplicates_at_once_on_two_instances_are_one_effect_and_five_equal_answers) {
    constexpr int rounds = 20, duplicates = 5;
    RedisServer server;
    Policy waiting;
    waiting.on_duplicate = OnDuplicate::wait;
    waiting.wait = seconds(20);
    const auto options = store_at(server.address());
    const std::array<Instance, 2> instances{Instance(options, waiting), Instance(options, waiting)};
    for (int round = 0; round < rounds; ++round) {
        std::atomic<int> runs{0};
        std::latch together(duplicates);
        std::array<Answer, duplicates> answers;
        {
            std::vector<std::jthread> all;
            for (std::size_t i = 0; i < duplicates; ++i)
                all.emplace_back([&, i] {
                    const Handler handler([&](const Request&, Execution&) {
                        std::this_thread::sleep_for(milliseconds(20));
                        return Response{201, {}, "run " + std::to_string(++runs), false};
                    });
                    together.arrive_and_wait();
                    answers[i] = instances[i % 2].run("k" + std::to_string(round), handler);
                });
        }
        EXPECT_EQ(runs, 1);
        for (const auto& answer : answers) {
            EXPECT_TRUE(nebis::test::is_final(answer)) << to_string(answer.outcome);
            EXPECT_EQ(answer.response.status, 201);
            EXPECT_EQ(answer.response.body, "run 1");
        }
        EXPECT_EQ(std::ranges::count_if(answers, [](const auto& one) { return one.handler_ran; }), 1);
    }
}

/// Clients that ask for every key at both instances while `trouble` strikes; what they were told.
proof::Verdict under_load(const Instance& one, const Instance& two, Witness& witness,
                          const std::function<void(const std::atomic<int>& answered)>& trouble) {
    constexpr std::size_t clients = 8;
    std::atomic<bool> over{false};
    std::atomic<int> answered{0};
    {
        std::vector<std::jthread> all;
        for (std::size_t client = 0; client < clients; ++client)
            all.emplace_back([&, client] {
                for (std::size_t n = 0; !over; ++n) {
                    const std::uint64_t number = client / 2 + 10 * n;
                    const std::string key = "k" + std::to_string(number);
                    const Handler handler(
                        [&](const Request&, Execution& execution) { return witness.effect(key, number, execution); });
                    // Insists, also when the run is over: each key has its last word.
                    const auto until = std::chrono::steady_clock::now() + seconds(60);
                    for (;;) {
                        const auto sent = Witness::now();
                        const Answer answer = (client % 2 != 0 ? one : two).run(key, handler);
                        witness.told(key, number, static_cast<int>(client % 2), sent, answer);
                        if (nebis::test::is_final(answer) && answer.recorded) break;
                        if (answer.outcome == Outcome::outcome_unknown) break;  // held, until somebody settles it
                        if (std::chrono::steady_clock::now() >= until) break;
                        std::this_thread::sleep_for(milliseconds(10));
                    }
                    ++answered;
                }
            });
        trouble(answered);
        over = true;
    }
    return witness.verdict();
}

TEST(RedisStoreEngine, killed_under_load_with_appendfsync_always_it_keeps_every_recorded_answer) {
    RedisServer server(always);
    const auto options = store_at(server.address());
    Policy policy;
    policy.lease = seconds(2);  // so that those whose begin got lost are settled soon
    const Instance one(options, policy), two(options, policy);
    Witness witness;
    const auto verdict = under_load(one, two, witness, [&](const std::atomic<int>& answered) {
        for (int round = 1; round <= 3; ++round) {
            const int before = answered;
            EXPECT_TRUE(eventually([&] { return answered >= before + 100; }, seconds(60)));
            server.kill();
            server.start();
        }
        const int before = answered;
        EXPECT_TRUE(eventually([&] { return answered >= before + 100; }, seconds(60)));
    });
    EXPECT_EQ(verdict.doubled, 0U) << nebis::test::text_of(verdict);
    EXPECT_EQ(verdict.lost, 0U) << nebis::test::text_of(verdict);
    for (const auto& one_violation : verdict.violations)
        EXPECT_EQ(one_violation.invariant, 10) << nebis::test::text_of(verdict);  // held as UNKNOWN has no last word
    // An instance that has seen none of it, in front of a Redis that was killed once more.
    server.kill();
    server.start();
    ASSERT_TRUE(eventually([&] { return redis::store(options).value()->verify(soon()).has_value(); })) << "loading";
    const Instance fresh(options, policy);
    std::atomic<int> again{0};
    const Handler never([&](const Request&, Execution&) {
        ++again;
        return Response{500, {}, "a second run", false};
    });
    int replayed = 0;
    for (const auto& [key, history] : witness.histories()) {
        const auto told = std::ranges::find_if(
            history.calls, [](const auto& call) { return call.said == proof::Said::success && call.recorded; });
        if (told == history.calls.end()) continue;
        const Answer answer = fresh.run(key, never);
        EXPECT_EQ(answer.outcome, Outcome::replayed) << key;
        EXPECT_EQ(answer.response.body, told->answer) << key;
        ++replayed;
    }
    EXPECT_EQ(again, 0);
    EXPECT_GE(replayed, 200);
    std::cout << "replayed after kill -9: " << replayed << ", " << nebis::test::text_of(verdict) << '\n';
}

// A machine that crashes between two syncs loses the end of the append-only file. Whatever is cut off, a row is as one
// of its writes left it, and what isn't there was never recorded.
TEST(RedisStoreEngine, an_append_only_file_that_lost_its_end_holds_no_half_row) {
    RedisServer server(always);  // each write is in the file when it is answered; the test does the forgetting
    const Table table(store_at(server.address()));
    const auto kept = table.begin("kept");
    ASSERT_TRUE(table.finish(finish_of("kept", kept->version, made)).value().applied);
    const auto size_of_log = [&] {
        for (const auto& file : std::filesystem::directory_iterator(server.folder() + "/appendonlydir"))
            if (file.path().string().ends_with(".incr.aof")) return std::pair(file.path(), file.file_size());
        return std::pair(std::filesystem::path(), std::uintmax_t{0});
    };
    const auto [log, before] = size_of_log();
    const auto begun = table.begin("k");
    ASSERT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
    server.kill();
    std::ifstream in(log, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    ASSERT_GT(whole.size(), before);
    std::set<std::string> seen;
    constexpr std::size_t cuts = 40;
    for (std::size_t i = 0; i <= cuts; ++i) {
        const std::size_t length = before + (whole.size() - before) * i / cuts;
        std::ofstream(log, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
        server.start();
        Result<FindOutcome> found = FindOutcome{};
        ASSERT_TRUE(eventually([&] { return (found = table.find("k")).has_value(); })) << found.error().text();
        EXPECT_EQ(table.find("kept").value().record->response->body, "made");
        const auto again = table.begin("k", 2);
        ASSERT_TRUE(again) << again.error().text();
        if (!found->record) {
            seen.insert("never recorded");
            ASSERT_TRUE(acquired(again)) << "its request runs again";
            EXPECT_GT(again->version, kept->version);
        } else if (found->record->status == RecordStatus::processing) {
            seen.insert("in progress");
            EXPECT_EQ(again->kind, BeginOutcome::Kind::in_progress);
            EXPECT_EQ(found->record->version, begun->version);
        } else {
            seen.insert("finished");
            EXPECT_EQ(again->record->response->body, "made");
        }
        server.kill();
    }
    EXPECT_EQ(seen, (std::set<std::string>{"finished", "in progress", "never recorded"}));
}

TEST(RedisStoreEngine, killed_with_appendfsync_everysec_what_is_there_is_whole_and_what_is_not_runs_again) {
    RedisServer server(everysec);
    const Table table(store_at(server.address()));
    std::map<std::string, std::uint64_t> done;
    for (int i = 0; i < 500; ++i) {
        const std::string key = "k" + std::to_string(i);
        const auto begun = table.begin(key);
        ASSERT_TRUE(table.finish(finish_of(key, begun->version, made)).value().applied);
        done[key] = begun->version;
    }
    server.kill();
    server.start();
    ASSERT_TRUE(eventually([&] { return table.find("k0").has_value(); }));
    int forgotten = 0;
    for (const auto& [key, version] : done) {
        const auto again = table.begin(key, 2);
        ASSERT_TRUE(again) << again.error().text();
        if (acquired(again)) {
            ++forgotten;
        } else {
            ASSERT_EQ(again->kind, BeginOutcome::Kind::finished) << key;
            EXPECT_EQ(again->record->version, version);
            EXPECT_EQ(again->record->response->body, "made");
        }
    }
    std::cout << "everysec, the process killed: " << forgotten << " of " << done.size() << " forgotten\n";
    EXPECT_LT(forgotten, 500) << "what was written is written";
}

// docs/guarantees.md: what Redis forgets counts as never recorded, and its request runs again.
TEST(RedisStoreEngine, after_FLUSHALL_every_key_runs_again_and_a_late_finish_overwrites_nothing) {
    RedisServer server;
    const auto options = store_at(server.address());
    const Instance one(options), two(options);
    std::atomic<int> runs{0};
    const Handler counting([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    ASSERT_EQ(one.run("k", counting).response.body, "run 1");
    ASSERT_EQ(two.run("k", counting).outcome, Outcome::replayed);
    server.ask({"FLUSHALL"});
    const Answer again = two.run("k", counting);
    EXPECT_EQ(again.outcome, Outcome::fresh) << "the documented loss";
    EXPECT_EQ(again.response.body, "run 2");
    EXPECT_EQ(one.run("k", counting).response.body, "run 2") << "and from there on it is kept";

    // In mid-flight: the row is gone while its owner works, and another one takes its place.
    std::uint64_t first_token = 0, second_token = 0;
    Answer second;
    const Handler flushing([&](const Request&, Execution& execution) {
        first_token = execution.fencing_token();
        server.ask({"FLUSHALL"});
        second = two.run("mid", Handler([&](const Request&, Execution& inner) {
                             second_token = inner.fencing_token();
                             return Response{201, {}, "second", false};
                         }));
        return Response{201, {}, "first", false};
    });
    const Answer first = one.run("mid", flushing);
    EXPECT_EQ(second.outcome, Outcome::fresh) << "the documented loss";
    EXPECT_GT(second_token, first_token) << "a resource that honours the token refuses the first";
    EXPECT_FALSE(nebis::test::is_final(first) && first.recorded) << "nobody says that the first is recorded";
    const Answer later = one.run("mid", counting);
    EXPECT_EQ(later.outcome, Outcome::replayed);
    EXPECT_EQ(later.response.body, "second") << "the first finish came to nothing";

    // And with nobody in its place.
    const Answer alone = one.run("alone", Handler([&](const Request&, Execution&) {
                                     server.ask({"FLUSHALL"});
                                     return Response{201, {}, "alone", false};
                                 }));
    EXPECT_FALSE(nebis::test::is_final(alone) && alone.recorded) << "nothing is told as recorded that isn't";
}

TEST(RedisStoreEngine, with_too_few_replicas_nothing_runs_and_with_them_back_it_runs_once) {
    RedisServer server;
    auto options = store_at(server.address());
    options.wait_replicas = 1;
    options.wait_timeout = seconds(1);  // enough for a replica on a busy machine, too
    Policy policy;
    policy.budget = seconds(3);
    policy.lease = seconds(4);
    RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(server.port())});
    ASSERT_TRUE(server.has_replica());
    const Instance one(options, policy), two(options, policy);
    std::atomic<int> runs{0};
    const Handler counting([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    Answer before;
    ASSERT_TRUE(eventually([&] { return nebis::test::is_final(before = one.run("before", counting)); }));
    ASSERT_EQ(runs, 1);
    replica.pause();
    for (int i = 0; i < 4; ++i) {
        const Answer answer = (i % 2 != 0 ? one : two).run("k", counting);
        EXPECT_EQ(answer.outcome, Outcome::unavailable);
        ASSERT_TRUE(answer.error);
    }
    EXPECT_FALSE(nebis::test::is_final(two.run("before", counting))) << "not even a replay: it can't be vouched for";
    EXPECT_EQ(runs, 1) << "nothing runs";
    replica.resume();
    Answer after;
    EXPECT_TRUE(eventually([&] { return nebis::test::is_final(after = two.run("other", counting)); }));
    EXPECT_EQ(after.outcome, Outcome::fresh);
    EXPECT_TRUE(eventually([&] { return one.run("other", counting).outcome == Outcome::replayed; }));
    // The begin that was in doubt: held as unknown or given back, but never run twice.
    EXPECT_TRUE(eventually([&] {
        const Answer answer = one.run("k", counting);
        return nebis::test::is_final(answer) || answer.outcome == Outcome::outcome_unknown;
    }));
    EXPECT_LE(runs, 3);
    EXPECT_TRUE(eventually([&] { return two.run("before", counting).response.body == before.response.body; }));
    EXPECT_LE(runs, 3);
}

}  // namespace
