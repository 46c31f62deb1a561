// SPDX-License-Identifier: Apache-2.0
#include "loading.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

namespace nebis::config {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Load, S37_the_articles_keys) {
    const auto s = loaded(R"(enabled: true
# which database
datasource-name: primary
lock-expire-millis: 10000
record-expire-hours: 24
scheduler-enabled: true
scheduler-interval-millis: 60000
scheduler-cron: "0 0 2 * * ?"
processing-timeout-millis: 300000
duplicate-handler: return
lock-renew:
  enabled: true
  renew-interval-millis: 3000
  max-expire-millis: 60000
retryable-exceptions:
  - shop::LockedException
fail-open: true
key-prefix: "prod:")");
    EXPECT_EQ(s.defaults.on_duplicate, OnDuplicate::give);
    EXPECT_EQ(s.defaults.lease, 10s);
    EXPECT_EQ(s.defaults.retention, 24h);
    EXPECT_EQ(s.scheduler.interval, 60s);
    EXPECT_EQ(s.scheduler.processing_timeout, 300s);
    EXPECT_THAT(s.defaults.retryable_exceptions, ElementsAre("shop::LockedException"));
    EXPECT_EQ(s.key_prefix, "prod:");
    EXPECT_TRUE(s.warnings.empty());
}

TEST(Load, every_place_is_kept) {
    const auto s = loaded(
        "mode: atomic\noperations:\n  payOrder:\n    key-expression: \"#request.orderId\"\n    lock-renew: {enabled: "
        "false}");
    EXPECT_EQ(s.where.at("mode"), (Location{"nebis.yaml", 3, 11}));
    EXPECT_EQ(s.where.at("operations.payOrder.key-expression").text(), "nebis.yaml:6:25");
    EXPECT_EQ(s.where.at("operations.payOrder.lock-renew.enabled").line, 7u);
    EXPECT_EQ(s.where.size(), 3u);
}

TEST(Load, data_sources_and_lock) {
    const auto s = loaded(
        "datasources:\n  primary: {driver: sqlite, path: a.db, synchronous: full, max-sessions: 3}\n  archive: "
        "{driver: sqlite, path: b.db, "
        "create-schema: true, session-wait-millis: 50}\nlock: {driver: redis, url: \"redis://h\", max-sessions: 2}");
    EXPECT_EQ(s.data_sources.size(), 2u);
    EXPECT_EQ(s.data_sources.at("primary").values,
              (std::map<std::string, std::string>{{"path", "a.db"}, {"synchronous", "full"}}));
    EXPECT_FALSE(s.data_sources.at("primary").create_schema);
    EXPECT_EQ(s.data_sources.at("primary").max_sessions, 3u);
    EXPECT_TRUE(s.data_sources.at("archive").create_schema);
    EXPECT_EQ(s.data_sources.at("archive").values.at("create-schema"),
              "true");  // a driver that makes its file must know
    EXPECT_EQ(s.data_sources.at("archive").session_wait, 50ms);
    EXPECT_EQ(s.lock.driver, "redis");
    EXPECT_EQ(s.lock.values.at("url"), "redis://h");
    EXPECT_EQ(s.lock.max_sessions, 2u);
    EXPECT_EQ(loaded("").lock.driver, "local");
}

Drivers two_drivers() {
    Drivers drivers;
    drivers.stores["sqlite"] = nullptr;
    drivers.stores["memory"] = nullptr;
    drivers.gates["local"] = nullptr;
    using Kind = DriverKey::Kind;
    drivers.store_keys["sqlite"] = {
        {.name = "path",
         .kind = Kind::text,
         .fallback = {},
         .min = 0,
         .max = 0,
         .choices = {},
         .about = "the file",
         .required = true},
        {.name = "synchronous",
         .kind = Kind::choice,
         .fallback = "full",
         .min = 0,
         .max = 0,
         .choices = {"full", "normal"},
         .about = {},
         .required = false},
        {.name = "connections",
         .kind = Kind::integer,
         .fallback = "4",
         .min = 1,
         .max = 256,
         .choices = {},
         .about = {},
         .required = false},
        {.name = "shared",
         .kind = Kind::flag,
         .fallback = "true",
         .min = 0,
         .max = 0,
         .choices = {},
         .about = {},
         .required = false},
        {.name = "credential",
         .kind = Kind::secret,
         .fallback = {},
         .min = 0,
         .max = 0,
         .choices = {},
         .about = {},
         .required = false},
    };
    return drivers;
}

