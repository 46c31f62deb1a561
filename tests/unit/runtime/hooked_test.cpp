// SPDX-License-Identifier: Apache-2.0
#include "nebis/testing.hpp"
#include "support.hpp"

#include <map>
#include <mutex>
#include <thread>
#include <vector>

/// `hooked`: a coordinator decides, hooks move the record (S32). The coordinator here is a fake that can fail at every
/// step.
namespace nebis {
namespace {

using namespace testkit;
using std::chrono::milliseconds;
using Calls = std::vector<std::string>;

struct Coordinator : TransactionHooks {
    std::mutex mutex;
    Calls calls;
    std::map<std::string, Decision> decided;
    std::optional<Error> before_fails, commit_fails;
    bool presumes_abort = false;
    std::function<void(const std::string&)> at;

    void note(const std::string& call) {
        {
            const std::lock_guard lock(mutex);
            calls.push_back(call);
        }
        if (at) at(call);
    }
    Result<std::string> before_transaction(const Execution& execution) override {
        note("before");
        if (before_fails) return *before_fails;
        return "tx-" + execution.key();
    }
    Result<void> commit(const std::string& transaction) override {
        note("commit " + transaction);
        if (commit_fails) return *commit_fails;
        return {};
    }
    Result<void> rollback(const std::string& transaction) override {
        note("rollback " + transaction);
        return {};
    }
    Result<Decision> decision(const std::string& transaction) override {
        note("decision " + transaction);
        const auto known = decided.find(transaction);
        return known == decided.end() ? Decision::never_heard : known->second;
    }
    bool presumed_abort() const noexcept override { return presumes_abort; }
};

struct Hooked : testing::Test {
    std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>();
    const fakes::VirtualClock clock;
    Engine engine = engine_on(memory::store({.clock = clock}), "nebis: {idempotent: {local-cache-millis: 0}}");
    Operation order;
    Counting counting;

    void SetUp() override {
        Policy policy = policy_of("order");
        policy.mode = Mode::hooked;
        policy.transaction_hooks = coordinator;
        order = engine.operation(policy).value();
    }
    std::optional<Record> row() { return engine.inspect(order, request_with("k")).value(); }
    Answer run() { return engine.run(order, request_with("k"), counting.handler()); }
    /// Past the lease: only then somebody may ask. A begin meant for the time before the jump comes too late and does
    /// nothing; then the engine knows the time.
    void pass_lease() {
        clock.advance(std::chrono::seconds(11));
        EXPECT_EQ(run().outcome, Outcome::unavailable);
    }
};

TEST_F(Hooked, S32_the_order_of_calls_and_what_stands_in_the_row_at_each) {
    coordinator->at = [this](const std::string& call) {
        if (call == "before") {
            EXPECT_EQ(row()->status, RecordStatus::processing);
        }
        if (call == "commit tx-k") {
            EXPECT_EQ(row()->status, RecordStatus::processing);
            EXPECT_EQ(row()->outcome_ref, "tx-k");
            ASSERT_TRUE(row()->response);
            EXPECT_EQ(row()->response->body, "run 1");
        }
    };
    const Answer answer = run();
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_EQ(coordinator->calls, (Calls{"before", "commit tx-k"}));
    EXPECT_EQ(row()->status, RecordStatus::success);
    EXPECT_EQ(run().response, answer.response);
}

TEST_F(Hooked, S32_a_failing_handler_rolls_back) {
    const Answer answer =
        engine.run(order, request_with("k"),
                   Handler([](const Request&, Execution&) -> Response { throw std::runtime_error("?"); }));
    EXPECT_TRUE(answer.failure);
    EXPECT_EQ(coordinator->calls, (Calls{"before", "rollback tx-k"}));
    EXPECT_EQ(row()->status, RecordStatus::fail);
}

TEST_F(Hooked, when_the_coordinator_is_away_nothing_runs_and_the_key_is_free) {
    coordinator->before_fails = Error(ErrorKind::unavailable, "away");
    EXPECT_EQ(run().outcome, Outcome::unavailable);
    EXPECT_EQ(counting.count(), 0);
    coordinator->before_fails.reset();
    EXPECT_EQ(run().outcome, Outcome::fresh);
}

TEST_F(Hooked, an_ambiguous_commit_is_unknown_until_the_coordinator_says_committed) {
    coordinator->commit_fails = Error(ErrorKind::maybe_applied, "reply lost");
    coordinator->decided["tx-k"] = Coordinator::Decision::undecided;
    EXPECT_EQ(run().outcome, Outcome::outcome_unknown);
    EXPECT_EQ(row()->status, RecordStatus::unknown);
    pass_lease();
    EXPECT_EQ(run().outcome, Outcome::outcome_unknown);
    coordinator->decided["tx-k"] = Coordinator::Decision::committed;
    pass_lease();  // of who asked
    const Answer decided = run();
    EXPECT_EQ(decided.outcome, Outcome::replayed);
    EXPECT_EQ(decided.response.body, "run 1");
    EXPECT_EQ(counting.count(), 1);
}

TEST_F(Hooked, rolled_back_by_the_coordinator_means_that_the_key_runs_again) {
    coordinator->commit_fails = Error(ErrorKind::maybe_applied, "reply lost");
    coordinator->decided["tx-k"] = Coordinator::Decision::rolled_back;
    run();
    coordinator->commit_fails.reset();
    pass_lease();
    EXPECT_EQ(run().outcome, Outcome::fresh);
    EXPECT_EQ(counting.count(), 2);
}

TEST_F(Hooked, never_heard_is_not_rolled_back_unless_the_coordinator_presumes_abort) {
    coordinator->commit_fails = Error(ErrorKind::maybe_applied, "reply lost");
    run();
    pass_lease();
    EXPECT_EQ(run().outcome, Outcome::outcome_unknown);
    coordinator->presumes_abort = true;
    coordinator->commit_fails.reset();
    pass_lease();
    EXPECT_EQ(run().outcome, Outcome::fresh);
}

TEST_F(Hooked, a_throwing_hook_is_contained) {
    coordinator->at = [](const std::string& call) {
        if (call.rfind("commit", 0) == 0) throw std::runtime_error("hook");
    };
    EXPECT_EQ(run().outcome, Outcome::outcome_unknown);
    EXPECT_EQ(row()->status, RecordStatus::unknown);
}

/// The process died between the hooks: what another instance's recovery makes of the row it left.
struct HookedCrash : testing::Test {
    const fakes::VirtualClock clock;
    std::shared_ptr<Store> store = memory::store({.clock = clock});
    std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>();
    const std::string quick =
        "nebis: {idempotent: {lock-expire-millis: 50, budget-millis: 40, processing-timeout-millis: 1000, "
        "local-cache-millis: 0}}";

