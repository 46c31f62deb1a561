// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "nebis/redis_v1.hpp"
#include "program.hpp"
#include "support/redis_server.hpp"
#include "temporary_folder.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

// `nebis v1` against a real Redis: exactly version 1's names and type, nothing else, and a dry run first (S40).
namespace {

using namespace nebis;
using namespace nebis::test;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// What the article's first version does with Redis, word for word: SETNX with a time limit (§2.1).
class FirstVersion {
public:
    explicit FirstVersion(const RedisServer& redis) : redis_(redis) {}
    bool try_lock(const std::string& trace_id, const std::string& request_id, int seconds) const {
        const auto reply =
            redis_.ask({"SET", "idempotent:" + trace_id, request_id, "NX", "EX", std::to_string(seconds)});
        return reply.kind == redis::Reply::Kind::status;
    }
    /// As those did it who set the time limit in a second command, and died in between.
    void leave_behind(const std::string& trace_id) const {
        redis_.ask({"SETNX", "idempotent:" + trace_id, "some-request"});
    }

private:
    const RedisServer& redis_;
};

class V1Redis : public testing::Test {
protected:
    V1Redis() {
        std::ofstream(folder_.file("nebis.yaml")) << "nebis:\n  idempotent:\n    datasources: {primary: {driver: "
                                                     "memory}}\n    lock: {driver: redis, address: "
                                                  << redis_.address() << "}\n    scope: public\n";
    }
    Ended nebis(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "v1");
        arguments.insert(arguments.end(), {"--config", folder_.file("nebis.yaml")});
        return Program(folder_.path(), std::move(arguments)).wait();
    }
    bool there(const std::string& name) const { return redis_.ask({"EXISTS", name}).integer == 1; }
    std::int64_t keys() const { return redis_.ask({"DBSIZE"}).integer; }

    /// One of each kind that must stay, whatever is cleaned.
    std::vector<std::string> others() const {
        redis_.ask({"SET", "idempotent:lock:{0011}", "ours", "PX", "60000"});
        redis_.ask({"SET", "idempotent:record:{0011}", "ours"});
        redis_.ask({"SET", "idempotent:lock:order-7", "version 2 of the article's"});
        redis_.ask({"SET", "idempotent:", "no trace id"});
        redis_.ask({"SET", "idempotent", "a word"});
        redis_.ask({"SET", "idempotentX:order-1", "another's"});
        redis_.ask({"SET", "prod:idempotent:order-1", "another environment's"});
        redis_.ask({"SET", "idempotent:idempotent:lock:{0011}", "ours, behind an odd prefix"});
        redis_.ask({"HSET", "idempotent:order-hash", "a", "1"});
        redis_.ask({"RPUSH", "idempotent:order-list", "a"});
        redis_.ask({"SADD", "idempotent:order-set", "a"});
        redis_.ask({"SET", "idempotent:order-8", "nebis:00112233", "PX", "60000"});  // of `v1-compat`
        redis_.ask({"SET", "idempotent:order-9", "nebis:done", "PX", "60000"});
        redis_.ask({"SET", "shop:cart:1", "business"});
        return {"idempotent:lock:{0011}",
                "idempotent:record:{0011}",
                "idempotent:lock:order-7",
                "idempotent:",
                "idempotent",
                "idempotentX:order-1",
                "prod:idempotent:order-1",
                "idempotent:idempotent:lock:{0011}",
                "idempotent:order-hash",
                "idempotent:order-list",
                "idempotent:order-set",
                "idempotent:order-8",
                "idempotent:order-9",
                "shop:cart:1"};
    }

    TemporaryFolder folder_;
    RedisServer redis_;
    FirstVersion v1_{redis_};
};

TEST_F(V1Redis, S40_scan_counts_by_kind_and_changes_nothing) {
    EXPECT_EQ(nebis({"scan"}).out, "left behind: 0\nend by themselves: 0\nnot strings: 0\n");
    others();
    v1_.leave_behind("order-1");
    v1_.leave_behind("用户-2");
    ASSERT_TRUE(v1_.try_lock("order-3", "r", 50));
    const auto before = keys();
    const Ended scanned = nebis({"scan"});
    EXPECT_EQ(scanned.code, 0);
    EXPECT_EQ(scanned.out, "left behind: 2\nend by themselves: 1\nnot strings: 3\n");
    EXPECT_EQ(nebis({"scan", "--json"}).out, "{\"left_behind\":2,\"end_by_themselves\":1,\"not_strings\":3}\n");
    EXPECT_EQ(keys(), before);
}

TEST_F(V1Redis, S40_a_list_shows_no_key) {
    v1_.leave_behind("alice@example.com");
    v1_.try_lock("bob@example.com", "r", 50);
    for (const Ended& listed : {nebis({"scan", "--list"}), nebis({"scan", "--list", "--json"})}) {
        EXPECT_EQ(listed.code, 0);
        EXPECT_THAT(listed.out, HasSubstr("left behind"));
        EXPECT_THAT(listed.out, HasSubstr("ends by itself"));
        EXPECT_THAT(listed.out + listed.err, Not(HasSubstr("example.com")));
    }
}

