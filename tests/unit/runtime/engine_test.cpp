// SPDX-License-Identifier: Apache-2.0
#include "observe/mark.hpp"
#include "support.hpp"

#include <future>
#include <stdexcept>
#include <system_error>
#include <thread>

/// The engine as its users see it, on the memory store: outcomes, policies, extension points.
namespace nebis {
namespace {

using namespace testkit;
using std::chrono::milliseconds;

struct TimedOut : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct GatewayTimedOut : TimedOut {
    using TimedOut::TimedOut;
};

template <class E>
Handler throwing(E what, std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0)) {
    return Handler([what, runs](const Request&, Execution&) -> Response {
        ++*runs;
        throw what;
    });
}

TEST(Engine, a_fresh_request_runs_once_and_its_duplicate_replays) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    const Answer first = engine.run(order, request_with("k-1"), counting.handler());
    EXPECT_EQ(first.outcome, Outcome::fresh);
    EXPECT_EQ(first.response.body, "run 1");
    EXPECT_TRUE(first.recorded);
    EXPECT_TRUE(first.handler_ran);
    EXPECT_GT(first.fencing_token, 1U);
    EXPECT_EQ(first.attempt, 1U);
    const Answer second = engine.run(order, request_with("k-1"), counting.handler());
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(second.response, first.response);
    EXPECT_EQ(second.fencing_token, first.fencing_token);
    EXPECT_FALSE(second.handler_ran);
    EXPECT_EQ(counting.count(), 1);
}

TEST(Engine, a_duplicate_replays_from_the_store_too) {
    Engine engine = memory_engine("nebis: {idempotent: {local-cache-millis: 0}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    const Answer first = engine.run(order, request_with("k-1"), counting.handler());
    const Answer second = engine.run(order, request_with("k-1"), counting.handler());
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(second.response, first.response);
    EXPECT_EQ(counting.count(), 1);
}

TEST(Engine, I12_another_request_under_the_same_key_is_a_mismatch) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    engine.run(order, request_with("k-1"), counting.handler());
    EXPECT_EQ(engine.run(order, request_with("k-1", R"({"amount":"2"})"), counting.handler()).outcome,
              Outcome::mismatch);
    EXPECT_EQ(counting.count(), 1);
}

TEST(Engine, S7_a_missing_key_is_refused_before_the_handler) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    Request request = request_with("x");
    request.headers.clear();
    const Answer answer = engine.run(order, request, counting.handler());
    EXPECT_EQ(answer.outcome, Outcome::refused);
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code(), "key-missing");
    EXPECT_EQ(counting.count(), 0);
}

TEST(Engine, C01_without_a_required_key_nothing_is_stored_and_every_request_runs) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.key_required = false;
    const Operation order = engine.operation(policy).value();
    const Counting counting;
    Request request = request_with("x");
    request.headers.clear();
    for (int i = 0; i < 2; ++i) {
        const Answer answer = engine.run(order, request, counting.handler());
        EXPECT_EQ(answer.outcome, Outcome::fresh);
        EXPECT_TRUE(answer.unprotected);
        EXPECT_FALSE(answer.recorded);
    }
    EXPECT_EQ(counting.count(), 2);
}

// ---- C22: what a failure means

TEST(Failure, C22_C64_not_executed_releases_the_key) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const auto runs = std::make_shared<std::atomic<int>>(0);
    const Answer failed = engine.run(order, request_with("k"), throwing(NotExecuted("down"), runs));
    EXPECT_EQ(failed.outcome, Outcome::fresh);
    EXPECT_TRUE(failed.failure);
    EXPECT_FALSE(failed.rejected);
    const Counting counting;
    const Answer again = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(again.attempt, 2U);
    EXPECT_GT(again.fencing_token, failed.fencing_token);
}

TEST(Failure, S25_a_handler_that_signals_repeat_submit_leaves_a_retryable_fail) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    engine.run(order, request_with("k"), throwing(RepeatSubmitException("not now")));
    EXPECT_EQ(engine.inspect(order, request_with("k")).value()->status, RecordStatus::fail);
}

