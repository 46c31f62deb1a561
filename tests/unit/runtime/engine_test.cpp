// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace nebis {
namespace {

using namespace testkit;

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
    const Answer second = engine.run(order, request_with("k-1"), counting.handler());
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(second.response, first.response);
    EXPECT_FALSE(second.handler_ran);
    EXPECT_EQ(counting.count(), 1);
}

}  // namespace
}  // namespace nebis
