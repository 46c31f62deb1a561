// SPDX-License-Identifier: Apache-2.0
// B104: values that are each allowed and make no sense together.
#include "loading.hpp"

#include <gmock/gmock.h>

namespace nebis::config {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal_of_policy(const Settings& settings, const Policy& policy) {
    const auto resolved = resolve(settings, policy);
    if (!resolved) {
        EXPECT_EQ(resolved.error().kind(), ErrorKind::misconfigured);
        return resolved.error().text();
    }
    ADD_FAILURE() << "was taken";
    return {};
}
std::string refusal_of_policy(const Policy& policy) { return refusal_of_policy(default_settings(), policy); }

TEST(Contradiction, B104_lease_must_be_shorter_than_the_retention) {
    EXPECT_THAT(
        refusal("lock-expire-millis: 5000\nrecord-expire-millis: 5000"),
        AllOf(StartsWith("nebis.yaml:4:27:"),
              HasSubstr("the retention (5000 ms) must be longer than the lease (lock-expire-millis, 5000 ms)")));
    EXPECT_THAT(refusal("record-expire-millis: 5000"), StartsWith("nebis.yaml:3:27:"));  // the default lease is 10 s
    EXPECT_THAT(refusal("operations: {pay: {lock-expire-millis: 5000, record-expire-millis: 4000}}"),
                StartsWith("nebis.yaml:3:"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .lease = 5s, .retention = 5s}),
                StartsWith("operation 'pay': the retention"));
    EXPECT_TRUE(load_keys("lock-expire-millis: 5000\nrecord-expire-millis: 5001"));
}

TEST(Contradiction, C53_the_retention_must_be_longer_than_the_longest_way_of_a_retry) {
    EXPECT_THAT(refusal("record-expire-hours: 1\nlongest-retry-millis: 86400000"),
                AllOf(StartsWith("nebis.yaml:4:27:"), HasSubstr("would run a second time"),
                      HasSubstr("make record-expire-hours greater")));
    EXPECT_THAT(refusal("longest-retry-millis: 86400000"), StartsWith("nebis.yaml:3:27:"));  // equal is too short
    EXPECT_THAT(refusal("operations: {pay: {record-expire-millis: 300000, longest-retry-millis: 7200000}}"),
                AllOf(StartsWith("nebis.yaml:3:"), HasSubstr("make record-expire-millis greater")));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .mode = Mode::mark, .retention = 5min, .longest_retry = 2h}),
                StartsWith("operation 'pay': retries may come after 7200000 ms"));
    // What is said for all holds for an operation that remembers for less.
    EXPECT_THAT(refusal_of_policy(loaded("longest-retry-millis: 7200000"), {.operation = "pay", .retention = 1h}),
                AllOf(StartsWith("nebis.yaml:3:27:"), HasSubstr("for operation 'pay'")));
    EXPECT_TRUE(load_keys("longest-retry-millis: 86399999"));
    EXPECT_TRUE(resolve(default_settings(), {.operation = "pay", .retention = 3h, .longest_retry = 2h}));
}

TEST(Contradiction, a_mark_has_no_lease_to_outlive) {
    const auto resolved = resolve(default_settings(), {.operation = "click", .mode = Mode::mark, .retention = 3s});
    ASSERT_TRUE(resolved) << resolved.error().text();
    EXPECT_TRUE(load_keys("mode: mark\nrecord-expire-millis: 3000"));
}

TEST(Contradiction, B104_renewal_must_come_before_the_lease_ends) {
    EXPECT_THAT(
        refusal("lock-expire-millis: 3000\nlock-renew: {renew-interval-millis: 3000}"),
        AllOf(HasSubstr("the renewal interval (3000 ms) must be shorter than the lease"), HasSubstr("1000 ms")));
    EXPECT_THAT(refusal("lock-renew: {max-expire-millis: 9000}"), HasSubstr("shorter than its first lease"));
    EXPECT_TRUE(load_keys("lock-renew: {enabled: false, max-expire-millis: 9000}"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .lease = 5s, .lease_max = 4s}),
                HasSubstr("shorter than its first lease"));
}

TEST(Contradiction, B104_time_budget_must_be_shorter_than_the_lease) {
    EXPECT_THAT(refusal("lock-expire-millis: 2000\nbudget-millis: 2000"),
                AllOf(StartsWith("nebis.yaml:4:20:"), HasSubstr("time budget"), HasSubstr("1000 ms")));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .lease = 1s, .budget = 2s}), HasSubstr("time budget"));
}