TEST(Failure, C22_a_rejection_is_final_and_replays_the_same_words) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const auto runs = std::make_shared<std::atomic<int>>(0);
    for (int i = 0; i < 3; ++i) {
        const Answer answer =
            engine.run(order, request_with("k"), throwing(Rejected("insufficient balance", 402), runs));
        EXPECT_TRUE(answer.rejected);
        EXPECT_EQ(answer.response.status, 402);
        EXPECT_EQ(answer.response.body, "insufficient balance");
        EXPECT_EQ(answer.outcome, i == 0 ? Outcome::fresh : Outcome::replayed);
        EXPECT_THROW(throw_for(answer), Rejected);
    }
    EXPECT_EQ(runs->load(), 1);
}

TEST(Failure, C22_C27_unlisted_and_time_outs_are_unknown_and_held_in_strict) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const auto runs = std::make_shared<std::atomic<int>>(0);
    engine.run(order, request_with("a"), throwing(std::runtime_error("?"), runs));
    engine.run(order, request_with("b"), throwing(OutcomeUnknown("sent"), runs));
    engine.run(order, request_with("c"),
               throwing(std::system_error(std::make_error_code(std::errc::connection_reset)), runs));
    EXPECT_EQ(runs->load(), 3);
    for (const char* key : {"a", "b", "c"}) {
        const Answer held = engine.run(order, request_with(key), throwing(NotExecuted("?"), runs));
        EXPECT_EQ(held.outcome, Outcome::outcome_unknown) << key;
        EXPECT_THROW(throw_for(held), OutcomeUnknown);
    }
    EXPECT_EQ(runs->load(), 3);
}

TEST(Failure, profile_article_retries_what_is_unlisted) {
    Engine engine = memory_engine("nebis: {idempotent: {profile: article}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const auto runs = std::make_shared<std::atomic<int>>(0);
    engine.run(order, request_with("a"), throwing(std::runtime_error("?"), runs));
    engine.run(order, request_with("a"), throwing(std::runtime_error("?"), runs));
    EXPECT_EQ(runs->load(), 2);
}

TEST(Failure, C27_on_unknown_retry_runs_again_under_a_greater_token) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.on_unknown = OnUnknown::retry;
    const Operation order = engine.operation(policy).value();
    const Answer first = engine.run(order, request_with("k"), throwing(OutcomeUnknown("sent")));
    const Counting counting;
    const Answer second = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(second.outcome, Outcome::fresh);
    EXPECT_GT(second.fencing_token, first.fencing_token);
}

TEST(Failure, S24_listed_types_decide_and_stand_for_derived_ones) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.final_exceptions = {{"std::invalid_argument"}};
    policy.unlisted = Unlisted::fail;
    policy.unknown_exceptions = {{"nebis::(anonymous namespace)::TimedOut"}};
    const Operation order = engine.operation(policy).value();
    EXPECT_TRUE(engine.run(order, request_with("a"), throwing(std::invalid_argument("bad"))).rejected);
    engine.run(order, request_with("b"), throwing(GatewayTimedOut("late")));
    EXPECT_EQ(engine.inspect(order, request_with("b")).value()->status, RecordStatus::unknown);
    engine.run(order, request_with("c"), throwing(std::runtime_error("other")));
    EXPECT_EQ(engine.inspect(order, request_with("c")).value()->status, RecordStatus::fail);
}

TEST(Failure, S34_the_classifier_comes_first_and_its_own_exception_is_no_opinion) {
    struct Classifier : ExceptionClassifier {
        Certainty classify(std::exception_ptr, std::string_view type) const override {
            if (type == "std::domain_error") return Certainty::rejected;
            throw std::runtime_error("broken classifier");
        }
    };
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.exception_classifier = std::make_shared<Classifier>();
    const Operation order = engine.operation(policy).value();
    EXPECT_TRUE(engine.run(order, request_with("a"), throwing(std::domain_error("no"))).rejected);
    engine.run(order, request_with("b"), throwing(NotExecuted("no")));
    EXPECT_EQ(engine.inspect(order, request_with("b")).value()->status, RecordStatus::fail);
}