TEST(Load, drivers_declare_their_keys) {
    const auto drivers = two_drivers();
    const LoadOptions options{.environment = {}, .sets = {}, .drivers = &drivers};
    const auto s = loaded(
        "datasources: {primary: {driver: sqlite, path: x, synchronous: normal, connections: 3, shared: false, "
        "create-schema: true}}",
        options);
    EXPECT_EQ(s.data_sources.at("primary").values.at("connections"), "3");
    const auto with = [&](const std::string& keys) {
        return refusal("datasources: {primary: {driver: sqlite, path: x, " + keys + "}}", options);
    };
    EXPECT_THAT(with("sinchronous: full"), AllOf(HasSubstr("driver 'sqlite' has no such key"),
                                                 HasSubstr("'synchronous'"), HasSubstr("nebis.yaml:3:")));
    EXPECT_THAT(with("synchronous: ful"), HasSubstr("did you mean 'full'?"));
    EXPECT_THAT(with("connections: 0"), HasSubstr("too low"));
    EXPECT_THAT(with("connections: many"), HasSubstr("no whole number"));
    EXPECT_THAT(with("shared: yes"), HasSubstr("double quotes"));
    EXPECT_THAT(with("path2: [a]"), HasSubstr("must be one value"));
    EXPECT_THAT(refusal("datasources: {primary: {driver: sqlite}}", options),
                AllOf(HasSubstr("needs the key 'path'"), HasSubstr("the file")));
    EXPECT_THAT(refusal("datasources: {primary: {driver: sqllite, path: x}}", options),
                AllOf(HasSubstr("did you mean 'sqlite'?"), HasSubstr("it has: memory, sqlite")));
    EXPECT_THAT(refusal("lock: {driver: redis}", options), HasSubstr("no lock driver 'redis'"));
    EXPECT_EQ(loaded("lock: {driver: none}", options).lock.driver, "none");
    // A driver without declared keys takes any.
    EXPECT_EQ(loaded("datasources: {primary: {driver: memory, anything: 1}}", options)
                  .data_sources.at("primary")
                  .values.at("anything"),
              "1");
}

TEST(Load, only_our_variables_are_taken_from_the_process) {
    ASSERT_EQ(::setenv("NEBIS__IDEMPOTENT__INSTANCE", "from-environment", 1), 0);
    ASSERT_EQ(::setenv("NEBISX", "1", 1), 0);
    const auto found = process_environment();
    ::unsetenv("NEBIS__IDEMPOTENT__INSTANCE");
    ::unsetenv("NEBISX");
    EXPECT_EQ(found, (std::map<std::string, std::string>{{"NEBIS__IDEMPOTENT__INSTANCE", "from-environment"}}));
    EXPECT_EQ(loaded("", {.environment = found, .sets = {}}).instance, "from-environment");
}

TEST(Load, setting_text_for_transports) {
    const auto s = loaded("http: {documentation-url: \"https://docs.example/keys\", replay-headers: [ETag, Link]}");
    EXPECT_EQ(setting_text(s, "http.documentation-url"), "https://docs.example/keys");
    EXPECT_EQ(setting_text(s, "http.replay-headers"), "ETag, Link");
    EXPECT_EQ(setting_text(s, "http.threads"), "2");
    EXPECT_EQ(setting_text(s, "instance"), "");
    EXPECT_EQ(setting_text(s, "no.such.key"), "");
    EXPECT_EQ(setting_text(s, "token.keys.<name>.secret"), "");
}

TEST(Load, token_keys_as_the_token_service_takes_them) {
    const std::string a(32, 'a'), b(32, 'b');
    const auto s = loaded("token: {current: k2, lifetime-millis: 60000, keys: {k1: {secret: " + a +
                          "}, k2: {secret: " + b + "}}}");
    const auto keys = token_keys(s.token);
    EXPECT_EQ(keys.current, "k2");
    ASSERT_EQ(keys.keys.size(), 2u);
    EXPECT_EQ(keys.keys[1].secret, b);
    EXPECT_TRUE(token_keys(TokenSettings{}).keys.empty());
}

}  // namespace
}  // namespace nebis::config
