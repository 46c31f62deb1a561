// SPDX-License-Identifier: Apache-2.0
#include "nebis/policy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace nebis {
namespace {

using namespace std::chrono_literals;

TEST(Choice, a_field_that_nobody_wrote_has_no_value) {
    const Policy policy;
    EXPECT_FALSE(policy.mode.has_value());
    EXPECT_FALSE(policy.renew);
    EXPECT_EQ(policy.mode, std::nullopt);
    EXPECT_EQ(policy.mode.value_or(Mode::hooked), Mode::hooked);
}

TEST(Choice, a_written_field_is_told_from_the_unwritten_one_even_when_it_equals_the_default) {
    Policy policy;
    policy.renew = false;
    policy.mode = Mode{};
    EXPECT_TRUE(policy.renew.has_value());
    EXPECT_FALSE(*policy.renew);
    EXPECT_EQ(policy.mode, Mode{});
    EXPECT_NE(policy.mode, Choice<Mode>());
}

TEST(Choice, takes_what_its_type_takes_and_can_be_taken_back) {
    Policy policy{.retention = std::chrono::hours(36), .wait = 20s, .retryable_exceptions = {{"a::b", "c"}}};
    EXPECT_EQ(policy.retention->count(), 36 * 3'600'000);
    EXPECT_EQ(*policy.wait, 20'000ms);
    EXPECT_EQ(policy.retryable_exceptions->size(), 2U);
    policy.wait = std::nullopt;
    policy.retryable_exceptions.reset();
    policy.retention = {};
    EXPECT_FALSE(policy.wait || policy.retryable_exceptions || policy.retention);
}

TEST(Choice, is_copied_and_moved_with_its_policy) {
    Policy policy{.final_exceptions = std::vector<std::string>{"a"}};
    const Policy copy = policy;
    const Policy moved = std::move(policy);
    EXPECT_EQ(copy.final_exceptions, moved.final_exceptions);
    EXPECT_EQ(moved.final_exceptions->at(0), "a");
}

}  // namespace
}  // namespace nebis
