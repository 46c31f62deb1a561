// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"
#include "support/redis_sentinels.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// A master that dies and a replica that Sentinels put in its place, below instances that know the Sentinels.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::Instance;
using nebis::test::is_final;
using nebis::test::Sentinels;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisStoreFailover : public testing::Test {
protected:
    redis::StoreOptions options(int wait_replicas) const {
        redis::StoreOptions made;
        made.servers = all.options();
        made.wait_replicas = wait_replicas;
        made.wait_timeout = milliseconds(1'000);
        return made;
    }
    /// The replica stays, without what comes from now on.
    void cut_off_the_replica() {
        all.replica().ask({"CONFIG", "SET", "masterauth", "wrong"});
        all.master().ask({"CLIENT", "KILL", "TYPE", "replica"});
        ASSERT_TRUE(eventually([&] {
            return all.master().ask({"INFO", "replication"}).text.find("connected_slaves:0") != std::string::npos;
        }));
    }
    void fail_over() {
        all.master().kill();
        ASSERT_TRUE(eventually([&] { return all.have_switched(); }, seconds(60)));
        ASSERT_EQ(all.replica().ask({"ROLE"}).elements[0].text, "master");
    }

    // A master that came back empty would empty its replica.
    Sentinels all{{"--appendonly", "yes", "--appendfsync", "always"}};
};

TEST_F(RedisStoreFailover, fault_24_with_wait_replicas_no_answer_is_lost_and_no_key_runs_twice) {
    constexpr std::size_t clients = 8;
    Policy policy;
    policy.lease = seconds(2);
    const Instance one(options(1), policy), two(options(1), policy);
    std::mutex mutex;
    std::map<std::string, int> runs;
    std::map<std::string, std::string> answers;  // that a client was given, recorded
    std::atomic<bool> over{false}, failed_over{false};
    std::atomic<int> before{0}, after{0};
    {
        std::vector<std::jthread> threads;
        for (std::size_t client = 0; client < clients; ++client)
            threads.emplace_back([&, client] {
                // Two clients ask for each key, at different instances.
                for (int n = 0; !over; ++n) {
                    const std::string key = std::to_string(client / 2) + "/" + std::to_string(n);
                    const Handler handler([&, key](const Request&, Execution&) {
                        const std::lock_guard lock(mutex);
                        return Response{201, {}, key + " run " + std::to_string(++runs[key]), false};
                    });
                    const Answer answer = (client % 2 != 0 ? one : two).run(key, handler);
                    if (!is_final(answer)) std::this_thread::sleep_for(milliseconds(5));
                    if (!is_final(answer) || !answer.recorded) continue;
                    ++(failed_over ? after : before);
                    const std::lock_guard lock(mutex);
                    EXPECT_EQ(answers.try_emplace(key, answer.response.body).first->second, answer.response.body);
                }
            });
        EXPECT_TRUE(eventually([&] { return before >= 200; }));
        // What only the master has from now on must not be told: its replica is gone for a moment before it dies.
        cut_off_the_replica();
        std::this_thread::sleep_for(milliseconds(300));
        fail_over();
        // The promoted one has no replica yet, so nothing counts as recorded until the old master follows it.
        failed_over = true;
        all.replica().ask({"CONFIG", "SET", "masterauth", ""});
        all.master().start();
        EXPECT_TRUE(eventually([&] { return after >= 200; }, seconds(90))) << "they work on the promoted one";
        over = true;
    }
    for (const auto& [key, count] : runs) EXPECT_EQ(count, 1) << key;
    const Instance fresh(options(1), policy);
    std::atomic<int> again{0};
    const Handler never([&](const Request&, Execution&) {
        ++again;
        return Response{500, {}, "a second run", false};
    });
    for (const auto& [key, body] : answers) {
        Answer answer;
        EXPECT_TRUE(eventually([&] { return is_final(answer = fresh.run(key, never)); })) << key;
        EXPECT_EQ(answer.outcome, Outcome::replayed) << key;
        EXPECT_EQ(answer.response.body, body);
    }
    EXPECT_EQ(again, 0);
    std::cout << "recorded answers before the failover: " << before << ", after it: " << after
              << ", keys: " << answers.size() << ", run again: " << again << '\n';
}

// docs/guarantees.md says so: what only the dead master had is forgotten, and runs again.
TEST_F(RedisStoreFailover, fault_24_without_wait_replicas_what_only_the_master_had_is_forgotten) {
    const Instance at(options(0));
    std::atomic<int> runs{0};
    const Handler counting([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    ASSERT_EQ(at.run("kept", counting).outcome, Outcome::fresh);
    ASSERT_EQ(all.master().ask({"WAIT", "1", "20000"}).integer, 1) << "the replica has that";
    cut_off_the_replica();
    const Answer lost = at.run("lost", counting);
    ASSERT_EQ(lost.outcome, Outcome::fresh);
    EXPECT_TRUE(lost.recorded) << "told as done, though only the master has it";
    fail_over();
    Answer kept, again;
    EXPECT_TRUE(eventually([&] { return is_final(kept = at.run("kept", counting)); }, seconds(60)));
    EXPECT_EQ(kept.outcome, Outcome::replayed);
    EXPECT_EQ(kept.response.body, "run 1");
    EXPECT_TRUE(eventually([&] { return is_final(again = at.run("lost", counting)); }));
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(again.response.body, "run 3") << "its record died with the master";
    EXPECT_GT(again.fencing_token, lost.fencing_token);
    EXPECT_EQ(runs, 3);
}

}  // namespace
