// SPDX-License-Identifier: Apache-2.0
// B103: values that are not what their key wants.
#include "loading.hpp"

#include <gmock/gmock.h>

namespace nebis::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(BadValue, B103_unknown_key_has_place_and_suggestion) {
    EXPECT_THAT(refusal("lock-expire-milis: 5000"), AllOf(StartsWith("nebis.yaml:3:5: unknown key 'lock-expire-milis'"),
                                                          HasSubstr("did you mean 'lock-expire-millis'?")));
    EXPECT_THAT(refusal("lockExpireMillis: 5000"), HasSubstr("did you mean 'lock-expire-millis'?"));
    EXPECT_THAT(refusal("lock_expire_millis: 5000"), HasSubstr("did you mean 'lock-expire-millis'?"));
    EXPECT_THAT(refusal("lock-renew: {enabeld: true}"), AllOf(HasSubstr("under 'lock-renew'"), HasSubstr("'enabled'")));
    EXPECT_THAT(refusal("operations: {pay: {claimm: inside}}"),
                AllOf(HasSubstr("under 'operations.pay'"), HasSubstr("'claim'")));
    EXPECT_THAT(refusal("zzz: 1"), HasSubstr("docs/configuration.md"));
}

TEST(BadValue, B103_wrong_unit_in_the_key_is_recognised) {
    EXPECT_THAT(refusal("lock-expire-seconds: 10"), HasSubstr("did you mean 'lock-expire-millis'?"));
    EXPECT_THAT(refusal("record-expire-days: 1"), HasSubstr("did you mean 'record-expire-"));
    EXPECT_THAT(refusal("lock-expire: 10"), HasSubstr("did you mean 'lock-expire-millis'?"));
}

TEST(BadValue, B103_key_in_the_wrong_section_is_pointed_to) {
    EXPECT_THAT(refusal("renew-interval-millis: 3000"), HasSubstr("there is 'lock-renew.renew-interval-millis'"));
    EXPECT_THAT(refusal("operations: {pay: {scheduler-enabled: true}}"), HasSubstr("for the whole instance"));
}

TEST(BadValue, B103_unit_in_the_value_is_refused) {
    EXPECT_THAT(refusal("lock-expire-millis: 10s"),
                AllOf(HasSubstr("'10s' is no whole number"), HasSubstr("the unit stands in the key")));
    EXPECT_THAT(refusal("lock-expire-millis: 800ms"), HasSubstr("the unit stands in the key"));
    EXPECT_THAT(refusal("max-request-bytes: 1 MiB"), HasSubstr("the unit stands in the key"));
}

TEST(BadValue, B103_a_bare_ten_is_ten_of_the_keys_unit) {
    EXPECT_EQ(loaded("lock-expire-millis: 10\nlock-renew: {renew-interval-millis: 3}").defaults.lease,
              std::chrono::milliseconds(10));
    EXPECT_EQ(loaded("record-expire-hours: 10").defaults.retention, std::chrono::hours(10));
}

TEST(BadValue, B103_negative_overflow_and_out_of_range) {
    EXPECT_THAT(refusal("lock-expire-millis: -1"),
                AllOf(StartsWith("nebis.yaml:3:25:"), HasSubstr("'-1' is too low"), HasSubstr("10 to 60000")));
    EXPECT_THAT(refusal("lock-expire-millis: 60001"), HasSubstr("'60001' is too high"));
    EXPECT_THAT(refusal("lock-expire-millis: 9"), HasSubstr("'9' is too low"));
    EXPECT_THAT(refusal("lock-expire-millis: 0"), HasSubstr("too low"));  // 0 never means for ever
    EXPECT_THAT(refusal("lock-expire-millis: 99999999999999999999999999"), HasSubstr("is too high"));
    EXPECT_THAT(refusal("lock-expire-millis: -99999999999999999999999999"), HasSubstr("is too low"));
    EXPECT_THAT(refusal("lock-expire-millis: 18446744073709561616"), HasSubstr("is too high"));  // 2^64 + 10000
}

TEST(BadValue, B103_numbers_are_plain_decimal) {
    for (const std::string text :
         {"1e4", "0x2710", "1_000", "+5000", "5000.0", "5,000", "~5000", "五千", "0o17", "5000ms "}) {
        EXPECT_THAT(refusal("lock-expire-millis: " + text), HasSubstr("is no whole number")) << text;
    }
    EXPECT_THAT(refusal("lock-expire-millis: 05000"), HasSubstr("octal"));
    EXPECT_THAT(refusal("lock-expire-millis: \"5000\""), AllOf(HasSubstr("in quotes"), HasSubstr("without quotes")));
}

TEST(BadValue, B103_only_true_and_false_are_flags) {
    for (const std::string text : {"yes", "on", "no", "off", "True", "TRUE", "1", "y"}) {
        EXPECT_THAT(refusal("fail-open: " + text), HasSubstr("write true or false")) << text;
    }
    EXPECT_THAT(refusal("fail-open: \"true\""), HasSubstr("without quotes"));
    EXPECT_FALSE(loaded("fail-open: false").defaults.fail_open);
}