// ---- what duplicates get

/// Holds a key in progress until told to let go.
struct Holding {
    std::promise<void> started;
    std::promise<void> go;
    std::thread thread;
    Answer answer;
    Holding(const Engine& engine, const Operation& operation, Request request) {
        auto until = go.get_future().share();
        thread = std::thread([this, engine, operation, request = std::move(request), until] {
            answer = engine.run(operation, request, Handler([&, until](const Request&, Execution&) {
                                    started.set_value();
                                    until.wait();
                                    return Response{200, {}, "held", false};
                                }));
        });
        started.get_future().wait();
    }
    ~Holding() { finish(); }
    void finish() {
        if (!thread.joinable()) return;
        go.set_value();
        thread.join();
    }
};

TEST(Duplicate, S26_throw_refuses_with_a_retry_after_and_the_catalogue_s_words) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    Holding holding(engine, order, request_with("k"));
    const Answer busy = engine.run(order, request_with("k"), Counting().handler());
    EXPECT_EQ(busy.outcome, Outcome::in_progress);  // C64: never "done" while it may still roll back
    EXPECT_GT(busy.retry_after.count(), 0);
    EXPECT_FALSE(busy.message.empty());
    EXPECT_TRUE(busy.joined);
    EXPECT_THROW(throw_for(busy), RepeatSubmitException);
}

TEST(Duplicate, S26_return_gives_what_the_producer_makes_and_a_broken_producer_is_contained) {
    struct Producer : ResponseProducer {
        Response produce(const DuplicateInfo& duplicate, const Request&) const override {
            if (duplicate.operation == "broken") throw std::runtime_error("broken");
            return {202, {}, "come back later", false};
        }
    };
    Engine engine = memory_engine();
    for (const std::string name : {"order", "broken"}) {
        Policy policy = policy_of(name);
        policy.on_duplicate = OnDuplicate::give;
        policy.response_producer = std::make_shared<Producer>();
        const Operation order = engine.operation(policy).value();
        Holding holding(engine, order, request_with("k"));
        const Answer busy = engine.run(order, request_with("k"), Counting().handler());
        EXPECT_EQ(busy.outcome, Outcome::in_progress);
        EXPECT_EQ(busy.produced, name == "order");
        if (busy.produced) {
            EXPECT_EQ(busy.response.body, "come back later");
        }
    }
}

TEST(Duplicate, S26_wait_gets_the_answer_and_no_longer_than_the_bound) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = milliseconds(150);
    const Operation order = engine.operation(policy).value();
    Holding holding(engine, order, request_with("k"));
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(engine.run(order, request_with("k"), Counting().handler()).outcome, Outcome::in_progress);
    EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(140));
    std::thread waiter(
        [&] { EXPECT_EQ(engine.run(order, request_with("k"), Counting().handler()).response.body, "held"); });
    holding.finish();
    waiter.join();
}

TEST(Duplicate, on_finished_refuse_answers_duplicate) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.on_finished = OnFinished::refuse;
    const Operation order = engine.operation(policy).value();
    const Counting counting;
    engine.run(order, request_with("k"), counting.handler());
    const Answer again = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(again.outcome, Outcome::duplicate);
    EXPECT_TRUE(again.response.body.empty());
    EXPECT_EQ(counting.count(), 1);
}

TEST(Duplicate, S31_mark_refuses_inside_the_window_even_after_a_failure_and_replays_nothing) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.mode = Mode::mark;
    policy.retention = milliseconds(60'000);
    const Operation order = engine.operation(policy).value();
    const auto runs = std::make_shared<std::atomic<int>>(0);
    EXPECT_EQ(engine.run(order, request_with("k"), throwing(std::runtime_error("?"), runs)).outcome, Outcome::fresh);
    const Answer again = engine.run(order, request_with("k"), throwing(std::runtime_error("?"), runs));
    EXPECT_EQ(again.outcome, Outcome::duplicate);
    EXPECT_EQ(runs->load(), 1);
}

