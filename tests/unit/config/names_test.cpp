// SPDX-License-Identifier: Apache-2.0
#include "config/names.hpp"

#include <gtest/gtest.h>

#include <array>

namespace nebis::config {
namespace {

TEST(Names, edit_distance) {
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("mode", "mode"), 0u);
    EXPECT_EQ(edit_distance("mode", "moed"), 1u);  // neighbours swapped
    EXPECT_EQ(edit_distance("mode", "node"), 1u);
    EXPECT_EQ(edit_distance("mode", "modes"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Names, nearest_is_near_or_nothing) {
    static constexpr std::array<std::string_view, 4> names{"lock-expire-millis", "record-expire-hours", "mode",
                                                           "claim"};
    EXPECT_EQ(nearest("lock-expire-mills", names), "lock-expire-millis");
    EXPECT_EQ(nearest("Mode", names), "mode");
    EXPECT_EQ(nearest("recordExpireHours", names), "record-expire-hours");
    EXPECT_EQ(nearest("lock-expire-seconds", names), "lock-expire-millis");
    EXPECT_EQ(nearest("zzzzzzzz", names), std::nullopt);
    EXPECT_EQ(nearest("", names), std::nullopt);
    EXPECT_EQ(nearest(std::string(100'000, 'a'), names), std::nullopt);
    EXPECT_EQ(nearest("mode", {}), std::nullopt);
}

TEST(Names, environment) {
    EXPECT_EQ(environment_name("lock-expire-millis"), "NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS");
    EXPECT_EQ(environment_name("lock-renew.max-expire-millis"), "NEBIS__IDEMPOTENT__LOCK_RENEW__MAX_EXPIRE_MILLIS");
    EXPECT_EQ(environment_name("token.keys.<name>.secret-file"), "NEBIS__IDEMPOTENT__TOKEN__KEYS__<name>__SECRET_FILE");
    EXPECT_EQ(environment_part("POST /orders/{id}"), "POST__ORDERS__ID_");
}

TEST(Names, scalars_that_readers_disagree_about) {
    for (const auto* text : {"true", "Yes", "NO", "on", "~", "null", "012", "0x1f", "0o17", "0b1", "1_000", "1.5", ".5",
                             "1.", "1e3", "-0.1", "12:30:45", "2026-12-02", "+1.0"}) {
        EXPECT_TRUE(reads_as_other_type(text)) << text;
    }
    for (const auto* text : {"", "a", "12", "-3", "127.0.0.1", "127.0.0.1:8080", "1.2.3", "v1.5", "0", "sqlite",
                             "#request.id", "10s", "a:b"}) {
        EXPECT_FALSE(reads_as_other_type(text)) << text;
    }
}

TEST(Names, yaml_scalar) {
    EXPECT_EQ(yaml_scalar("nebis.db"), "nebis.db");
    EXPECT_EQ(yaml_scalar("5000"), "5000");
    EXPECT_EQ(yaml_scalar("yes"), "\"yes\"");
    EXPECT_EQ(yaml_scalar(""), "\"\"");
    EXPECT_EQ(yaml_scalar("a: b"), "\"a: b\"");
    EXPECT_EQ(yaml_scalar("say \"\\\""), "\"say \\\"\\\\\\\"\"");
    EXPECT_EQ(yaml_scalar("/orderId"), "/orderId");
    EXPECT_EQ(yaml_scalar("-a"), "\"-a\"");
}

}  // namespace
}  // namespace nebis::config
