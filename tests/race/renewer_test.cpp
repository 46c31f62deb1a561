// SPDX-License-Identifier: Apache-2.0
#include "renewing.hpp"

namespace nebis {
namespace {

using namespace testkit;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The long variant's proportions in a shorter time.
TEST(Renewer, I8_C15_C51_owners_live_through_long_handlers_a_long_transaction_and_an_outage) {
    renew_through_everything({.lease = milliseconds(2'000),
                              .handler = milliseconds(9'000),
                              .transaction = milliseconds(3'000),
                              .stopped = milliseconds(2'500)});
}

struct Renewing : testing::Test {
    Folder folder;
    std::shared_ptr<Store> store = memory::store();
    const std::string quick = "nebis: {idempotent: {lock-expire-millis: 300, budget-millis: 250}}";
    Policy policy() {
        Policy policy;
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        policy.on_unknown = OnUnknown::retry;
        return policy;
    }
};

TEST_F(Renewing, a_lease_lives_on_while_its_handler_runs) {
    Engine a = engine_on(store, quick), b = engine_on(store, quick);
    const Operation at_a = a.operation(policy()).value(), at_b = b.operation(policy()).value();
    const Answer answer = a.run(at_a, request_with("k"), Handler([&](const Request&, Execution& execution) {
                                    const auto until = steady_clock::now() + milliseconds(1'500);
                                    while (steady_clock::now() < until) {
                                        EXPECT_TRUE(execution.holds_lease());
                                        const Answer other =
                                            b.run(at_b, request_with("k"),
                                                  Handler([](const Request&, Execution&) { return Response{}; }));
                                        EXPECT_EQ(other.outcome, Outcome::in_progress);
                                        std::this_thread::sleep_for(milliseconds(20));
                                    }
                                    return Response{200, {}, "ok", false};
                                }));
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_NE(a.metrics().find("result=\"renewed\""), std::string::npos);
}

TEST_F(Renewing, S23_never_beyond_the_greatest_length_and_then_the_stop_token_fires_for_good) {
    Engine a = engine_on(
        store,
        "nebis: {idempotent: {lock-expire-millis: 200, budget-millis: 150, lock-renew: {max-expire-millis: 600}}}");
    const Operation at_a = a.operation(policy()).value();
    a.run(at_a, request_with("k"), Handler([&](const Request&, Execution& execution) {
              const auto token = execution.stop_token();
              const auto end = steady_clock::now() + std::chrono::seconds(20);
              while (!token.stop_requested() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(5));
              EXPECT_TRUE(token.stop_requested());
              EXPECT_FALSE(execution.holds_lease());
              EXPECT_THROW(execution.check(), OutcomeUnknown);
              return Response{200, {}, "late", false};
          }));
}

TEST_F(Renewing, C15_a_lease_that_was_lost_to_another_is_told_at_the_next_renewal) {
    Engine a = engine_on(store, quick);
    const Operation at_a = a.operation(policy()).value();
    const Answer answer = a.run(at_a, request_with("k"), Handler([&](const Request&, Execution& execution) {
                                    // An operator purges the row under the running attempt.
                                    auto session = store->open(steady_clock::now() + std::chrono::seconds(1)).value();
                                    EXPECT_TRUE(session
                                                    ->purge(execution.trace_id(), execution.fencing_token(),
                                                            steady_clock::now() + std::chrono::seconds(1))
                                                    .value());
                                    const auto token = execution.stop_token();
                                    const auto end = steady_clock::now() + std::chrono::seconds(20);
                                    while (!token.stop_requested() && steady_clock::now() < end)
                                        std::this_thread::sleep_for(milliseconds(5));
                                    EXPECT_TRUE(token.stop_requested());
                                    return Response{200, {}, "lost", false};
                                }));
    EXPECT_EQ(answer.outcome, Outcome::fenced_off);
}

TEST_F(Renewing, driven_by_hand_without_any_background_thread) {
    Engine::Parts parts;
    parts.store = store;
    parts.options.background = false;
    parts.options.use_environment = false;
    parts.configuration = quick;
    parts.log = [](const std::string&) {};
    Engine a = Engine::make(std::move(parts)).value();
    const Operation at_a = a.operation(policy()).value();
    a.run(at_a, request_with("k"), Handler([&](const Request&, Execution& execution) {
              const auto until = steady_clock::now() + milliseconds(900);
              while (steady_clock::now() < until) {
                  std::this_thread::sleep_for(std::min(a.tick(), milliseconds(10)));
                  EXPECT_TRUE(execution.holds_lease());
              }
              return Response{};
          }));
}

}  // namespace
}  // namespace nebis