TEST(Duplicate, S16_after_the_retention_the_same_key_runs_again) {
    Engine engine = memory_engine("nebis: {idempotent: {lock-expire-millis: 50, budget-millis: 45}}");
    Policy policy = policy_of("order");
    policy.retention = milliseconds(300);
    const Operation order = engine.operation(policy).value();
    const Counting counting;
    engine.run(order, request_with("k"), counting.handler());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (counting.count() < 2 && std::chrono::steady_clock::now() < end) {
        engine.run(order, request_with("k"), counting.handler());
        std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_EQ(counting.count(), 2);
}

// ---- limits and snapshots

TEST(Limits, S53_an_answer_too_large_to_keep_is_given_once_and_leaves_a_tombstone) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.max_response_bytes = 1024;
    const Operation order = engine.operation(policy).value();
    const Handler large([](const Request&, Execution&) { return Response{200, {}, std::string(5'000, 'x'), false}; });
    EXPECT_EQ(engine.run(order, request_with("k"), large).response.body.size(), 5'000U);
    const Answer again = engine.run(order, request_with("k"), large);
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_TRUE(again.response.tombstone);
    EXPECT_TRUE(again.response.body.empty());
}

TEST(Limits, a_request_too_large_is_refused) {
    Engine engine = memory_engine();
    Policy policy = policy_of("order");
    policy.max_request_bytes = 1024;
    const Operation order = engine.operation(policy).value();
    const Answer answer = engine.run(order, request_with("k", std::string(2'000, ' ')), Counting().handler());
    EXPECT_EQ(answer.outcome, Outcome::refused);
    EXPECT_EQ(answer.error->code(), "request-too-large");
}

TEST(Limits, S18_snapshots_are_redacted_and_one_that_cannot_be_is_not_kept) {
    struct Mask : Redactor {
        std::string redact(std::string_view body, std::string_view) const override {
            if (body.find("secret") != std::string_view::npos) throw std::runtime_error("?");
            return "masked";
        }
    };
    Engine engine = memory_engine("nebis: {idempotent: {store-request: true}}");
    Policy policy = policy_of("order");
    policy.redactor = std::make_shared<Mask>();
    const Operation order = engine.operation(policy).value();
    engine.run(order, request_with("a"), Counting().handler());
    EXPECT_EQ(engine.inspect(order, request_with("a")).value()->request_body, "masked");
    const Request secret = request_with("b", R"({"secret":1})");
    engine.run(order, secret, Counting().handler());
    EXPECT_EQ(engine.inspect(order, secret).value()->request_body, "");
}

TEST(Limits, S18_S52_fields_are_redacted_by_path_and_a_body_without_paths_is_not_kept) {
    Engine engine =
        memory_engine("nebis: {idempotent: {store-request: true, redact: [/card/number, '/items/*/note', '/list/1']}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const auto kept = [&](const std::string& key, const std::string& body) {
        const Request request = request_with(key, body);
        engine.run(order, request, Counting().handler());
        return engine.inspect(order, request).value()->request_body;
    };
    EXPECT_EQ(
        kept(
            "a",
            R"({"card":{"number":"4111","name":"A \"B\" \u00e9"}, "amount":1.10, "items":[{"note":{"x":1}},{"note":2,"n":1E3}]})"),
        "{\"card\":{\"number\":\"***\",\"name\":\"A \\\"B\\\" \xC3\xA9\"},\"amount\":1.10,"
        "\"items\":[{\"note\":\"***\"},{\"note\":\"***\",\"n\":1E3}]}");
    EXPECT_EQ(kept("b", R"({"number":"4111","list":[1,2,3],"card":null,"t":true})"),
              R"({"number":"4111","list":[1,"***",3],"card":null,"t":true})");
    EXPECT_EQ(kept("c", R"(["4111"])"), R"(["4111"])");
    Request form = request_with("d", "card=4111");
    form.content_type = "application/x-www-form-urlencoded";
    engine.run(order, form, Counting().handler());
    EXPECT_EQ(engine.inspect(order, form).value()->request_body, "");
}

TEST(Limits, S52_an_operation_that_keeps_no_answer_tells_that_it_is_done) {
    Engine engine = memory_engine("nebis: {idempotent: {operations: {order: {max-response-bytes: 0}}}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    EXPECT_EQ(engine.run(order, request_with("k"), counting.handler()).response.body, "run 1");
    const Answer again = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response, (Response{201, {}, {}, true}));
    EXPECT_EQ(counting.count(), 1);
}

// ---- registration

TEST(Registration, S34_a_generator_named_in_the_configuration_makes_the_key) {
    struct BizSeqNo : KeyGenerator {
        Result<std::string> generate(const Request& request) const override { return request.text("/bizSeqNo"); }
    };
    Drivers drivers;
    drivers.key_generators["biz-seq-no"] = std::make_shared<BizSeqNo>();
    Engine engine = memory_engine("nebis: {idempotent: {operations: {refund: {key-generator: biz-seq-no}}}}", drivers);
    Policy policy;
    policy.operation = "refund";
    const Operation refund = engine.operation(policy).value();
    const Counting counting;
    engine.run(refund, request_with("a", R"({"bizSeqNo":"B1"})"), counting.handler());
    engine.run(refund, request_with("b", R"({"bizSeqNo":"B1"})"), counting.handler());
    engine.run(refund, request_with("c", R"({"bizSeqNo":"B2"})"), counting.handler());
    EXPECT_EQ(counting.count(), 2);
    EXPECT_EQ(engine.run(refund, request_with("d", R"({})"), counting.handler()).outcome, Outcome::refused);
}

TEST(Registration, the_same_operation_twice_must_have_the_same_key_rule) {
    Engine engine = memory_engine();
    ASSERT_TRUE(engine.operation(policy_of("a")));
    EXPECT_TRUE(engine.operation(policy_of("a")));
    Policy other = policy_of("a");
    other.key = fields({"/amount"});
    EXPECT_FALSE(engine.operation(other));
}

TEST(Registration, S64_an_instance_with_another_key_rule_does_not_serve) {
    const auto store = memory::store();
    Engine first = engine_on(store);
    ASSERT_TRUE(first.operation(policy_of("a")));
    Engine second = engine_on(store);
    Policy other = policy_of("a");
    other.key = fields({"/amount"});
    const auto refused = second.operation(other);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "key-rule-changed");
    EXPECT_NE(refused.error().hint().find("operations.a.accept-key-rule: "), std::string::npos);
    EXPECT_TRUE(second.operation(policy_of("a")));
}

TEST(Registration, an_atomic_policy_with_a_plain_handler_is_told_at_the_first_call) {
    Engine engine = memory_engine();
    Policy policy = policy_of("a");
    policy.mode = Mode::atomic;
    const Operation order = engine.operation(policy).value();
    const Answer answer = engine.run(order, request_with("k"), Counting().handler());
    EXPECT_EQ(answer.outcome, Outcome::refused);
    EXPECT_EQ(answer.error->kind(), ErrorKind::misconfigured);
    EXPECT_EQ(engine.run(order, request_with("k"), Handler(Handler::Blocking{})).outcome, Outcome::refused);
}

// ---- observe, off

TEST(Observe, S50_counts_what_would_have_happened_and_touches_nothing) {
    const auto store = memory::store();
    Engine engine = engine_on(store);
    Policy policy = policy_of("order");
    policy.enforcement = Enforcement::observe;
    const Operation order = engine.operation(policy).value();
    const Counting counting;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(engine.run(order, request_with("k"), counting.handler()).unprotected);
    engine.run(order, request_with("k", R"({"amount":"2"})"), counting.handler());
    EXPECT_EQ(counting.count(), 4);
    EXPECT_FALSE(engine.inspect(order, request_with("k")).value());
    const std::string metrics = engine.metrics();
    EXPECT_NE(metrics.find(R"(would="replay"} 2)"), std::string::npos) << metrics;
    EXPECT_NE(metrics.find(R"(would="run"} 1)"), std::string::npos);
    EXPECT_NE(metrics.find(R"(would="refuse_mismatch"} 1)"), std::string::npos);
}

TEST(Observe, switched_off_the_handler_just_runs) {
    Engine engine = memory_engine("nebis: {idempotent: {enabled: false}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    engine.run(order, request_with("k"), counting.handler());
    EXPECT_TRUE(engine.run(order, request_with("k"), counting.handler()).unprotected);
    EXPECT_EQ(counting.count(), 2);
}

// ---- batches, operators, life

TEST(Batch, S49_an_answer_for_each_in_order_and_equal_keys_run_once) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    std::vector<BatchItem> items;
    for (int i = 0; i < 100; ++i) items.push_back({request_with("k" + std::to_string(i % 40))});
    std::atomic<int> runs{0};
    const auto answers = engine.run_batch(order, items, [&](std::size_t, const Request& request, Execution&) {
        ++runs;
        return Response{200, {}, request.headers[0].value, false};
    });
    ASSERT_EQ(answers.size(), 100U);
    EXPECT_EQ(runs.load(), 40);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(answers[i].response.body, "k" + std::to_string(i % 40));
        EXPECT_EQ(answers[i].outcome, i < 40 ? Outcome::fresh : Outcome::replayed);
    }
}

TEST(Batch, S49_a_failing_item_harms_no_other) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    std::vector<BatchItem> items;
    for (int i = 0; i < 10; ++i) items.push_back({request_with("k" + std::to_string(i))});
    const auto answers = engine.run_batch(order, items, [](std::size_t index, const Request&, Execution&) {
        if (index == 3) throw Rejected("no");
        return Response{200, {}, "ok", false};
    });
    for (int i = 0; i < 10; ++i) EXPECT_EQ(answers[i].rejected, i == 3);
}

TEST(Operator, S48_settles_an_unknown_record_with_a_reason_once) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    engine.run(order, request_with("k"), throwing(OutcomeUnknown("?")));
    EXPECT_FALSE(engine.settle(order, request_with("k"), {Resolution::Kind::happened, {200, {}, "paid", false}}, ""));
    EXPECT_TRUE(engine
                    .settle(order, request_with("k"), {Resolution::Kind::happened, {200, {}, "paid", false}},
                            "seen in the bank")
                    .value());
    EXPECT_FALSE(engine.settle(order, request_with("k"), {Resolution::Kind::did_not_happen, {}}, "again").value());
    const Answer replay = engine.run(order, request_with("k"), Counting().handler());
    EXPECT_EQ(replay.outcome, Outcome::replayed);
    EXPECT_EQ(replay.response.body, "paid");
}

TEST(Operator, purge_removes_row_and_caches_and_the_next_token_is_greater) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    const Answer first = engine.run(order, request_with("k"), counting.handler());
    EXPECT_TRUE(engine.purge(order, request_with("k"), "asked by the customer").value());
    EXPECT_FALSE(engine.purge(order, request_with("k"), "twice").value());
    const Answer again = engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_GT(again.fencing_token, first.fencing_token);
}

TEST(Ask, C27_the_resolver_settles_and_is_asked_once_by_one) {
    struct Bank : OutcomeResolver {
        std::atomic<int> asked{0};
        Resolution resolve(const Record& record, Deadline) override {
            ++asked;
            EXPECT_EQ(record.status, RecordStatus::unknown);
            return {Resolution::Kind::happened, {200, {}, "paid after all", false}};
        }
    };
    const auto bank = std::make_shared<Bank>();
    Engine engine = memory_engine("nebis: {idempotent: {lock-expire-millis: 100, budget-millis: 90}}");
    Policy policy = policy_of("pay");
    policy.on_unknown = OnUnknown::ask;
    policy.outcome_resolver = bank;
    const Operation pay = engine.operation(policy).value();
    engine.run(pay, request_with("k"), throwing(OutcomeUnknown("the bank hung up")));
    Answer answer;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {  // the row's lease must be over before it can be asked about
        answer = engine.run(pay, request_with("k"), Counting().handler());
    } while (answer.outcome == Outcome::outcome_unknown && std::chrono::steady_clock::now() < end);
    EXPECT_EQ(answer.outcome, Outcome::replayed);
    EXPECT_EQ(answer.response.body, "paid after all");
    EXPECT_EQ(bank->asked.load(), 1);
    EXPECT_EQ(engine.run(pay, request_with("k"), Counting().handler()).response.body, "paid after all");
}

TEST(Token, S5_a_spent_token_replays_and_a_forged_one_is_refused) {
    Engine engine =
        memory_engine("nebis: {idempotent: {token: {keys: {a: {secret: 0123456789abcdef0123456789abcdef}}}}}");
    Policy policy;
    policy.operation = "order";
    policy.key = one_time_token();
    const Operation order = engine.operation(policy).value();
    Request request = request_with("unused");
    request.headers = {{"X-Idempotent-Token", engine.create_token(order).value()}};
    const Counting counting;
    EXPECT_EQ(engine.run(order, request, counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(engine.run(order, request, counting.handler()).outcome, Outcome::replayed);
    request.headers[0].value.back() = request.headers[0].value.back() == 'A' ? 'B' : 'A';
    EXPECT_EQ(engine.run(order, request, counting.handler()).outcome, Outcome::refused);
    EXPECT_EQ(counting.count(), 1);
}

TEST(Life, drain_refuses_new_requests_and_waits_for_running_ones) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    Holding holding(engine, order, request_with("k"));
    EXPECT_FALSE(engine.drain(milliseconds(20)));
    EXPECT_EQ(engine.run(order, request_with("other"), Counting().handler()).outcome, Outcome::unavailable);
    std::thread closer([&] { EXPECT_TRUE(engine.drain(std::chrono::seconds(10))); });
    holding.finish();
    closer.join();
    EXPECT_EQ(holding.answer.outcome, Outcome::fresh);
}

TEST(Life, an_execution_tells_who_it_is_and_says_lost_once_its_call_has_ended) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    std::optional<Execution> kept;
    engine.run(order, request_with("k"), Handler([&](const Request&, Execution& execution) {
                   EXPECT_EQ(execution.key(), "k");
                   EXPECT_EQ(execution.operation(), "order");
                   EXPECT_EQ(execution.attempt(), 1U);
                   EXPECT_GT(execution.fencing_token(), 1U);
                   EXPECT_EQ(execution.owner().size(), 32U);
                   EXPECT_TRUE(execution.holds_lease());
                   EXPECT_NO_THROW(execution.check());
                   EXPECT_FALSE(execution.stop_token().stop_requested());
                   kept = execution;
                   return Response{};
               }));
    EXPECT_FALSE(kept->holds_lease());
    EXPECT_THROW(kept->check(), OutcomeUnknown);
}

TEST(Life, a_handler_that_answers_later_and_one_that_goes_away) {
    Engine engine = memory_engine();
    const Operation order = engine.operation(policy_of("order")).value();
    std::thread later;
    const Answer answer =
        engine.run(order, request_with("a"), Handler::later([&](const Request&, Execution, Completion completion) {
                       later = std::thread([completion] {
                           completion.answer({200, {}, "later", false});
                           completion.answer({200, {}, "too late", false});
                       });
                   }));
    later.join();
    EXPECT_EQ(answer.response.body, "later");
    const Answer gone =
        engine.run(order, request_with("b"), Handler::later([](const Request&, Execution, Completion) {}));
    EXPECT_TRUE(gone.failure);
    EXPECT_EQ(engine.inspect(order, request_with("b")).value()->status, RecordStatus::unknown);
}

TEST(Life, tick_drives_an_engine_without_background_threads) {
    Engine::Parts parts;
    parts.store = memory::store();
    parts.options.background = false;
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    Engine engine = Engine::make(std::move(parts)).value();
    EXPECT_GT(engine.tick().count(), 0);
    EXPECT_EQ(engine.recover_now().value(), 0U);
    EXPECT_EQ(engine.clean_now().value(), 0U);
}

TEST(Wrapped, any_callable_keeps_its_signature_and_its_exceptions) {
    Engine engine = memory_engine();
    std::atomic<int> runs{0};
    auto charge = engine.idempotent({.operation = "charge", .key = "#orderId"}, args("orderId", "amount"),
                                    [&](long order, std::string amount) {
                                        ++runs;
                                        if (amount == "0") throw Rejected("nothing to charge");
                                        return "charged " + std::to_string(order) + " " + amount;
                                    });
    EXPECT_EQ(charge(7, "9.90"), "charged 7 9.90");
    EXPECT_EQ(charge(7, "9.90"), "charged 7 9.90");
    EXPECT_THROW(charge(7, "9.91"), IdempotentException);
    EXPECT_THROW(charge(8, "0"), Rejected);
    EXPECT_THROW(charge(8, "0"), Rejected);
    EXPECT_EQ(runs.load(), 2);
}

/// A type whose codec refuses what it is given.
struct Receipt {
    long id = 0;
};

}  // namespace

