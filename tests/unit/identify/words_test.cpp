// SPDX-License-Identifier: Apache-2.0
#include "nebis/answer.hpp"
#include "nebis/error.hpp"
#include "nebis/store.hpp"
#include "support.hpp"

#include <array>
#include <set>

namespace nebis::identify_test {
namespace {

// These reach metrics, logs and problem types of other people's dashboards.
TEST(Words, never_change) {
    constexpr std::array<std::string_view, 8> kinds{"unavailable",   "overloaded",  "maybe_applied", "rejected_input",
                                                    "misconfigured", "unsupported", "corrupt",       "internal"};
    for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(to_string(static_cast<ErrorKind>(i)), kinds[i]);
    constexpr std::array<std::string_view, 9> outcomes{"fresh",      "replayed",        "in_progress",
                                                       "mismatch",   "outcome_unknown", "duplicate",
                                                       "fenced_off", "unavailable",     "refused"};
    for (std::size_t i = 0; i < outcomes.size(); ++i) EXPECT_EQ(to_string(static_cast<Outcome>(i)), outcomes[i]);
    constexpr std::array<std::string_view, 6> statuses{"PROCESSING", "SUCCESS", "FAIL",
                                                       "REJECTED",   "UNKNOWN", "MARKED"};
    for (std::size_t i = 0; i < statuses.size(); ++i) EXPECT_EQ(to_string(static_cast<RecordStatus>(i)), statuses[i]);
}

TEST(Words, a_value_outside_its_enumeration_is_no_known_word) {
    EXPECT_EQ(to_string(static_cast<ErrorKind>(200)), "invalid");
    EXPECT_EQ(to_string(static_cast<Outcome>(200)), "invalid");
    EXPECT_EQ(to_string(static_cast<RecordStatus>(200)), "INVALID");
}

TEST(ErrorText, is_message_then_detail_then_hint) {
    EXPECT_EQ(Error(ErrorKind::unavailable, "the store is down").text(), "the store is down");
    EXPECT_EQ(Error(ErrorKind::unavailable, "the store is down", "errno 5").text(), "the store is down: errno 5");
    EXPECT_EQ(Error(ErrorKind::unavailable, "the store is down", "errno 5", "check the disk").text(),
              "the store is down: errno 5 (check the disk)");
    EXPECT_EQ(Error(ErrorKind::unavailable, "the store is down").with_hint("check the disk").text(),
              "the store is down (check the disk)");
}

}  // namespace
}  // namespace nebis::identify_test
