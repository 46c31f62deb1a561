// SPDX-License-Identifier: Apache-2.0
// S37: which of several values counts.
#include "loading.hpp"
#include "nebis/extend.hpp"

#include <gmock/gmock.h>

namespace nebis::config {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperationSettings resolved(const Settings& settings, const Policy& policy) {
    auto result = resolve(settings, policy);
    if (result) return *result;
    ADD_FAILURE() << result.error().text();
    return {};
}

TEST(Layers, S37_flag_over_environment_over_file_over_default) {
    EXPECT_EQ(loaded("").defaults.lease, 10s);
    EXPECT_EQ(loaded("lock-expire-millis: 5000").defaults.lease, 5s);
    LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__LOCK_EXPIRE_MILLIS", "6000"}, {"PATH", "/bin"}},
                        .sets = {}};
    EXPECT_EQ(loaded("lock-expire-millis: 5000", options).defaults.lease, 6s);
    options.sets = {"lock-expire-millis=7000"};
    EXPECT_EQ(loaded("lock-expire-millis: 5000", options).defaults.lease, 7s);
    options.sets = {"nebis.idempotent.lock-expire-millis=7000", "lock-expire-millis=8000"};
    EXPECT_EQ(loaded("lock-expire-millis: 5000", options).defaults.lease, 8s);
    EXPECT_EQ(loaded("lock-expire-millis: 5000", options).where.at("lock-expire-millis").text(),
              "--set lock-expire-millis");
}

TEST(Layers, a_higher_source_may_use_the_other_spelling) {
    const LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__RECORD_EXPIRE_MILLIS", "60000"}},
                              .sets = {"operations.pay.key-expression=#id"}};
    const auto settings = loaded("record-expire-hours: 5\noperations: {pay: {key-from-header: K}}", options);
    EXPECT_EQ(settings.defaults.retention, 60s);
    EXPECT_FALSE(settings.where.contains("record-expire-hours"));
    EXPECT_EQ(resolved(settings, {.operation = "pay"}).key, KeyRule("#id"));
}

TEST(Layers, environment_finds_names_of_the_file) {
    LoadOptions options{.environment = {{"NEBIS__IDEMPOTENT__OPERATIONS__PAYORDER__MODE", "atomic"}}, .sets = {}};
    const auto settings = loaded("operations: {payOrder: {claim: inside}}", options);
    EXPECT_EQ(settings.operations.at("payOrder").at("mode"), Value("atomic"));
    // A name that the file doesn't have is taken as it is.
    options.environment = {{"NEBIS__IDEMPOTENT__OPERATIONS__payOrder__LOCK_RENEW__ENABLED", "false"}};
    EXPECT_EQ(loaded("", options).operations.at("payOrder").at("lock-renew.enabled"), Value("false"));
    options.environment = {{"NEBIS__IDEMPOTENT__OPERATIONS__PAY_ORDER__MODE", "atomic"}};
    EXPECT_THAT(refusal("operations: {pay-order: {claim: inside}, pay_order: {claim: inside}}", options),
                HasSubstr("several names"));
    options.environment = {{"NEBIS__IDEMPOTENT__DATASOURCES__PRIMARY__PATH", "/srv/a.db"},
                           {"NEBIS__IDEMPOTENT__DATASOURCES__PRIMARY__BUSY_TIMEOUT_MILLIS", "5"}};
    EXPECT_EQ(loaded("", options).data_sources.at("primary").values.at("path"), "/srv/a.db");
    EXPECT_EQ(loaded("", options).data_sources.at("primary").values.at("busy-timeout-millis"), "5");
    EXPECT_EQ(loaded("", options).data_sources.at("primary").driver, "sqlite");
    options.environment = {{"NEBIS__IDEMPOTENT__MESSAGES__OVERRIDES__IN_PROGRESS", "Busy."}};
    EXPECT_EQ(loaded("", options).messages.overrides.at("in-progress"), "Busy.");
}