    /// Leaves a PROCESSING row as a crash would, with that outcome_ref and response.
    void crash(const std::string& reference, bool with_response) {
        Engine engine = engine_on(store, quick);
        Policy policy = policy_of("order");
        const Operation order = engine.operation(policy).value();
        std::string trace_id;
        RequestHash hash;
        engine.run(order, request_with("k"), Handler([&](const Request&, Execution& execution) -> Response {
                       trace_id = execution.trace_id();
                       throw NotExecuted("");
                   }));
        hash = engine.inspect(order, request_with("k")).value()->request_hash;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        auto session = store->open(deadline).value();
        BeginRequest begin;
        begin.trace_id = trace_id;
        begin.operation = "order";
        begin.owner.bytes[0] = 1;
        begin.request_hash = hash;
        begin.lease_millis = 1;
        begin.retention_millis = 60'000;
        Result<BeginOutcome> begun = BeginOutcome{};
        session->begin({&begin, 1}, {&begun, 1}, deadline);
        ASSERT_EQ(begun->kind, BeginOutcome::Kind::acquired);
        if (reference.empty()) return;
        const Response response{200, {}, "decided", false};
        FinishRequest note;
        note.trace_id = trace_id;
        note.version = begun->version;
        note.owner = begin.owner;
        note.status = RecordStatus::processing;
        note.from_unknown = false;
        note.retention_millis = 60'000;
        note.outcome_ref = reference;
        if (with_response) note.response = &response;
        Result<FinishOutcome> noted = FinishOutcome{};
        session->finish({&note, 1}, {&noted, 1}, deadline);
        ASSERT_TRUE(noted->applied);
    }
    RecordStatus recovered() {
        clock.advance(std::chrono::seconds(2));  // past the processing time-out
        Engine engine = engine_on(store, quick);
        Policy policy = policy_of("order");
        policy.mode = Mode::hooked;
        policy.transaction_hooks = coordinator;
        const Operation order = engine.operation(policy).value();
        for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
             std::chrono::steady_clock::now() < end;) {
            if (engine.recover_now().value() > 0) break;
            std::this_thread::sleep_for(milliseconds(5));
        }
        return engine.inspect(order, request_with("k")).value()->status;
    }
};

TEST_F(HookedCrash, after_the_reference_recovery_asks_and_records_the_commit) {
    crash("tx-9", true);
    coordinator->decided["tx-9"] = Coordinator::Decision::committed;
    EXPECT_EQ(recovered(), RecordStatus::success);
    EXPECT_EQ(coordinator->calls, (Calls{"decision tx-9"}));
}

TEST_F(HookedCrash, before_the_reference_nothing_was_begun_so_it_is_fail) {
    crash("", false);
    EXPECT_EQ(recovered(), RecordStatus::fail);
    EXPECT_TRUE(coordinator->calls.empty());
}

TEST_F(HookedCrash, undecided_stays_unknown) {
    crash("tx-9", false);
    coordinator->decided["tx-9"] = Coordinator::Decision::undecided;
    EXPECT_EQ(recovered(), RecordStatus::unknown);
}

}  // namespace
}  // namespace nebis
