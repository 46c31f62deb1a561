// SPDX-License-Identifier: Apache-2.0
#include "loading.hpp"

#include <gmock/gmock.h>

namespace nebis::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string rich = R"(profile: article
lock-expire-millis: 5000
record-expire-millis: 90000
noise: [/at, /nonce]
lock-renew: {enabled: true, renew-interval-millis: 1000}
datasources: {primary: {driver: sqlite, path: "a b.db"}, other: {driver: mysql, url: "mysql://u:hunter2@h/d"}}
messages: {language: zh, overrides: {in-progress: "Busy: \"wait\""}}
operations:
  "POST /orders/{id}": {mode: atomic, claim: inside, key-fields: [/id]}
  payOrder: {key-expression: "#request.orderId + ':' + #request.userId"})";

TEST(Describe, what_is_shown_loads_to_the_same) {
    const auto first = loaded(rich);
    const auto text = describe(first, false);
    const auto again = load_text(text, "shown.yaml");
    // The one thing that can't be loaded again is a masked secret: the URL here.
    ASSERT_TRUE(again) << again.error().text() << "\n" << text;
    EXPECT_EQ(describe(*again, false), text);
    EXPECT_EQ(again->defaults.retention, first.defaults.retention);
    EXPECT_EQ(again->operations, first.operations);
    EXPECT_EQ(again->defaults.noise, first.defaults.noise);
    EXPECT_EQ(again->messages.overrides, first.messages.overrides);
}

TEST(Describe, origins_are_named) {
    const LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__WAIT_MILLIS", "77"}}, .sets = {"mode=atomic"}};
    const auto text = describe(loaded(rich, options), true);
    EXPECT_THAT(text, HasSubstr("    lock-expire-millis: 5000  # nebis.yaml:4:25\n"));
    EXPECT_THAT(text, HasSubstr("    wait-millis: 77  # environment variable NEBIS__IDEMPOTENT__WAIT_MILLIS\n"));
    EXPECT_THAT(text, HasSubstr("    mode: atomic  # --set mode\n"));
    EXPECT_THAT(text, HasSubstr("    on-unknown: retry  # profile article\n"));
    EXPECT_THAT(text, HasSubstr("    on-finished: replay  # default\n"));
    EXPECT_THAT(text, HasSubstr("    record-expire-millis: 90000  # nebis.yaml:5:27\n"));
    EXPECT_THAT(text, Not(HasSubstr("record-expire-hours")));
    EXPECT_THAT(text, HasSubstr("      \"POST /orders/{id}\":\n"));
}

TEST(Describe, secrets_are_masked) {
    const auto text = describe(loaded("token: {keys: {k1: {secret: " + std::string(40, 'q') +
                                      "}}}\ndatasources: {primary: {driver: x, url: \"db://u:hunter2@h\", "
                                      "password: hunter3}}\nlock: {driver: y, client-secret: hunter4}"),
                               true);
    EXPECT_THAT(text, Not(HasSubstr("qqqq")));
    EXPECT_THAT(text, Not(HasSubstr("hunter")));
    EXPECT_THAT(text, HasSubstr("secret: \"********\""));
    EXPECT_THAT(text, HasSubstr("password: \"********\""));
}

TEST(Describe, a_secret_file_is_shown_by_its_path) {
    auto settings = default_settings();
    settings.token.keys["k1"] = {.secret = std::string(40, 'q'), .file = "/run/secrets/k1"};
    settings.where["token.keys.k1.secret-file"] = {.source = "nebis.yaml", .line = 3, .column = 1};
    const auto text = describe(settings, false);
    EXPECT_THAT(text, HasSubstr("secret-file: /run/secrets/k1"));
    EXPECT_THAT(text, Not(HasSubstr("qqqq")));
    EXPECT_THAT(text, Not(HasSubstr("secret:")));
}

TEST(Describe, defaults_alone_load_again) {
    const auto text = describe(default_settings(), false);
    const auto again = load_text(text, "defaults.yaml");
    ASSERT_TRUE(again) << again.error().text() << "\n" << text;
    EXPECT_EQ(describe(*again, false), text);
}

}  // namespace
}  // namespace nebis::config
