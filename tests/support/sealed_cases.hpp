// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/local.hpp"
#include "nebis/nebis.hpp"
#include "nebis/store.hpp"
#include "runtime/sealing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
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

    OpenStore open_;
    std::atomic<int> runs_{0};
};

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

}  // namespace nebis::test