TEST_F(V1Redis, S40_clean_is_a_dry_run_until_the_number_is_accepted) {
    const auto kept = others();
    v1_.leave_behind("order-1");
    v1_.leave_behind("order-2");
    v1_.try_lock("order-3", "r", 50);
    const auto before = keys();
    for (const auto& arguments : std::vector<std::vector<std::string>>{{"clean"}, {"clean", "--delete", "1"}}) {
        const Ended refused = nebis(arguments);
        EXPECT_EQ(refused.code, 4);
        EXPECT_EQ(refused.out, "would delete: 2\n");
        EXPECT_THAT(refused.err, HasSubstr("--delete 2"));
        EXPECT_EQ(keys(), before);
    }
    const Ended cleaned = nebis({"clean", "--delete", "2"});
    EXPECT_EQ(cleaned.code, 0);
    EXPECT_EQ(cleaned.out, "deleted: 2\n");
    EXPECT_FALSE(there("idempotent:order-1") || there("idempotent:order-2"));
    EXPECT_TRUE(there("idempotent:order-3")) << "version 1 may be at work on it";
    EXPECT_EQ(keys(), before - 2);
    for (const auto& name : kept) EXPECT_TRUE(there(name)) << name;
    EXPECT_EQ(nebis({"clean"}).out, "deleted: 0\n");
}

TEST_F(V1Redis, S40_locks_that_end_by_themselves_go_only_when_no_version_1_runs) {
    const auto kept = others();
    v1_.leave_behind("order-1");
    v1_.try_lock("order-3", "r", 50);
    EXPECT_EQ(nebis({"clean", "--no-v1-runs"}).out, "would delete: 2\n");
    EXPECT_EQ(nebis({"clean", "--no-v1-runs", "--delete", "2"}).out, "deleted: 2\n");
    EXPECT_FALSE(there("idempotent:order-1") || there("idempotent:order-3"));
    for (const auto& name : kept) EXPECT_TRUE(there(name)) << name;
}

TEST_F(V1Redis, S40_many_pages_and_never_more_than_accepted) {
    std::vector<std::string> many{"MSET"};
    for (int i = 0; i < 3'000; ++i) many.insert(many.end(), {"idempotent:order-" + std::to_string(i), "r"});
    redis_.ask(many);
    many.assign({"MSET"});
    for (int i = 0; i < 3'000; ++i) many.insert(many.end(), {"shop:" + std::to_string(i), "r"});
    redis_.ask(many);
    EXPECT_EQ(nebis({"scan"}).out, "left behind: 3000\nend by themselves: 0\nnot strings: 0\n");

    redis::Options options;
    options.addresses = {redis_.address()};
    redis::V1Options some;
    some.most = 1'234;
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    EXPECT_EQ(redis::v1_clean(options, some, deadline).value().deleted, 1'234U);
    EXPECT_EQ(keys(), 6'000 - 1'234);
    EXPECT_EQ(nebis({"clean", "--delete", "3000"}).out, "deleted: 1766\n");
    EXPECT_EQ(keys(), 3'000);
}

TEST_F(V1Redis, S40_a_lock_that_turned_into_something_else_after_the_scan_stays) {
    v1_.leave_behind("order-1");
    v1_.leave_behind("order-2");
    v1_.leave_behind("order-3");
    // Between scan and clean: one is locked again, one becomes a hash, one stays as it was.
    redis_.ask({"EXPIRE", "idempotent:order-1", "50"});
    redis_.ask({"DEL", "idempotent:order-2"});
    redis_.ask({"HSET", "idempotent:order-2", "a", "1"});
    redis::Options options;
    options.addresses = {redis_.address()};
    const auto cleaned = redis::v1_clean(options, {}, std::chrono::steady_clock::now() + std::chrono::seconds(10));
    EXPECT_EQ(cleaned.value().deleted, 1U);
    EXPECT_TRUE(there("idempotent:order-1") && there("idempotent:order-2"));
    EXPECT_FALSE(there("idempotent:order-3"));
}

TEST_F(V1Redis, what_is_wrong_is_said_and_has_its_exit_code) {
    redis_.kill();
    EXPECT_EQ(nebis({"scan"}).code, 6);
    EXPECT_EQ(nebis({"clean", "--delete", "9"}).code, 6);
    const Ended local = nebis({"scan", "--set", "lock.driver=local"});
    EXPECT_EQ(local.code, 5);
    EXPECT_THAT(local.err, HasSubstr("lock.address"));
    EXPECT_EQ(nebis({"wipe"}).code, 2);
    EXPECT_EQ(nebis({"scan", "--delete", "3"}).code, 2);
    EXPECT_EQ(Program(folder_.path(), {"v1", "scan", "--config", "/nowhere.yaml"}).wait().code, 5);
    EXPECT_THAT(Program(folder_.path(), {"v1", "--help"}).wait().out, StartsWith("Examples:"));
}

TEST_F(V1Redis, a_Redis_that_hangs_is_given_up_in_time) {
    v1_.leave_behind("order-1");
    redis_.pause();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(nebis({"scan", "--timeout-seconds", "1"}).code, 6);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    redis_.resume();
}

}  // namespace
