// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/local.hpp"
#include "nebis/nebis.hpp"
#include "nebis/store.hpp"
#include "runtime/reseal.hpp"
#include "runtime/sealed_store.hpp"
#include "runtime/sealing.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// S52 through whole engines on a real store: what rests there is sealed, and nothing but the very answer comes back.
/// A program instantiates `Sealed` with its stores.
namespace nebis::test {

using OpenStore = std::function<std::shared_ptr<Store>()>;  ///< the same table at each call, without any seals
using NewTable = std::function<OpenStore()>;

class Sealed : public ::testing::TestWithParam<NewTable> {
protected:
    void SetUp() override { open_ = GetParam()(); }

    static std::string keys(const std::vector<std::string>& ids, const std::string& more = {}) {
        std::string all;
        for (const auto& id : ids) all += id + ": {secret: " + id + std::string(32, 's') + "}, ";
        return "seal: {keys: {" + all + "}, current: " + ids.front() + (more.empty() ? "" : ", " + more) + "}";
    }

    /// A new process, so to say: nothing is remembered but what the store keeps.
    Engine engine(const std::string& settings) {
        Engine::Parts parts;
        parts.store = open_();
        parts.gate = local::gate();
        parts.configuration = "nebis: {idempotent: {store-request: true, key-from-header: Idempotency-Key, " +
                              std::string(settings) + "}}";
        parts.options.use_environment = false;
        parts.options.background = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }

    static Request request(const std::string& key) {
        Request request;
        request.method = "POST";
        request.path = "/orders";
        request.content_type = "application/json";
        request.headers = {{"Idempotency-Key", key}};
        request.body = R"({"card":"4111111111111111"})";
        return request;
    }

    Answer run(const std::string& settings, const std::string& key) {
        Engine one = engine(settings);
        return one.run(
            operation(one), request(key), Handler([this](const Request&, Execution&) {
                ++runs_;
                return Response{201, {{"Location", "/orders/1"}}, "the answer " + std::to_string(runs_), false};
            }));
    }

    static Operation operation(Engine& engine) {
        Policy policy;
        policy.operation = "order";
        return engine.operation(policy).value();
    }

    static Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }
    std::unique_ptr<StoreSession> session() { return open_()->open(soon()).value(); }

    /// The row as it rests.
    Record stored(const std::string& trace_id) {
        const FindRequest find{trace_id};
        Result<FindOutcome> found = FindOutcome{};
        session()->find({&find, 1}, {&found, 1}, soon());
        return found.value().record.value();
    }
    std::string trace_of(const std::string& settings, const std::string& key) {
        Engine one = engine(settings);
        return one.inspect(operation(one), request(key)).value().value().trace_id;
    }

    /// Somebody with a pen writes `body` over the response of a row, or over its request as well.
    void overwrite(const Record& row, const Response& response, std::string_view request_body) {
        const auto pen = session();
        ASSERT_TRUE(pen->purge(row.trace_id, row.version, soon()).value());
        BeginRequest begin;
        begin.trace_id = row.trace_id;
        begin.operation = row.operation;
        begin.owner = row.owner;
        begin.request_hash = row.request_hash;
        begin.lease_millis = 60'000;
        begin.retention_millis = 3'600'000;
        begin.request_snapshot = request_body;
        Result<BeginOutcome> begun = BeginOutcome{};
        pen->begin({&begin, 1}, {&begun, 1}, soon());
        FinishRequest finish;
        finish.trace_id = row.trace_id;
        finish.version = begun.value().version;
        finish.owner = row.owner;
        finish.response = &response;
        finish.retention_millis = 3'600'000;
        Result<FinishOutcome> finished = FinishOutcome{};
        pen->finish({&finish, 1}, {&finished, 1}, soon());
        ASSERT_TRUE(finished.value().applied);
    }

    void expect_refused(const Answer& answer, const char* code) {
        EXPECT_EQ(answer.outcome, Outcome::unavailable);
        ASSERT_TRUE(answer.error);
        EXPECT_EQ(answer.error->kind(), ErrorKind::corrupt);
        EXPECT_EQ(answer.error->code(), code) << answer.error->text();
        EXPECT_FALSE(answer.handler_ran);
        EXPECT_TRUE(answer.response.body.empty());
    }

    static runtime::Sealing sealing(const std::vector<std::string>& ids) {
        std::vector<seal::RingKey> all;
        for (const auto& id : ids) all.push_back({id, id + std::string(32, 's')});
        return {seal::KeyRing::make(std::move(all), ids.front()).value(), false};
    }

