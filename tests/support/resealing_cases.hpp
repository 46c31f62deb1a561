// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/reseal.hpp"
#include "runtime/sealed_store.hpp"
#include "support/sealed_cases.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

/// Rotation of keys on a real store. A program instantiates `Resealing` with those of its stores that can go through
/// their rows.
namespace nebis::test {

class Resealing : public Sealed {
protected:
    Resealed reseal(const std::vector<std::string>& ids, const ResealOptions& how = {.batch = 7}) {
        const auto store = open_();
        return runtime::reseal(*store, sealing(ids), how, soon()).value();
    }
    /// Rows that were just written are left alone.
    static void let_rows_rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1'100)); }
};

TEST_P(Resealing, S52_a_rotation_brings_every_record_under_the_new_key_and_changes_nothing_else) {
    for (int i = 0; i < 20; ++i) ASSERT_EQ(run(keys({"k1"}), "a" + std::to_string(i)).outcome, Outcome::fresh);
    ASSERT_EQ(run("enabled: true", "plain").outcome, Outcome::fresh);
    const std::string trace = trace_of(keys({"k1"}), "a3");
    const Record before = stored(trace);
    let_rows_rest();
    const Resealed done = reseal({"k2", "k1"});
    EXPECT_EQ(done.looked_at, 21U);
    EXPECT_EQ(done.sealed, 21U);
    EXPECT_EQ(done.in_use + done.unopened + done.unreadable, 0U);
    EXPECT_EQ(reseal({"k2", "k1"}).sealed, 0U);  // nothing is left to do

    Record after = stored(trace);
    EXPECT_EQ(seal::key_id_of(after.response->body), "k2");
    EXPECT_EQ(seal::key_id_of(after.request_body), "k2");
    EXPECT_EQ(after.status, before.status);
    EXPECT_EQ(after.version, before.version);
    EXPECT_EQ(after.owner, before.owner);
    EXPECT_EQ(after.attempts, before.attempts);
    EXPECT_EQ(after.request_hash, before.request_hash);
    EXPECT_EQ(after.lease_expire_time, before.lease_expire_time);
    EXPECT_EQ(after.expire_time, before.expire_time);
    EXPECT_EQ(after.create_time, before.create_time);
    EXPECT_EQ(after.update_time, before.update_time);
    EXPECT_EQ(after.instance, before.instance);
    const std::string only_new = keys({"k2"}, "required: true");
    EXPECT_EQ(run(only_new, "a3").response.body, "the answer 4");
    EXPECT_EQ(run(only_new, "plain").response.body, "the answer 21");
    EXPECT_EQ(runs_, 21);
}

TEST_P(Resealing, S52_a_record_that_was_just_written_is_left_to_its_writers) {
    bool left = false;
    for (int i = 0; i < 50 && !left; ++i) {  // a busy machine may take its time between the two
        ASSERT_EQ(run(keys({"k1"}), "a" + std::to_string(i)).outcome, Outcome::fresh);
        left = reseal({"k2", "k1"}).in_use > 0;
    }
    EXPECT_TRUE(left);
}

TEST_P(Resealing, S52_records_whose_key_is_lost_are_counted_and_left) {
    ASSERT_EQ(run(keys({"lost"}), "a").outcome, Outcome::fresh);
    ASSERT_EQ(run(keys({"k1"}), "b").outcome, Outcome::fresh);
    let_rows_rest();
    const Resealed done = reseal({"k2", "k1"});
    EXPECT_EQ(done.unopened, 1U);
    EXPECT_EQ(done.sealed, 1U);
    EXPECT_EQ(run(keys({"lost"}), "a").outcome, Outcome::replayed);
}

TEST_P(Resealing, S52_killed_half_way_it_harms_nothing_and_goes_on) {
    for (int i = 0; i < 12; ++i) ASSERT_EQ(run(keys({"k1"}), "a" + std::to_string(i)).outcome, Outcome::fresh);
    let_rows_rest();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const auto store = open_();
        (void)runtime::reseal(*store, sealing({"k2", "k1"}),
                              {.batch = 1,
                               .progress =
                                   [](std::size_t looked_at) {
                                       if (looked_at == 5) (void)raise(SIGKILL);
                                   }},
                              soon());
        _exit(0);
    }
    int how = 0;
    ASSERT_EQ(waitpid(child, &how, 0), child);
    ASSERT_TRUE(WIFSIGNALED(how));
    for (int i = 0; i < 12; ++i)
        EXPECT_EQ(run(keys({"k1", "k2"}), "a" + std::to_string(i)).outcome, Outcome::replayed) << i;
    EXPECT_EQ(reseal({"k2", "k1"}).sealed, 7U);
    for (int i = 0; i < 12; ++i)
        EXPECT_EQ(run(keys({"k2"}), "a" + std::to_string(i)).response.body, "the answer " + std::to_string(i + 1));
    EXPECT_EQ(runs_, 12);
}

TEST_P(Resealing, S52_beside_attempts_that_end_meanwhile_no_answer_is_lost) {
    constexpr int count = 60;
    const auto seals = std::make_shared<const runtime::Sealing>(sealing({"k1"}));
    const auto store = runtime::sealed(open_(), seals);
    const auto writer = store->open(soon()).value();
    std::vector<std::string> traces;
    std::vector<std::uint64_t> versions;
    Owner owner;
    owner.bytes[0] = 7;
    for (int i = 0; i < count; ++i) {
        BeginRequest begin;
        begin.trace_id = traces.emplace_back("t" + std::to_string(1'000 + i));
        begin.operation = "order";
        begin.owner = owner;
        begin.lease_millis = 60'000;
        begin.retention_millis = 3'600'000;
        begin.request_snapshot = "{}";
        Result<BeginOutcome> begun = BeginOutcome{};
        writer->begin({&begin, 1}, {&begun, 1}, soon());
        versions.push_back(begun.value().version);
    }
    let_rows_rest();
    std::atomic<bool> stop{false}, going{false};
    std::atomic<std::size_t> rewritten{0};
    std::thread upkeep([&] {
        while (!stop)
            rewritten += reseal({"k2", "k1"}, {.batch = 5, .progress = [&](std::size_t) { going = true; }}).sealed;
    });
    for (const auto end = soon(); !going && std::chrono::steady_clock::now() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int i = count - 1; i >= 0; --i) {  // towards the pages that come
        const Response response{200, {}, "answer " + std::to_string(i), false};
        FinishRequest finish;
        finish.trace_id = traces[static_cast<std::size_t>(i)];
        finish.version = versions[static_cast<std::size_t>(i)];
        finish.owner = owner;
        finish.response = &response;
        finish.retention_millis = 3'600'000;
        const auto end = soon();
        for (;;) {  // a row that is being rewritten is held for a moment
            Result<FinishOutcome> finished = FinishOutcome{};
            writer->finish({&finish, 1}, {&finished, 1}, soon());
            if (finished && finished->applied) break;
            ASSERT_LT(std::chrono::steady_clock::now(), end);
        }
    }
    stop = true;
    upkeep.join();
    EXPECT_GT(rewritten, 0U);
    const auto opens = sealing({"k2", "k1"});
    for (int i = 0; i < count; ++i) {
        Record row = stored(traces[static_cast<std::size_t>(i)]);
        EXPECT_EQ(row.status, RecordStatus::success);
        ASSERT_TRUE(opens.open(row)) << i;
        EXPECT_EQ(row.response->body, "answer " + std::to_string(i));
        EXPECT_EQ(row.request_body, "{}");
    }
}

}  // namespace nebis::test