TEST(BadValue, B103_texts_that_yaml_readers_disagree_about_need_quotes) {
    for (const std::string text : {"yes", "on", "012", "1e3", "0x10", "null-", "true", "12:30", "2026-01-02"}) {
        if (text == "null-") continue;
        EXPECT_THAT(refusal("instance: " + text), HasSubstr("put it in double quotes")) << text;
    }
    EXPECT_EQ(loaded("instance: \"on\"").instance, "on");
    EXPECT_EQ(loaded("instance: '012'").instance, "012");
    EXPECT_EQ(loaded("http: {listen: 127.0.0.1:8080}").http.listen, "127.0.0.1:8080");
    EXPECT_EQ(loaded("enforcement: off").defaults.enforcement, Enforcement::off);  // a choice that is spelled so
    EXPECT_THAT(refusal("enforcement: on"), HasSubstr("one of: enforce, observe, off"));
}

TEST(BadValue, B103_no_value_is_no_default) {
    EXPECT_THAT(refusal("lock-expire-millis:"), AllOf(StartsWith("nebis.yaml:3:5:"), HasSubstr("has no value")));
    EXPECT_THAT(refusal("lock-expire-millis: ~"), HasSubstr("has no value"));
    EXPECT_THAT(refusal("instance: null"), HasSubstr("has no value"));
    EXPECT_THAT(refusal("table-name: \"\""), HasSubstr("is empty"));
    EXPECT_EQ(loaded("operations:\nlock-renew:").defaults.lease.count(), 10'000);  // an empty section is just empty
}

TEST(BadValue, B103_shapes) {
    EXPECT_THAT(refusal("lock-expire-millis: [5000]"), HasSubstr("must be one value, not a list"));
    EXPECT_THAT(refusal("lock-expire-millis: {a: 1}"), HasSubstr("must be one value, not a map"));
    EXPECT_THAT(refusal("lock-renew: true"), HasSubstr("'lock-renew' must be a map of keys"));
    EXPECT_THAT(refusal("operations: [pay]"), HasSubstr("'operations' must be a map of keys"));
    EXPECT_THAT(refusal("operations: {pay: atomic}"), HasSubstr("'operations.pay' must be a map"));
    EXPECT_THAT(refusal("noise: /at"), AllOf(HasSubstr("must be a list"), HasSubstr("[/at]")));
    EXPECT_THAT(refusal("noise: [{a: 1}]"), HasSubstr("must be texts"));
    EXPECT_THAT(refusal("noise: [[/a]]"), HasSubstr("must be texts"));
    EXPECT_THAT(refusal("noise: [~]"), HasSubstr("must be texts"));
    EXPECT_THAT(refusal("noise: [/a, /a]"), HasSubstr("stands twice"));
}

TEST(BadValue, B103_choices_have_suggestions) {
    EXPECT_THAT(refusal("mode: atomik"),
                AllOf(HasSubstr("did you mean 'atomic'?"), HasSubstr("execute, atomic, hooked, mark")));
    EXPECT_THAT(refusal("duplicate-handler: THROW"), HasSubstr("did you mean 'throw'?"));
    EXPECT_THAT(refusal("profile: relaxed"), HasSubstr("one of: strict, article"));
}

TEST(BadValue, B104_table_name_is_an_identifier) {
    for (const std::string text :
         {"x; drop", "\"idempotent record\"", "a.b", "1abc", "\"x'--\"", "\"\u00fcber\"", "a-b"}) {
        EXPECT_THAT(refusal("table-name: " + text), HasSubstr("is no table name")) << text;
    }
    EXPECT_THAT(refusal("table-name: " + std::string(49, 'a')), HasSubstr("too long"));
    EXPECT_EQ(loaded("operations: {pay: {table-name: pay_record}}").operations.at("pay").at("table-name"),
              Value("pay_record"));
}

TEST(BadValue, texts_have_their_form) {
    EXPECT_THAT(refusal("key-from-header: \"Idempotency-Key: x\""), HasSubstr("is no header name"));
    EXPECT_THAT(refusal("key-fields: [orderId]"), AllOf(HasSubstr("is no JSON pointer"), HasSubstr("/orderId")));
    EXPECT_THAT(refusal("noise: [/a~2]"), HasSubstr("~0 for ~"));
    EXPECT_THAT(refusal("key-expression: \"  \""), HasSubstr("is blank"));
    EXPECT_THAT(refusal("retryable-exceptions: [java.util.concurrent.TimeoutException]"),
                AllOf(HasSubstr("Java class"), HasSubstr("C++ type")));
    EXPECT_THAT(refusal("final-exceptions: [\"std::\"]"), HasSubstr("is no C++ type"));
    EXPECT_THAT(refusal("key-prefix: \"a{b}\""), HasSubstr("is no key prefix"));
    EXPECT_THAT(refusal("scheduler-cron: \"0 2 * * ?\""), AllOf(HasSubstr("six fields"), HasSubstr("this one has 5")));
    EXPECT_THAT(refusal("http: {documentation-url: docs.example}"), HasSubstr("is no web address"));
    for (const std::string text :
         {"8080", "\":8080\"", "\"localhost:\"", "localhost:http", "localhost:70000", "\"a b:1\"", "::1"}) {
        EXPECT_THAT(refusal("http: {listen: " + text + "}"), HasSubstr("no address and port")) << text;
    }
    EXPECT_EQ(loaded("http: {listen: \"[::1]:0\"}").http.listen, "[::1]:0");
}

TEST(BadValue, S3_key_expressions_are_checked_with_their_place) {
    const auto text = refusal(
        "operations:\n  pay:\n    key-expression: \"#request.orderId + \"\n  refund:\n    key-expression: '#a + ?'\n  "
        "stock: {key-expression: \"#request.sku\"}");
    EXPECT_THAT(text, AllOf(StartsWith("2 faults"), HasSubstr("nebis.yaml:5:45: operations.pay.key-expression:"),
                            HasSubstr("nebis.yaml:7:31: operations.refund.key-expression:"),
                            HasSubstr("is no key expression: ")));
    EXPECT_THAT(refusal("key-expression: '  '"), HasSubstr("is blank"));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"key-expression=#a + "}}), HasSubstr("is no key expression"));
}