TEST(Contradiction, general_values_bend_to_a_more_specific_lease) {
    const auto settings =
        loaded("budget-millis: 5000\nlock-renew: {renew-interval-millis: 3000, max-expire-millis: 20000}");
    const auto small = resolve(settings, {.operation = "quick", .lease = 300ms});
    ASSERT_TRUE(small) << small.error().text();
    EXPECT_EQ(small->budget, 150ms);
    EXPECT_EQ(small->renew_interval, 100ms);
    const auto great = resolve(settings, {.operation = "slow", .lease = 50s});
    ASSERT_TRUE(great) << great.error().text();
    EXPECT_EQ(great->lease_max, 50s);
    EXPECT_EQ(great->budget, 5s);
    EXPECT_EQ(great->renew_interval, 3s);
    const auto cached = resolve(default_settings(), {.operation = "short", .mode = Mode::mark, .retention = 1s});
    ASSERT_TRUE(cached) << cached.error().text();
    EXPECT_EQ(cached->local_cache, 1s);
}

TEST(Contradiction, inside_needs_atomic) {
    EXPECT_THAT(refusal("operations: {pay: {mode: execute, claim: inside}}"),
                HasSubstr("'claim: inside' needs 'mode: atomic'"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .mode = Mode::mark, .claim = Claim::inside}),
                HasSubstr("needs 'mode: atomic'"));
    // For all operations it means: where it can be.
    const auto settings = loaded("claim: inside");
    const auto atomic = resolve(settings, {.operation = "order", .mode = Mode::atomic});
    ASSERT_TRUE(atomic);
    EXPECT_EQ(atomic->claim, Claim::inside);
    const auto execute = resolve(settings, {.operation = "pay"});
    ASSERT_TRUE(execute);
    EXPECT_EQ(execute->claim, Claim::before);
    // The mode may still come from code.
    EXPECT_TRUE(load_keys("operations: {pay: {claim: inside}}"));
}

TEST(Contradiction, a_mark_gives_nothing_to_wait_for) {
    EXPECT_THAT(refusal("operations: {pay: {mode: mark, duplicate-handler: wait}}"),
                HasSubstr("makes no sense with 'mode: mark'"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .mode = Mode::mark, .on_duplicate = OnDuplicate::wait}),
                HasSubstr("use throw or return"));
}

TEST(Contradiction, S24_strict_refuses_time_outs_as_retryable_unless_running_twice_is_accepted) {
    EXPECT_THAT(refusal("retryable-exceptions: [std::system_error]"),
                AllOf(StartsWith("nebis.yaml:3:"), HasSubstr("leaves open whether the effect happened"),
                      HasSubstr("on-unknown: retry")));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .retryable_exceptions = {{"bank::ReadTimeout"}}}),
                HasSubstr("'bank::ReadTimeout'"));
    EXPECT_TRUE(load_keys("retryable-exceptions: [std::system_error]\non-unknown: retry"));
    EXPECT_TRUE(load_keys("retryable-exceptions: [std::system_error]\nprofile: article"));
    EXPECT_TRUE(load_keys("retryable-exceptions: [shop::OutOfStock]"));
}

TEST(Contradiction, S24_names_that_leave_the_outcome_open) {
    for (const auto* type : {"std::system_error", "boost::system::system_error", "Timeout", "my::TIMED_OUT",
                             "asio::connection_reset", "grpc::DeadlineExceeded", "RemoteAccessException",
                             "SocketClosed", "net::BrokenPipe", "std::ios_base::failure"}) {
        EXPECT_TRUE(leaves_outcome_open(type)) << type;
    }
    for (const auto* type :
         {"std::invalid_argument", "std::out_of_range", "shop::InsufficientBalance", "std::logic_error"}) {
        EXPECT_FALSE(leaves_outcome_open(type)) << type;
    }
}

TEST(Contradiction, one_type_in_two_lists) {
    EXPECT_THAT(refusal("final-exceptions: [shop::Bad]\nunknown-exceptions: [shop::Bad]"),
                HasSubstr("stands in final-exceptions and in unknown-exceptions"));
}