    Resealed reseal(const std::vector<std::string>& ids, const ResealOptions& how = {.batch = 7}) {
        const auto store = open_();
        return runtime::reseal(*store, sealing(ids), how, soon()).value();
    }
    /// Rows that were just written are left alone.
    static void let_rows_rest() { std::this_thread::sleep_for(std::chrono::milliseconds(1'100)); }

    OpenStore open_;
    std::atomic<int> runs_{0};
};

/// Stores that can go through their rows.
class Resealing : public Sealed {};

TEST_P(Sealed, S52_bodies_rest_sealed_and_are_replayed_whole) {
    EXPECT_EQ(run(keys({"k1"}), "a").outcome, Outcome::fresh);
    const Answer again = run(keys({"k1"}), "a");
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response, (Response{201, {{"Location", "/orders/1"}}, "the answer 1", false}));
    EXPECT_EQ(runs_, 1);

    const Record row = stored(trace_of(keys({"k1"}), "a"));
    ASSERT_TRUE(runtime::is_sealed(row.response.value()));
    EXPECT_EQ(seal::key_id_of(row.response->body), "k1");
    EXPECT_EQ(row.response->body.find("answer"), std::string::npos);
    EXPECT_EQ(seal::key_id_of(row.request_body), "k1");
    EXPECT_EQ(row.request_body.find("4111"), std::string::npos);
    Engine one = engine(keys({"k1"}));
    EXPECT_EQ(one.inspect(operation(one), request("a")).value()->request_body, request("a").body);
}

TEST_P(Sealed, S52_a_record_whose_key_is_lost_is_refused_and_never_run_again) {
    ASSERT_EQ(run(keys({"k1"}), "a").outcome, Outcome::fresh);
    expect_refused(run(keys({"k2"}), "a"), "snapshot-key-missing");
    expect_refused(run("enabled: true", "a"), "snapshot-key-missing");  // an instance without any key
    EXPECT_EQ(run(keys({"k2", "k1"}), "a").outcome, Outcome::replayed);
    EXPECT_EQ(runs_, 1);
}

TEST_P(Sealed, S52_a_body_moved_to_another_row_or_version_or_altered_is_refused) {
    const std::string with = keys({"k1"});
    ASSERT_EQ(run(with, "a").outcome, Outcome::fresh);
    ASSERT_EQ(run(with, "b").outcome, Outcome::fresh);
    const Record a = stored(trace_of(with, "a"));
    const Record b = stored(trace_of(with, "b"));

    overwrite(b, *a.response, b.request_body);  // another row's
    expect_refused(run(with, "b"), "snapshot-damaged");
    overwrite(a, *a.response, a.request_body);  // its own, under a later version
    expect_refused(run(with, "a"), "snapshot-damaged");

    ASSERT_EQ(run(with, "c").outcome, Outcome::fresh);
    const Record c = stored(trace_of(with, "c"));
    FinishRequest finish;
    Response altered = *c.response;
    altered.body.back() = static_cast<char>(altered.body.back() ^ 1);
    overwrite(c, altered, c.request_body);
    expect_refused(run(with, "c"), "snapshot-damaged");

    ASSERT_EQ(run(with, "d").outcome, Outcome::fresh);
    const Record d = stored(trace_of(with, "d"));
    overwrite(d, Response{200, {}, "forged", false}, c.request_body);  // a request of another row
    expect_refused(run(with, "d"), "snapshot-damaged");
    EXPECT_EQ(runs_, 4);
}

TEST_P(Sealed, S52_S57_unsealed_records_are_read_until_seals_are_required) {
    ASSERT_EQ(run("enabled: true", "a").outcome, Outcome::fresh);
    const Answer again = run(keys({"k1"}), "a");
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response.body, "the answer 1");
    expect_refused(run(keys({"k1"}, "required: true"), "a"), "snapshot-unsealed");
    EXPECT_EQ(run(keys({"k1"}, "required: true"), "b").outcome, Outcome::fresh);
    EXPECT_EQ(run(keys({"k1"}, "required: true"), "b").outcome, Outcome::replayed);
    EXPECT_EQ(runs_, 2);
}

TEST_P(Sealed, S52_a_failed_attempt_is_run_again_and_its_record_is_sealed_anew) {
    Engine one = engine(keys({"k1"}));
    const Handler fails([](const Request&, Execution&) -> Response { throw NotExecuted("no stock"); });
    EXPECT_EQ(one.run(operation(one), request("a"), fails).outcome, Outcome::fresh);
    EXPECT_EQ(run(keys({"k2", "k1"}), "a").outcome, Outcome::fresh);
    EXPECT_EQ(run(keys({"k2"}), "a").response.body, "the answer 1");
    EXPECT_EQ(seal::key_id_of(stored(trace_of(keys({"k2"}), "a")).request_body), "k2");
}

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