TEST(BadValue, names_have_their_form) {
    EXPECT_THAT(refusal("operations: {\"a;b\": {mode: atomic}}"), HasSubstr("is no operation name"));
    EXPECT_THAT(refusal("operations: {" + std::string(65, 'a') + ": {mode: atomic}}"),
                HasSubstr("is no operation name"));
    EXPECT_EQ(loaded("operations: {\"POST /orders/{id}\": {mode: atomic}}").operations.size(), 1u);
    EXPECT_THAT(refusal("datasources: {\"a b\": {driver: sqlite}}"), HasSubstr("is no plain name"));
    EXPECT_THAT(refusal("token: {keys: {seventeen-letters: {secret-file: x}}}"), HasSubstr("is no key id"));
    EXPECT_THAT(refusal("messages: {overrides: {in-progres: x}}"), HasSubstr("did you mean 'in-progress'?"));
}

TEST(BadValue, B103_environment_of_wrong_type_names_the_variable) {
    const LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS", "ten"}}, .sets = {}};
    EXPECT_THAT(refusal("", options),
                AllOf(StartsWith("environment variable NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS: lock-expire-millis:"),
                      HasSubstr("no whole number")));
}

TEST(BadValue, B103_unknown_environment_variable_is_refused) {
    const LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILIS", "5"}}, .sets = {}};
    EXPECT_THAT(refusal("", options), HasSubstr("did you mean NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS?"));
    for (const std::string name :
         {"NEBIS__X", "NEBIS__", "NEBIS__IDEMPOTENT", "NEBIS__IDEMPOTENT__", "NEBIS__IDEMPOTENT__LOCK_RENEW",
          "NEBIS__IDEMPOTENT__OPERATIONS", "NEBIS__IDEMPOTENT__OPERATIONS__pay",
          "NEBIS__IDEMPOTENT__OPERATIONS____MODE", "NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS__X"}) {
        EXPECT_THAT(refusal("", {.environment = {{name, "5"}}, .sets = {}}), HasSubstr("no setting has this name"))
            << name;
    }
}

TEST(BadValue, B103_flags_are_checked_like_everything_else) {
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"lock-expire-millis"}}),
                AllOf(HasSubstr("--set lock-expire-millis"), HasSubstr("needs a value")));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"lock-expire-milis=5"}}),
                HasSubstr("did you mean 'lock-expire-millis'?"));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"lock-expire-millis=x"}}),
                StartsWith("--set lock-expire-millis: lock-expire-millis: 'x'"));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"operations.a;b.mode=atomic"}}),
                HasSubstr("is no operation name"));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"=5"}}), HasSubstr("no setting has this name"));
    EXPECT_THAT(refusal("", {.environment = {}, .sets = {"operations.pay=5"}}), HasSubstr("no setting has this name"));
}

TEST(BadValue, a_long_value_makes_a_short_message) {
    EXPECT_LT(refusal("lock-expire-millis: " + std::string(5000, 'x')).size(), 400u);
    EXPECT_LT(refusal(std::string(500, 'x') + ": 1").size(), 400u);
}

TEST(BadValue, secrets_are_never_in_a_message) {
    EXPECT_THAT(refusal("token: {keys: {k1: {secret: [hunter2]}}}"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(refusal("token: {keys: {k1: {secret: 0x1234567890abcdef}}}"), Not(HasSubstr("0x1234")));
    EXPECT_THAT(refusal("datasources: {primary: {driver: x, password: 0123456}}"),
                AllOf(HasSubstr("'datasources.primary.password'"), Not(HasSubstr("0123456"))));
}

}  // namespace
}  // namespace nebis::config
