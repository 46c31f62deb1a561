// SPDX-License-Identifier: Apache-2.0
#include "identify/canonical.hpp"
#include "identify/noise.hpp"
#include "nebis/testing.hpp"
#include "support.hpp"

#include <future>
#include <thread>
#include <vector>

/// Field cases that go through the whole engine and belong to no single room.
namespace nebis {
namespace {

using namespace testkit;
using std::chrono::milliseconds;

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

Handler failing_with(std::function<void()> what) {
    return Handler([what = std::move(what)](const Request&, Execution&) -> Response {
        what();
        return {};
    });
}

TEST(Redelivery, C58_a_message_is_seen_only_once_it_was_processed) {
    Engine engine = memory_engine();
    const Operation consume = engine.operation(policy_of("consume")).value();
    // First delivery: in progress isn't "done", and a failure leaves the message for the next delivery.
    const Answer failed =
        engine.run(consume, request_with("m"), failing_with([&] {
                       EXPECT_EQ(engine.inspect(consume, request_with("m")).value()->status, RecordStatus::processing);
                       throw NotExecuted("database away");
                   }));
    EXPECT_TRUE(failed.failure);
    const Counting counting;
    EXPECT_EQ(engine.run(consume, request_with("m"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(engine.run(consume, request_with("m"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 1);
    // A permanent error is final and told to every delivery: never silence, never a second run.
    engine.run(consume, request_with("bad"), failing_with([] { throw Rejected("no such account"); }));
    const Answer again = engine.run(consume, request_with("bad"), counting.handler());
    EXPECT_TRUE(again.rejected);
    EXPECT_EQ(again.response.body, "no such account");
    EXPECT_EQ(counting.count(), 1);
}

TEST(Redelivery, B028_a_key_past_its_retention_is_new_and_its_attempts_start_again) {
    const fakes::VirtualClock clock;
    Engine engine =
        engine_on(memory::store({.clock = clock}), "nebis: {idempotent: {local-cache-millis: 0}}", {}, false);
    Policy policy = policy_of("order");
    policy.retention = std::chrono::hours(1);
    const Operation order = engine.operation(policy).value();
    engine.run(order, request_with("k"), failing_with([] { throw NotExecuted("?"); }));
    const Counting counting;
    const Answer first = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(first.attempt, 2U);
    const Request other = request_with("k", R"({"amount":"2"})");
    clock.advance(std::chrono::hours(1) - milliseconds(1));
    // A begin meant for the time before the jump comes too late and does nothing; then the engine knows the time.
    EXPECT_EQ(engine.run(order, other, counting.handler()).outcome, Outcome::unavailable);
    EXPECT_EQ(engine.run(order, other, counting.handler()).outcome, Outcome::mismatch);
    EXPECT_EQ(engine.run(order, request_with("k"), counting.handler()).outcome, Outcome::replayed);
    clock.advance(milliseconds(2));
    const Answer again = engine.run(order, other, counting.handler());  // the old request is forgotten: no mismatch
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(again.attempt, 1U);
    EXPECT_GT(again.fencing_token, first.fencing_token);
    EXPECT_EQ(counting.count(), 2);
}

TEST(Mutation, C08_a_handler_that_changes_its_arguments_changes_neither_key_nor_hash_nor_row) {
    Engine engine = memory_engine("nebis: {idempotent: {local-cache-millis: 0}}");
    int runs = 0;
    const auto process =
        engine.idempotent({.operation = "process", .key = all_parameters()}, args("order"), [&](std::string& order) {
            order += ", processed";
            if (++runs == 1) throw NotExecuted("after the change");
            return order;
        });
    std::string order = "tea";
    EXPECT_THROW(process(order), NotExecuted);
    EXPECT_EQ(order, "tea, processed");
    std::string again = "tea";  // the failure has freed the row of "tea", the one it began
    EXPECT_EQ(process(again), "tea, processed");
    std::string replay = "tea";
    EXPECT_EQ(process(replay), "tea, processed");
    EXPECT_EQ(replay, "tea") << "a replay runs nothing";
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(engine.inspect(process.operation(), process.request("tea")).value()->status, RecordStatus::success);
    EXPECT_FALSE(engine.inspect(process.operation(), process.request("tea, processed")).value());
}

/// A store that holds the record of one request as another version of the product wrote it.
class OtherVersion : public testing::Test {
protected:
    void written_with(const RequestHash& hash) {
        const Operation order = engine_.operation(policy_of("order")).value();
        engine_.run(order, request, Counting().handler());
        trace_id_ = engine_.inspect(order, request).value()->trace_id;
        ASSERT_TRUE(engine_.purge(order, request, "the test writes its own").value());
        auto session = store_->open(soon()).value();
        BeginRequest begin;
        begin.trace_id = trace_id_;
        begin.operation = "order";
        begin.owner = {7, 7};
        begin.request_hash = hash;
        begin.lease_millis = 10'000;
        begin.retention_millis = 3'600'000;
        Result<BeginOutcome> begun = Error(ErrorKind::internal, "not set");
        session->begin({&begin, 1}, {&begun, 1}, soon());
        ASSERT_EQ(begun.value().kind, BeginOutcome::Kind::acquired);
        const Response kept{201, {}, "of the other version", false};
        FinishRequest finish;
        finish.trace_id = trace_id_;
        finish.version = begun.value().version;
        finish.owner = begin.owner;
        finish.response = &kept;
        finish.retention_millis = 3'600'000;
        Result<FinishOutcome> finished = Error(ErrorKind::internal, "not set");
        session->finish({&finish, 1}, {&finished, 1}, soon());
        ASSERT_TRUE(finished.value().applied);
    }
    RequestHash hashed(std::uint8_t scheme) const {
        const auto noise = identify::NoiseFilter::make(std::vector<std::string>{}).value();
        return identify::hash_request(request, noise, {}, scheme).value();
    }

    const Request request = request_with("k");
    std::shared_ptr<Store> store_ = memory::store();
    // A short lease: for as long nothing is taken over after the start.
    Engine engine_ =
        engine_on(store_, "nebis: {idempotent: {local-cache-millis: 0, lock-expire-millis: 500, budget-millis: 450}}");
    std::string trace_id_;
};

TEST_F(OtherVersion, C67_a_row_of_the_previous_scheme_is_compared_under_that_scheme) {
    written_with(hashed(identify::previous_scheme));
    const Operation order = engine_.operation(policy_of("order")).value();
    const Counting counting;
    const Answer same = engine_.run(order, request, counting.handler());
    EXPECT_EQ(same.outcome, Outcome::replayed);
    EXPECT_EQ(same.response.body, "of the other version");
    EXPECT_EQ(engine_.run(order, request_with("k", R"({"amount":"2"})"), counting.handler()).outcome,
              Outcome::mismatch);
    EXPECT_EQ(counting.count(), 0);
}

TEST_F(OtherVersion, C67_a_row_of_a_scheme_not_known_here_is_neither_a_mismatch_nor_run_again) {
    RequestHash later = hashed(identify::current_scheme);
    later.scheme = 200;
    written_with(later);
    const Operation order = engine_.operation(policy_of("order")).value();
    const Counting counting;
    const Answer answer = engine_.run(order, request, counting.handler());
    EXPECT_NE(answer.outcome, Outcome::fresh);
    EXPECT_NE(answer.outcome, Outcome::mismatch);
    EXPECT_NE(answer.outcome, Outcome::replayed);
    EXPECT_TRUE(answer.error);
    EXPECT_EQ(counting.count(), 0);
}

// ---- C20: what a retry is told after a kill; the kills themselves are in proof/torture

/// A record that a process began and then died over, at the place the test says.
class Killed : public OtherVersion {
protected:
    std::string die_in_handler(const Operation& operation, std::int64_t lease_millis) {
        engine_.run(operation, request, Counting().handler());
        const std::string trace_id = engine_.inspect(operation, request).value()->trace_id;
        EXPECT_TRUE(engine_.purge(operation, request, "the test writes its own").value());
        BeginRequest begin;
        begin.trace_id = trace_id;
        begin.operation = operation.name();
        begin.owner = {7, 7};
        begin.request_hash = hashed(identify::current_scheme);
        begin.lease_millis = lease_millis;
        begin.retention_millis = 3'600'000;
        Result<BeginOutcome> begun = Error(ErrorKind::internal, "not set");
        store_->open(soon()).value()->begin({&begin, 1}, {&begun, 1}, soon());
        EXPECT_EQ(begun.value().kind, BeginOutcome::Kind::acquired);
        return trace_id;
    }
};

TEST_F(Killed, C20_in_the_handler_it_is_in_progress_until_the_lease_ends_then_as_on_unknown_says) {
    for (const bool again : {false, true}) {
        Policy policy = policy_of(again ? "runs-again" : "held");
        if (again) policy.on_unknown = OnUnknown::retry;
        const Operation operation = engine_.operation(policy).value();
        die_in_handler(operation, 60'000);
        const Counting counting;
        const Answer early = engine_.run(operation, request, counting.handler());
        EXPECT_EQ(early.outcome, Outcome::in_progress);
        EXPECT_GT(early.retry_after.count(), 0);
        ASSERT_TRUE(engine_.purge(operation, request, "next").value());
        die_in_handler(operation, 1);
        Answer late;
        const auto end = soon();
        do {  // a busy machine may miss the short time budget, and then knows nothing
            late = engine_.run(operation, request, counting.handler());
        } while ((late.outcome == Outcome::in_progress || late.outcome == Outcome::unavailable) &&
                 std::chrono::steady_clock::now() < end);
        EXPECT_EQ(late.outcome, again ? Outcome::fresh : Outcome::outcome_unknown);
        EXPECT_EQ(counting.count(), again ? 1 : 0);
    }
}

TEST_F(Killed, C20_after_the_record_was_stored_a_retry_replays) {
    written_with(hashed(identify::current_scheme));
    const Operation order = engine_.operation(policy_of("order")).value();
    const Counting counting;
    EXPECT_EQ(engine_.run(order, request, counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 0);
}

TEST(KeyRuleGuard, S64_once_a_changed_rule_is_accepted_it_is_served_and_the_old_one_is_not) {
    const auto store = memory::store();
    ASSERT_TRUE(engine_on(store).operation(policy_of("a")));
    Policy changed = policy_of("a");
    changed.key = fields({"/amount"});
    const auto refused = engine_on(store).operation(changed);
    ASSERT_FALSE(refused);
    // What the hint says to write is what moves the fleet; another digest moves nothing.
    const std::string hint = refused.error().hint();
    const std::string line = hint.substr(hint.find("accept-key-rule"));
    const auto accepting = [](const std::string& what) {
        return "nebis: {idempotent: {operations: {a: {" + what + "}}}}";
    };
    EXPECT_FALSE(engine_on(store, accepting("accept-key-rule: 00000000000000ff")).operation(changed));
    EXPECT_TRUE(engine_on(store, accepting(line)).operation(changed)) << line;
    EXPECT_TRUE(engine_on(store).operation(changed));
    const auto old = engine_on(store).operation(policy_of("a"));
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().code(), "key-rule-changed");
}

template <class R, class Make>
std::optional<R> duplicate_gets(Make make) {
    Engine engine = memory_engine();
    std::promise<void> started, go;
    auto until = go.get_future().share();
    auto slow = engine.idempotent({.operation = "slow", .key = "#id", .on_duplicate = OnDuplicate::give}, args("id"),
                                  [&, until](long) {
                                      started.set_value();
                                      until.wait();
                                      return make();
                                  });
    std::thread first([&] { slow(1); });
    started.get_future().wait();
    std::optional<R> got;
    EXPECT_NO_THROW(got.emplace(slow(1)));
    go.set_value();
    first.join();
    return got;
}

TEST(DefaultAnswers, S26_are_what_their_type_says_and_a_type_without_one_is_told_at_registration) {
    const auto text = duplicate_gets<std::string>([] { return std::string("done"); });
    ASSERT_TRUE(text);
    EXPECT_NE(*text, "done");
    EXPECT_FALSE(text->empty());  // the catalogue's sentence
    EXPECT_EQ(duplicate_gets<bool>([] { return true; }), std::optional<bool>(false));
    const auto nothing = duplicate_gets<std::optional<long>>([] { return std::optional<long>(7); });
    ASSERT_TRUE(nothing);
    EXPECT_FALSE(*nothing);
    Engine engine = memory_engine();
    EXPECT_THROW((void)engine.idempotent({.operation = "n", .key = "#id", .on_duplicate = OnDuplicate::give},
                                         args("id"), [](long id) { return id; }),
                 IdempotentException);
}

TEST(Repeats, C02_C03_are_told_by_their_bytes_only_as_far_as_the_bytes_are_the_same) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    const auto outcome = [&](const Request& request) { return engine.run(order, request, counting.handler()).outcome; };
    const Request first = request_with("k", R"({"amount":"1","item":"tea"})");
    const Request turned = request_with("k", R"({ "item":"tea", "amount":"1" })");
    Request guarded = first, asked = first, text = first;
    guarded.headers.push_back({"If-Match", "\"3\""});
    asked.query = "dry-run=1";
    text.content_type = "text/plain";
    EXPECT_EQ(outcome(first), Outcome::fresh);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(outcome(first), Outcome::replayed);
        EXPECT_EQ(outcome(turned), Outcome::replayed);
        EXPECT_EQ(outcome(request_with("k", R"({"amount":"2","item":"tea"})")), Outcome::mismatch);
        EXPECT_EQ(outcome(guarded), Outcome::mismatch);
        EXPECT_EQ(outcome(asked), Outcome::mismatch);
        EXPECT_EQ(outcome(text), Outcome::mismatch);
        EXPECT_EQ(outcome(request_with("k", R"({"amount":)")), Outcome::refused);
    }
    EXPECT_EQ(counting.count(), 1);
}

}  // namespace
}  // namespace nebis