TEST(Contradiction, two_spellings_of_one_value) {
    EXPECT_THAT(refusal("record-expire-hours: 24\nrecord-expire-millis: 60000"),
                AllOf(StartsWith("nebis.yaml:4:"), HasSubstr("say the same thing twice"), HasSubstr("nebis.yaml:3:")));
    EXPECT_THAT(refusal("operations: {pay: {key-expression: \"#a\", key-from-header: Idempotency-Key}}"),
                HasSubstr("say the same thing twice"));
    EXPECT_THAT(refusal("token: {keys: {k: {secret-file: x, secret: " + std::string(32, 's') + "}}}"),
                HasSubstr("say the same thing twice"));
    // On another level it is an override.
    EXPECT_TRUE(load_keys("record-expire-hours: 24\noperations: {pay: {record-expire-millis: 60000}}"));
    EXPECT_TRUE(load_keys("operations: {pay: {record-expire-hours: 1}, refund: {record-expire-millis: 60000}}"));
}

TEST(Contradiction, S5_tokens_must_die_before_their_record) {
    const std::string keys = "token: {lifetime-millis: 3600000, keys: {k1: {secret: " + std::string(32, 's') + "}}}\n";
    EXPECT_THAT(refusal(keys + "record-expire-hours: 1"), HasSubstr("could be spent twice"));
    EXPECT_THAT(refusal(keys + "operations: {pay: {record-expire-hours: 1}}"), HasSubstr("could be spent twice"));
    EXPECT_TRUE(load_keys(keys + "operations: {pay: {record-expire-hours: 1, key-expression: \"#id\"}}"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .key = one_time_token()}),
                HasSubstr("token.keys.<id>.secret-file"));
}

TEST(Contradiction, token_keys_must_say_who_signs) {
    const std::string secret(32, 's');
    EXPECT_THAT(refusal("token: {current: k2, keys: {k1: {secret: " + secret + "}}}"),
                HasSubstr("there is no key 'k2'"));
    EXPECT_THAT(refusal("token: {keys: {k1: {secret: " + secret + "}, k2: {secret: " + secret + "}}}"),
                HasSubstr("token.current"));
}

TEST(Contradiction, missing_parts) {
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .on_unknown = OnUnknown::ask}),
                HasSubstr("needs an outcome resolver"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .mode = Mode::hooked}), HasSubstr("needs transaction hooks"));
    EXPECT_TRUE(load_keys("on-unknown: ask"));  // code may give it
    EXPECT_TRUE(resolve(loaded("on-unknown: ask\noutcome-resolver: bank"), {.operation = "pay"}));
    // The coordinator is whom `hooked` asks.
    EXPECT_TRUE(resolve(loaded("on-unknown: ask\nmode: hooked\ntransaction-hooks: tcc"), {.operation = "pay"}));
}

TEST(Contradiction, unknown_data_source_has_a_suggestion) {
    EXPECT_THAT(refusal("datasources: {orders: {driver: sqlite}}\ndatasource-name: order"),
                AllOf(HasSubstr("did you mean 'orders'?"), HasSubstr("datasources has: orders")));
    EXPECT_THAT(refusal("operations: {pay: {datasource-name: archive}}"),
                HasSubstr("there is no data source 'archive'"));
    EXPECT_THAT(refusal("datasources: {orders: {path: x.db}}"), HasSubstr("datasources.orders: has no driver"));
}

TEST(Contradiction, a_policy_is_held_to_the_same_ranges) {
    EXPECT_THAT(
        refusal_of_policy({.operation = "pay", .lease = 61s}),
        AllOf(StartsWith("operation 'pay': lock-expire-millis: '61000' is too high"), HasSubstr("10 to 60000")));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .lease = 0ms}), HasSubstr("too low"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .noise = {"at"}}), HasSubstr("is no JSON pointer"));
    EXPECT_THAT(refusal_of_policy({.operation = ""}), HasSubstr("is no operation name"));
    EXPECT_THAT(refusal_of_policy({.operation = "a\nb"}), HasSubstr("is no operation name"));
    EXPECT_THAT(refusal_of_policy({.operation = "pay", .lease = 70s, .wait = -1ms}),
                AllOf(HasSubstr("2 faults"), HasSubstr("wait-millis")));
}

TEST(Contradiction, the_place_of_an_override_is_named) {
    const auto settings = loaded("operations:\n  pay:\n    lock-expire-millis: 5000");
    EXPECT_THAT(refusal_of_policy(settings, {.operation = "pay", .retention = 1s}), HasSubstr("operation 'pay'"));
    const auto general = loaded("lock-expire-millis: 5000\non-unknown: ask");
    EXPECT_THAT(refusal_of_policy(general, {.operation = "pay"}),
                AllOf(StartsWith("nebis.yaml:4:"), HasSubstr("for operation 'pay'")));
}

}  // namespace
}  // namespace nebis::config
