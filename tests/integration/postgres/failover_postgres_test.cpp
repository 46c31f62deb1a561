// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

// A primary that dies and a replica that takes its place, below instances that know both addresses.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::ForeignSession;
using nebis::test::Server;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string primary = "postgres-replicated-primary", replica = "postgres-replicated-replica";

struct Instance {
    Engine engine;
    Operation operation;
};

class PostgresFailover : public testing::Test {
protected:
    Server servers{"postgres-replicated", true};

    Instance instance() const {
        postgres::Options options;
        options.addresses = {servers.address(primary), servers.address(replica)};
        options.username = "app";
        options.create_schema = true;
        options.connect_timeout = seconds(10);
        Engine::Parts parts;
        parts.store = postgres::store(std::move(options));
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        Operation operation = engine.operation({.operation = "order", .key = header("Idempotency-Key")}).value();
        return {std::move(engine), std::move(operation)};
    }

    static Answer run(const Instance& at, const std::string& key, const Handler& handler) {
        Request request;
        request.method = "POST";
        request.path = "/orders";
        request.headers = {{"Idempotency-Key", key}};
        return at.engine.run(at.operation, request, handler);
    }

    void fail_over() {
        servers.kill(primary);
        ForeignSession(servers.address(replica)).run("SELECT pg_promote()");
    }
};

TEST_F(PostgresFailover, fault_29_to_a_synchronous_replica_loses_no_answer_and_runs_no_key_twice) {
    constexpr std::size_t clients = 8;
    const Instance one = instance(), two = instance();
    std::mutex mutex;
    std::map<std::string, int> runs;
    std::map<std::string, std::string> answers;  // that a client was given, recorded
    std::atomic<bool> over{false};
    std::atomic<int> before{0}, after{0};
    std::atomic<bool> failed_over{false};
    {
        std::vector<std::jthread> all;
        for (std::size_t client = 0; client < clients; ++client)
            all.emplace_back([&, client] {
                // Two clients ask for each key, at different instances.
                for (int n = 0; !over; ++n) {
                    const std::string key = std::to_string(client / 2) + "/" + std::to_string(n);
                    const Handler handler([&, key](const Request&, Execution&) {
                        const std::lock_guard lock(mutex);
                        return Response{201, {}, key + " run " + std::to_string(++runs[key]), false};
                    });
                    const Answer answer = run(client % 2 ? one : two, key, handler);
                    if (!answer.recorded || (answer.outcome != Outcome::fresh && answer.outcome != Outcome::replayed))
                        continue;
                    ++(failed_over ? after : before);
                    const std::lock_guard lock(mutex);
                    EXPECT_EQ(answers.try_emplace(key, answer.response.body).first->second, answer.response.body);
                }
            });
        EXPECT_TRUE(eventually([&] { return before >= 200; }));
        fail_over();
        failed_over = true;
        EXPECT_TRUE(eventually([&] { return after >= 200; })) << "they work on the promoted server";
        over = true;
    }
    for (const auto& [key, count] : runs) EXPECT_EQ(count, 1) << key;
    // An instance that has seen none of it.
    const Instance fresh = instance();
    std::atomic<int> again{0};
    const Handler never([&](const Request&, Execution&) {
        ++again;
        return Response{201, {}, "a second run", false};
    });
    for (const auto& [key, body] : answers) {
        const Answer answer = run(fresh, key, never);
        EXPECT_EQ(answer.outcome, Outcome::replayed) << key;
        EXPECT_EQ(answer.response.body, body);
    }
    EXPECT_EQ(again, 0);
}

// docs/guarantees.md says so: what only the dead primary had is forgotten, and runs again.
TEST_F(PostgresFailover, fault_29_to_a_replica_that_lagged_forgets_what_only_the_primary_had) {
    const Instance at = instance();
    std::atomic<int> runs{0};
    const Handler counting([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    ASSERT_EQ(run(at, "kept", counting).outcome, Outcome::fresh);
    ForeignSession session(servers.address(primary));
    session.run("ALTER SYSTEM SET synchronous_standby_names = ''");
    session.run("SELECT pg_reload_conf()");
    ASSERT_TRUE(eventually([&] { return session.run("SHOW synchronous_standby_names").empty(); }));
    servers.kill(replica);
    const Answer lost = run(at, "lost", counting);
    ASSERT_EQ(lost.outcome, Outcome::fresh);
    EXPECT_TRUE(lost.recorded);
    servers.kill(primary);
    servers.start(replica);
    ForeignSession(servers.address(replica)).run("SELECT pg_promote()");

    const auto answered = [](const Answer& answer) {
        return answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed;
    };
    Answer kept, again;
    EXPECT_TRUE(eventually([&] { return answered(kept = run(at, "kept", counting)); }));
    EXPECT_EQ(kept.outcome, Outcome::replayed);
    EXPECT_TRUE(eventually([&] { return answered(again = run(at, "lost", counting)); }));
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(runs, 3) << "its record died with the primary";
}

}  // namespace