TEST(Layers, flags_take_names_with_dots_and_lists) {
    const LoadOptions options{.environment = {},
                              .sets = {"operations.shop.order.create.lock-renew.enabled=false", "noise=[/at, /nonce]",
                                       "operations.a.noise=/x,/y", "operations.a.final-exceptions=[]", "instance=a=b"}};
    auto settings = load_keys("", options);
    EXPECT_THAT(refusal_of(settings), HasSubstr("'a=b' is no plain name"));
    LoadOptions good = options;
    good.sets.pop_back();
    const auto taken = loaded("", good);
    EXPECT_EQ(taken.operations.at("shop.order.create").at("lock-renew.enabled"), Value("false"));
    EXPECT_THAT(taken.defaults.noise, ElementsAre("/at", "/nonce"));
    EXPECT_EQ(taken.operations.at("a").at("noise"), Value(std::vector<std::string>{"/x", "/y"}));
    EXPECT_EQ(taken.operations.at("a").at("final-exceptions"), Value(std::vector<std::string>{}));
}

TEST(Layers, S37_an_operation_is_told_by_config_then_code_then_general_config) {
    const auto settings = loaded(
        "lock-expire-millis: 5000\nwait-millis: 100\nmode: atomic\noperations: {pay: {lock-expire-millis: 7000}}");
    const auto pay = resolved(settings, {.operation = "pay", .mode = Mode::execute, .lease = 6s});
    EXPECT_EQ(pay.lease, 7s);            // the operator's word on this operation
    EXPECT_EQ(pay.mode, Mode::execute);  // code
    EXPECT_EQ(pay.wait, 100ms);          // for all operations
    EXPECT_EQ(pay.retention, 24h);       // built in
    const auto other = resolved(settings, {.operation = "other", .lease = 6s});
    EXPECT_EQ(other.lease, 6s);
    EXPECT_EQ(other.mode, Mode::atomic);
}

TEST(Layers, noise_adds_up) {
    const auto settings = loaded("noise: [/a]\noperations: {pay: {noise: [/c, /a]}}");
    EXPECT_THAT(resolved(settings, {.operation = "pay", .noise = {"/b"}}).noise,
                ::testing::UnorderedElementsAre("/a", "/b", "/c"));
}

TEST(Layers, profile_is_below_everything_that_is_written) {
    const auto strict = resolved(default_settings(), {.operation = "pay"});
    EXPECT_EQ(strict.on_unknown, OnUnknown::hold);
    EXPECT_EQ(strict.unlisted, Unlisted::unknown);
    EXPECT_TRUE(strict.renew);
    EXPECT_TRUE(strict.fail_open);

    const auto article = resolved(loaded("profile: article"), {.operation = "pay"});
    EXPECT_EQ(article.on_unknown, OnUnknown::retry);
    EXPECT_EQ(article.unlisted, Unlisted::fail);
    EXPECT_FALSE(article.renew);
    EXPECT_FALSE(article.fail_open);
    EXPECT_THAT(article.final_exceptions, ElementsAre("std::invalid_argument"));

    const auto written = resolved(loaded("on-unknown: hold\nprofile: article"), {.operation = "pay"});
    EXPECT_EQ(written.on_unknown, OnUnknown::hold);
    EXPECT_FALSE(written.renew);
}

TEST(Layers, an_operations_own_profile) {
    const auto settings =
        loaded("profile: article\nfail-open: true\noperations: {pay: {profile: strict}, old: {profile: article}}");
    const auto pay = resolved(settings, {.operation = "pay"});
    EXPECT_EQ(pay.on_unknown, OnUnknown::hold);
    EXPECT_TRUE(pay.renew);
    EXPECT_TRUE(pay.retryable_exceptions.empty());
    EXPECT_TRUE(pay.fail_open);
    const auto mixed = loaded("fail-open: true\noperations: {old: {profile: article}}");
    const auto old = resolved(mixed, {.operation = "old", .unlisted = Unlisted::unknown});
    EXPECT_EQ(old.on_unknown, OnUnknown::retry);
    EXPECT_TRUE(old.fail_open);                  // written for all operations
    EXPECT_EQ(old.unlisted, Unlisted::unknown);  // code
}

TEST(Layers, unlisted_exceptions_rolled_back_in_atomic) {
    EXPECT_EQ(resolved(default_settings(), {.operation = "o", .mode = Mode::atomic}).unlisted, Unlisted::fail);
    EXPECT_EQ(
        resolved(default_settings(), {.operation = "o", .mode = Mode::atomic, .unlisted = Unlisted::unknown}).unlisted,
        Unlisted::unknown);
    EXPECT_EQ(resolved(loaded("unlisted: unknown"), {.operation = "o", .mode = Mode::atomic}).unlisted,
              Unlisted::unknown);
}