template <>
struct Codec<Receipt> {
    static std::string encode(const Receipt&) { throw std::invalid_argument("can't be written"); }
    static Result<Receipt> decode(std::string_view) { return Receipt{}; }
};

namespace {

TEST(Wrapped, C23_a_result_that_cannot_be_written_reaches_its_caller_and_is_never_made_again) {
    // The lists of this profile would take the codec's exception for a failure without effect.
    Engine engine = memory_engine("nebis: {idempotent: {profile: article}}");
    int runs = 0;
    const auto pay = engine.idempotent({.operation = "pay", .key = "#id"}, args("id"), [&](long id) {
        ++runs;
        return Receipt{id};
    });
    EXPECT_EQ(pay(7).id, 7);
    const auto again = pay.call(7);
    EXPECT_FALSE(again.value);
    ASSERT_TRUE(again.answer.error);
    EXPECT_EQ(again.answer.error->code(), "done-not-stored");
    EXPECT_THROW(pay(7), IdempotentException);
    EXPECT_EQ(pay.call(8).value->id, 8);
    const auto many = pay.batch({{9}, {7}});
    EXPECT_EQ(many[0].value->id, 9);
    EXPECT_FALSE(many[1].value);
    std::promise<long> later;
    pay.async(
        inline_executor(), [&](Called<Receipt> called) { later.set_value(called.value->id); }, 10);
    EXPECT_EQ(later.get_future().get(), 10);
    EXPECT_EQ(runs, 4);
}

TEST(Wrapped, S26_a_default_answer_for_each_type_when_duplicates_are_to_get_one) {
    Engine engine = memory_engine();
    std::promise<void> started, go;
    auto until = go.get_future().share();
    auto slow = engine.idempotent({.operation = "slow", .key = "#id", .on_duplicate = OnDuplicate::give}, args("id"),
                                  [&](long) {
                                      started.set_value();
                                      until.wait();
                                      return std::string("done");
                                  });
    std::thread first([&] { EXPECT_EQ(slow(1), "done"); });
    started.get_future().wait();
    EXPECT_NO_THROW((void)slow(1));
    go.set_value();
    first.join();
}

}  // namespace
}  // namespace nebis
