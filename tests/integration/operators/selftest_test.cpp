// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "temporary_folder.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include <fstream>
#include <map>

// `nebis selftest` (S66) on what a configuration names, sound and not.
namespace {

using namespace nebis::test;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Selftest : public testing::Test {
protected:
    void configure(const std::string& text) {
        std::ofstream(folder_.file("nebis.yaml")) << "nebis:\n  idempotent:\n" << text;
    }
    std::string sqlite() const {
        return "    datasources: {primary: {driver: sqlite, create-schema: true, path: " + folder_.file("r.db") +
               "}}\n";
    }
    Ended selftest(std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"selftest", "--config", folder_.file("nebis.yaml")});
        return Program(folder_.path(), std::move(more)).wait();
    }
    /// How many checks ended in which way.
    static std::map<std::string, int> results(const Ended& ended) {
        std::map<std::string, int> counted;
        const auto all = boost::json::parse(ended.out);
        for (const auto& check : all.at("checks").as_array()) ++counted[std::string(check.at("result").as_string())];
        return counted;
    }

    TemporaryFolder folder_;
};

using Counted = std::map<std::string, int>;

TEST_F(Selftest, S66_thirty_checks_pass_on_SQLite_and_leave_nothing) {
    configure(sqlite());
    const Ended ended = selftest();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("30 passed, 0 failed"));
    EXPECT_THAT(ended.out, HasSubstr("paymentCallback"));
    EXPECT_THAT(ended.out, HasSubstr("retry after time-out"));
    // A table that keeps nothing of it can go without a word about losses.
    EXPECT_EQ(Program(folder_.path(), {"migrate", "down", "--config", folder_.file("nebis.yaml")}).wait().code, 0);
}

TEST_F(Selftest, S66_passes_whatever_the_services_have_configured) {
    configure(sqlite() +
              "    profile: article\n    scope: caller\n    caller-required: true\n    strict-key-header: true\n"
              "    duplicate-handler: wait\n    on-finished: refuse\n    enforcement: observe\n"
              "    quota: {new-keys: 1, window-millis: 3600000}\n    longest-retry-millis: 3600000\n"
              "    own-rows-only: true\n    limits: {flood-filter-keys: 10000}\n");
    const Ended ended = selftest({"--json"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_EQ(results(ended), (Counted{{"ok", 30}}));
}

TEST_F(Selftest, S66_passes_on_PostgreSQL_behind_Redis) {
    RedisServer redis;
    PostgresServer postgres;
    configure(
        "    datasources: {primary: {driver: postgres, create-schema: true, username: app, connect-timeout-millis: "
        "10000, address: \"" +
        postgres.address() + "\"}}\n    lock: {driver: redis, address: " + redis.address() +
        "}\n    budget-millis: 4000\n    limits: {flood-filter-keys: 10000}\n");
    const Ended ended = selftest({"--json"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_EQ(results(ended), (Counted{{"ok", 30}}));
    EXPECT_TRUE(redis.ask({"KEYS", "idempotent:record:*"}).elements.empty()) << "results were left behind";

    // With Redis gone the requests are protected as ever, but the records can't be removed in the operator's way.
    redis.kill();
    const Ended alone = selftest({"--json"});
    EXPECT_EQ(alone.code, 1);
    EXPECT_EQ(results(alone), (Counted{{"FAILED", 30}}));
    EXPECT_THAT(alone.out, HasSubstr("could not be removed"));
    EXPECT_THAT(alone.out, Not(HasSubstr("effects instead of one")));
}

TEST_F(Selftest, S66_a_memory_store_is_not_asked_what_it_can_not_know) {
    configure("    datasources: {primary: {driver: memory}}\n");
    const Ended ended = selftest({"--json"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_EQ(results(ended), (Counted{{"ok", 25}, {"not asked", 5}}));
}

TEST_F(Selftest, S66_finds_an_operation_that_is_not_protected) {
    configure(sqlite() + "    operations: {selftest/refund: {enforcement: \"off\"}}\n");
    const Ended ended = selftest({"--json"});
    EXPECT_EQ(ended.code, 1);
    const auto counted = results(ended);
    EXPECT_EQ(counted.at("ok"), 24) << ended.out;
    EXPECT_EQ(counted.at("FAILED"), 6);
    const auto all = boost::json::parse(ended.out);
    for (const auto& check : all.at("checks").as_array())
        EXPECT_EQ(check.at("result") == "FAILED", check.at("operation") == "refund");
}

TEST_F(Selftest, S66_finds_an_operation_that_replays_nothing) {
    configure(sqlite() + "    operations: {selftest/refund: {mode: mark}}\n");
    const Ended ended = selftest();
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.out, HasSubstr("FAILED: the second click got: duplicate"));
}

TEST_F(Selftest, what_is_wrong_has_its_exit_code) {
    configure(sqlite() + "    lock-expire-millis: soon\n");
    EXPECT_EQ(selftest().code, 5);
    configure("    datasources: {primary: {driver: sqlite, path: " + folder_.file("none.db") + "}}\n");
    EXPECT_EQ(selftest().code, 6);
    configure(
        "    datasources: {primary: {driver: postgres, address: \"127.0.0.1:1\"}}\n"
        "    limits: {start-timeout-millis: 500}\n");
    EXPECT_EQ(selftest().code, 6);
    EXPECT_EQ(selftest({"--wipe"}).code, 2);
    EXPECT_THAT(selftest({"--help"}).out, StartsWith("Examples:"));
}

}  // namespace