TEST(Layers, enabled_false_is_off) {
    EXPECT_EQ(resolved(loaded("enabled: false"), {.operation = "o"}).enforcement, Enforcement::off);
    EXPECT_EQ(resolved(loaded("enabled: false\noperations: {o: {enabled: true}}"), {.operation = "o"}).enforcement,
              Enforcement::enforce);
    EXPECT_EQ(resolved(loaded("enforcement: observe"), {.operation = "o"}).enforcement, Enforcement::observe);
}

TEST(Layers, key_rules_of_every_kind) {
    const auto rule = [](const std::string& yaml) {
        return resolved(loaded("operations: {o: {" + yaml + "}}\ntoken: {keys: {k: {secret: " + std::string(32, 's') +
                               "}}}"),
                        {.operation = "o", .key = "#code"})
            .key;
    };
    EXPECT_EQ(rule("mode: atomic"), KeyRule("#code"));
    EXPECT_EQ(rule("key-expression: \"#request.id\""), KeyRule("#request.id"));
    EXPECT_EQ(rule("key-from-header: Idempotency-Key"), header("Idempotency-Key"));
    EXPECT_EQ(rule("key-fields: [/a, /b]"), fields({"/a", "/b"}));
    EXPECT_EQ(rule("key-generator: biz-seq-no"), generator("biz-seq-no"));
    EXPECT_EQ(rule("key-rule: all-parameters"), all_parameters());
    EXPECT_EQ(rule("key-rule: automatic"), KeyRule());
    EXPECT_EQ(rule("key-from-token: [X-Idempotent-Token, /token]"), one_time_token("X-Idempotent-Token", "/token"));
    EXPECT_EQ(rule("key-from-token: [X-Idempotent-Token]"), one_time_token());
}

struct FixedKey : KeyGenerator {
    Result<std::string> generate(const Request&) const override { return std::string("k"); }
};
struct Nothing : ResponseProducer {
    Response produce(const DuplicateInfo&, const Request&) const override { return {}; }
};

TEST(Layers, S34_extension_points_from_code_and_by_name) {
    const Policy policy{.operation = "o",
                        .key_generator = std::make_shared<FixedKey>(),
                        .response_producer = std::make_shared<Nothing>()};
    const auto plain = resolved(default_settings(), policy);
    EXPECT_EQ(plain.key_generator, policy.key_generator);
    EXPECT_EQ(plain.response_producer.object, policy.response_producer);
    // A general name gives way to the object; a name for this operation wins over it.
    const auto general = resolved(loaded("response-producer: polite\nkey-from-header: K"), policy);
    EXPECT_EQ(general.response_producer.object, policy.response_producer);
    EXPECT_TRUE(general.response_producer.name.empty());
    EXPECT_EQ(general.key_generator, policy.key_generator);
    const auto own =
        resolved(loaded("operations: {o: {response-producer: polite, key-generator: biz-seq-no}}"), policy);
    EXPECT_EQ(own.response_producer.object, nullptr);
    EXPECT_EQ(own.response_producer.name, "polite");
    EXPECT_EQ(own.key_generator, nullptr);
    EXPECT_EQ(own.key, generator("biz-seq-no"));
    Policy both = policy;
    both.key = "#id";
    EXPECT_FALSE(resolve(default_settings(), both));
}

TEST(Layers, settings_by_hand_need_no_file) {
    auto settings = default_settings();
    settings.defaults.lease = 200ms;
    settings.operations["pay"]["wait-millis"] = "50";
    const auto pay = resolved(settings, {.operation = "pay"});
    EXPECT_EQ(pay.lease, 200ms);
    EXPECT_EQ(pay.wait, 50ms);
    EXPECT_EQ(pay.budget, 100ms);
    settings.operations["pay"]["wait"] = "50";
    EXPECT_FALSE(resolve(settings, {.operation = "pay"}));
    settings.operations["pay"].erase("wait");
    settings.operations["pay"]["scheduler-enabled"] = "true";
    EXPECT_FALSE(resolve(settings, {.operation = "pay"}));
}

}  // namespace
}  // namespace nebis::config
