// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "nebis/redis.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/testing.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

// Two instances, one Redis in front, one record table behind.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::RedisServer;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "nebis-engine-redis-XXXXXX").string();
    Folder() {
        if (!::mkdtemp(path.data())) throw std::runtime_error("no folder");
    }
    ~Folder() { std::filesystem::remove_all(path); }
};

Request request_with(const std::string& key) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.headers = {{"Idempotency-Key", key}};
    request.body = R"({"amount":"1"})";
    return request;
}

/// A store that counts what is asked of it.
class CountingStore final : public Store {
public:
    explicit CountingStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}
    std::string_view name() const noexcept override { return inner_->name(); }
    StoreTraits traits() const noexcept override { return inner_->traits(); }
    Result<void> verify(Deadline d) override { return inner_->verify(d); }
    Result<void> create_schema(Deadline d) override { return inner_->create_schema(d); }
    bool wait_for_change(Deadline d) override { return inner_->wait_for_change(d); }
    Result<std::unique_ptr<StoreSession>> open(Deadline d) override {
        auto opened = inner_->open(d);
        if (!opened) return std::move(opened).error();
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(*std::move(opened), calls_));
    }
    int calls() const { return calls_->load(); }

private:
    using Calls = std::shared_ptr<std::atomic<int>>;
    class Session final : public StoreSession {
    public:
        Session(std::unique_ptr<StoreSession> inner, Calls calls)
            : inner_(std::move(inner)), calls_(std::move(calls)) {}
        void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline d) override {
            ++*calls_, inner_->begin(in, out, d);
        }
        void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
            ++*calls_, inner_->finish(in, out, d);
        }
        void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline d) override {
            inner_->renew(in, out, d);
        }
        void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline d) override {
            ++*calls_, inner_->find(in, out, d);
        }
        Result<std::vector<Record>> recover(const RecoverRequest& r, Deadline d) override {
            return inner_->recover(r, d);
        }
        Result<std::size_t> clean(const CleanRequest& r, Deadline d) override { return inner_->clean(r, d); }
        Result<bool> purge(std::string_view id, std::uint64_t v, Deadline d) override {
            return inner_->purge(id, v, d);
        }
        Result<StoreMillis> now(Deadline d) override { return inner_->now(d); }
        Result<std::string> key_rule(std::string_view o, std::string_view g, bool a, Deadline d) override {
            return inner_->key_rule(o, g, a, d);
        }

    private:
        std::unique_ptr<StoreSession> inner_;
        Calls calls_;
    };
    std::shared_ptr<Store> inner_;
    Calls calls_ = std::make_shared<std::atomic<int>>(0);
};

/// One instance of a service.
struct Instance {
    std::shared_ptr<CountingStore> store;
    Engine engine;
    Operation operation;
};

class Service {
public:
    Instance instance(Policy policy = {}) {
        auto raw = sqlite::store(sqlite_options());
        raw->create_schema(std::chrono::steady_clock::now() + seconds(20)).value();
        auto store = std::make_shared<CountingStore>(std::move(raw));
        Engine::Parts parts;
        parts.store = store;
        redis::Options with;
        with.addresses = {redis_.address()};
        parts.gate = redis::gate(with).value();
        // No results of the process's own: what replays comes from Redis or the table.
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        Operation operation = engine.operation(policy).value();
        return {store, std::move(engine), std::move(operation)};
    }
    RedisServer& redis() { return redis_; }

private:
    sqlite::Options sqlite_options() const {
        sqlite::Options options;
        options.path = folder_.path + "/records.db";
        return options;
    }

    Folder folder_;
    RedisServer redis_;
};

bool has_result(RedisServer& redis) { return !redis.ask({"KEYS", "idempotent:record:*"}).elements.empty(); }

TEST(RedisEngine, S29_a_duplicate_replays_from_Redis_without_touching_the_store) {
    Service service;
    Instance one = service.instance(), two = service.instance();
    const Handler handler([](const Request&, Execution&) { return Response{201, {}, "made", false}; });
    ASSERT_EQ(one.engine.run(one.operation, request_with("k"), handler).outcome, Outcome::fresh);
    ASSERT_TRUE(eventually([&] { return has_result(service.redis()); })) << "the leave isn't waited for";
    const int before = two.store->calls();
    const Answer again = two.engine.run(two.operation, request_with("k"), handler);
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response.body, "made");
    EXPECT_EQ(two.store->calls(), before);
    EXPECT_NE(two.engine.metrics().find(R"(nebis_result_cache_total{cache="gate",result="hit"} 1)"), std::string::npos);
}

TEST(RedisEngine, fault_22_after_FLUSHALL_nothing_runs_twice) {
    Service service;
    Instance one = service.instance(), two = service.instance();
    std::atomic<int> runs{0};
    const Handler handler([&](const Request&, Execution&) {
        ++runs;
        return Response{201, {}, "made", false};
    });
    ASSERT_EQ(one.engine.run(one.operation, request_with("k"), handler).outcome, Outcome::fresh);
    service.redis().ask({"FLUSHALL"});
    EXPECT_EQ(two.engine.run(two.operation, request_with("k"), handler).outcome, Outcome::replayed);
    EXPECT_EQ(runs, 1);

    // In mid-flight: the lock is gone while its owner works.
    const Handler flushing([&](const Request&, Execution&) {
        service.redis().ask({"FLUSHALL"});
        EXPECT_EQ(two.engine.run(two.operation, request_with("mid"), handler).outcome, Outcome::in_progress);
        return Response{201, {}, "mid", false};
    });
    ASSERT_EQ(one.engine.run(one.operation, request_with("mid"), flushing).outcome, Outcome::fresh);
    EXPECT_EQ(two.engine.run(two.operation, request_with("mid"), handler).response.body, "mid");
    EXPECT_EQ(runs, 1);
}

TEST(RedisEngine, S27_fault_19_a_Redis_that_dies_under_load_doubles_nothing_and_delays_nobody_for_long) {
    Service service;
    std::vector<Instance> instances;
    instances.push_back(service.instance());
    instances.push_back(service.instance());
    constexpr int keys = 300, callers = 4;
    std::array<std::atomic<int>, keys> runs{};
    std::atomic<int> next{0}, answered{0}, lost{0};
    std::atomic<std::int64_t> slowest{0};
    std::vector<std::thread> threads;
    for (int caller = 0; caller < callers; ++caller)
        threads.emplace_back([&, caller] {
            for (int turn = next++; turn < keys * 3; turn = next++) {
                const int key = turn / 3;
                const Instance& at = instances[static_cast<std::size_t>(turn + caller) % 2];
                const auto started = std::chrono::steady_clock::now();
                const Answer answer = at.engine.run(at.operation, request_with("k" + std::to_string(key)),
                                                    Handler([&](const Request&, Execution&) {
                                                        ++runs[static_cast<std::size_t>(key)];
                                                        return Response{201, {}, std::to_string(key), false};
                                                    }));
                const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started);
                for (auto seen = slowest.load();
                     seen < took.count() && !slowest.compare_exchange_weak(seen, took.count());)
                    ;
                if (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed)
                    ++answered;
                else if (answer.outcome != Outcome::in_progress)
                    ++lost;
            }
        });
    eventually([&] { return next > keys / 2; });
    service.redis().kill();
    eventually([&] { return next > keys; });
    service.redis().start();
    eventually([&] { return next > keys + keys / 2; });
    service.redis().pause();
    eventually([&] { return next > keys * 2; });
    service.redis().resume();
    for (auto& thread : threads) thread.join();
    for (int key = 0; key < keys; ++key) EXPECT_EQ(runs[static_cast<std::size_t>(key)], 1) << key;
    EXPECT_EQ(lost, 0) << "fail-open: the table does the work";
    EXPECT_GE(answered, keys);
    EXPECT_LT(slowest, 20'000);
    RecordProperty("slowest_millis", std::to_string(slowest));
}

TEST(RedisEngine, S54_a_waiting_duplicate_of_another_instance_is_woken_by_a_message) {
    Service service;
    Policy waits;
    waits.on_duplicate = OnDuplicate::wait;
    waits.wait = seconds(20);
    Instance one = service.instance(waits), two = service.instance(waits);
    std::thread duplicate;
    Answer second;
    const Handler handler([&](const Request&, Execution&) {
        duplicate = std::thread([&] {
            second =
                two.engine.run(two.operation, request_with("k"), Handler([](const Request&, Execution&) -> Response {
                                   return {500, {}, "ran", false};
                               }));
        });
        EXPECT_TRUE(eventually([&] {
            const auto listeners = service.redis().ask({"PUBSUB", "NUMSUB", "idempotent:left"});
            return listeners.elements.at(1).integer >= 1;
        })) << "it listens while it waits";
        return Response{201, {}, "made", false};
    });
    const Answer first = one.engine.run(one.operation, request_with("k"), handler);
    duplicate.join();
    EXPECT_EQ(first.outcome, Outcome::fresh);
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(second.response.body, "made");
    EXPECT_TRUE(eventually([&] {
        return service.redis().ask({"PUBSUB", "NUMSUB", "idempotent:left"}).elements.at(1).integer == 0;
    })) << "and no longer than somebody waits";
}

TEST(RedisEngine, purge_drops_the_result_in_Redis_too) {
    Service service;
    Instance one = service.instance();
    std::atomic<int> runs{0};
    const Handler handler([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    const Answer first = one.engine.run(one.operation, request_with("k"), handler);
    ASSERT_EQ(first.outcome, Outcome::fresh);
    ASSERT_TRUE(eventually([&] { return has_result(service.redis()); }));
    ASSERT_TRUE(one.engine.purge(one.operation, request_with("k"), "test").value());
    EXPECT_FALSE(has_result(service.redis()));
    const Answer again = one.engine.run(one.operation, request_with("k"), handler);
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(again.response.body, "run 2");
}

}  // namespace
