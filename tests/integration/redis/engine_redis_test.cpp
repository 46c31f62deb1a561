// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"
#include "nebis/redis.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/testing.hpp"
#include "support/order_request.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

// Two instances, one Redis in front, one record table behind.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::order_request;
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

/// A store that counts what is asked of it and, when deaf, never hears of a change.
class CountingStore final : public Store {
public:
    explicit CountingStore(std::shared_ptr<Store> inner, bool deaf) : inner_(std::move(inner)), deaf_(deaf) {}
    std::string_view name() const noexcept override { return inner_->name(); }
    StoreTraits traits() const noexcept override { return inner_->traits(); }
    Result<void> verify(Deadline d) override { return inner_->verify(d); }
    Result<void> create_schema(Deadline d) override { return inner_->create_schema(d); }
    bool wait_for_change(Deadline d) override {
        if (!deaf_) return inner_->wait_for_change(d);
        std::this_thread::sleep_until(d);
        return false;
    }
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
    bool deaf_;
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
    Instance instance(Policy policy = {}, bool deaf = false) {
        auto raw = sqlite::store(sqlite_options());
        raw->create_schema(std::chrono::steady_clock::now() + seconds(20)).value();
        auto store = std::make_shared<CountingStore>(std::move(raw), deaf);
        Engine::Parts parts;
        parts.store = store;
        redis::Options with;
        with.addresses = {redis_.address()};
        parts.gate = redis::gate(with).value();
        // No results of the process's own: what replays comes from Redis or the table.
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0, breaker: { open-millis: 50 } } }";
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
    ASSERT_EQ(one.engine.run(one.operation, order_request("k"), handler).outcome, Outcome::fresh);
    ASSERT_TRUE(eventually([&] { return has_result(service.redis()); })) << "the leave isn't waited for";
    const int before = two.store->calls();
    const Answer again = two.engine.run(two.operation, order_request("k"), handler);
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
    ASSERT_EQ(one.engine.run(one.operation, order_request("k"), handler).outcome, Outcome::fresh);
    service.redis().ask({"FLUSHALL"});
    EXPECT_EQ(two.engine.run(two.operation, order_request("k"), handler).outcome, Outcome::replayed);
    EXPECT_EQ(runs, 1);

    // In mid-flight: the lock is gone while its owner works.
    const Handler flushing([&](const Request&, Execution&) {
        service.redis().ask({"FLUSHALL"});
        EXPECT_EQ(two.engine.run(two.operation, order_request("mid"), handler).outcome, Outcome::in_progress);
        return Response{201, {}, "mid", false};
    });
    ASSERT_EQ(one.engine.run(one.operation, order_request("mid"), flushing).outcome, Outcome::fresh);
    EXPECT_EQ(two.engine.run(two.operation, order_request("mid"), handler).response.body, "mid");
    EXPECT_EQ(runs, 1);
}

/// Callers that send every request three times, to one instance or the other.
class Load {
public:
    Load(const Instance& one, const Instance& two) {
        for (unsigned caller = 0; caller < 4; ++caller)
            threads_.emplace_back([&, caller] {
                for (unsigned turn = next_++; !stopping_ && turn < keys * 3; turn = next_++)
                    send((turn + caller) % 2 == 0 ? one : two, turn / 3);
            });
    }
    ~Load() { stop(); }
    void stop() {
        stopping_ = true;
        for (auto& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    /// True once as many more have been answered.
    bool answers(int more) {
        const int before = answered_;
        return eventually([&] { return answered_ >= before + more; });
    }
    int lost() const { return lost_; }
    int doubled() const {
        return static_cast<int>(std::ranges::count_if(runs_, [](const auto& runs) { return runs > 1; }));
    }
    milliseconds slowest() const { return milliseconds(slowest_); }

private:
    static constexpr unsigned keys = 200'000;

    void send(const Instance& at, unsigned key) {
        const auto started = std::chrono::steady_clock::now();
        const Answer answer = at.engine.run(at.operation, order_request("k" + std::to_string(key)),
                                            Handler([&](const Request&, Execution&) {
                                                ++runs_[key];
                                                return Response{201, {}, std::to_string(key), false};
                                            }));
        const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started).count();
        for (auto seen = slowest_.load(); seen < took && !slowest_.compare_exchange_weak(seen, took);) {}
        const bool held = answer.outcome == Outcome::in_progress;
        if (answer.outcome != Outcome::fresh && answer.outcome != Outcome::replayed && !held) ++lost_;
        if (!held) ++answered_;
    }

    std::vector<std::atomic<int>> runs_ = std::vector<std::atomic<int>>(keys);
    std::atomic<unsigned> next_{0};
    std::atomic<int> answered_{0}, lost_{0};
    std::atomic<std::int64_t> slowest_{0};
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

TEST(RedisEngine, S27_faults_19_20_21_a_Redis_that_dies_and_hangs_under_load_doubles_nothing_and_blocks_nobody) {
    Service service;
    const Instance one = service.instance(), two = service.instance();
    Load load(one, two);
    const auto is_used = [&] { return eventually([&] { return has_result(service.redis()); }); };
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(is_used()) << "round " << round;
        ASSERT_TRUE(load.answers(50));
        service.redis().kill();
        EXPECT_TRUE(load.answers(200)) << "killed";
        service.redis().start();  // empty
        ASSERT_TRUE(is_used());
        service.redis().pause();
        EXPECT_TRUE(load.answers(200)) << "paused";
        service.redis().resume();
        service.redis().ask({"FLUSHALL"});
    }
    load.stop();
    EXPECT_EQ(load.doubled(), 0);
    EXPECT_EQ(load.lost(), 0) << "fail-open: the table does the work";
    // The budget is three seconds, of which the lock service has a quarter of a second at most.
    EXPECT_LT(load.slowest(), seconds(10));
    RecordProperty("slowest_millis", std::to_string(load.slowest().count()));
}

Policy waiting() {
    Policy policy;
    policy.on_duplicate = OnDuplicate::wait;
    policy.wait = seconds(20);
    return policy;
}

std::int64_t listeners(RedisServer& redis) {
    return redis.ask({"PUBSUB", "NUMSUB", "idempotent:left"}).elements.at(1).integer;
}

/// A duplicate that waits at another instance while `meanwhile` goes on in the handler; how late it was answered.
std::chrono::nanoseconds late_by(const Instance& owner, const Instance& other, const std::string& key,
                                 const std::function<void()>& meanwhile) {
    std::thread duplicate;
    Answer second;
    std::chrono::steady_clock::time_point answered;
    const Answer first = owner.engine.run(
        owner.operation, order_request(key), Handler([&](const Request&, Execution&) {
            duplicate = std::thread([&] {
                second = other.engine.run(other.operation, order_request(key),
                                          Handler([](const Request&, Execution&) -> Response {
                                              return {500, {}, "ran", false};
                                          }));
                answered = std::chrono::steady_clock::now();
            });
            EXPECT_TRUE(eventually([&] {
                return other.engine.metrics().find(R"(nebis_waiting_duplicates{operation="order"} 1)") !=
                       std::string::npos;
            }));
            meanwhile();
            return Response{201, {}, key, false};
        }));
    const auto finished = std::chrono::steady_clock::now();
    duplicate.join();
    EXPECT_EQ(first.outcome, Outcome::fresh);
    EXPECT_EQ(second.outcome, Outcome::replayed);
    EXPECT_EQ(second.response.body, key);
    return answered - finished;
}

TEST(RedisEngine, S54_a_waiting_duplicate_of_another_instance_is_woken_by_a_message) {
    // The store tells nothing, and without a message the duplicate looks after a quarter of a second.
    constexpr auto shortest_poll = milliseconds(250);
    constexpr int rounds = 11;
    Service service;
    const Instance one = service.instance(waiting(), true), two = service.instance(waiting(), true);
    std::vector<std::chrono::nanoseconds> late;
    for (int round = 0; round < rounds; ++round)
        late.push_back(late_by(one, two, "k" + std::to_string(round), [&] {
            EXPECT_TRUE(eventually([&] { return listeners(service.redis()) == 1; })) << "it listens while it waits";
        }));
    std::sort(late.begin(), late.end());
    RecordProperty("median_micros", std::to_string(late[rounds / 2].count() / 1000));
    EXPECT_LT(late[rounds / 2], shortest_poll / 2);
    EXPECT_TRUE(eventually([&] { return listeners(service.redis()) == 0; })) << "and no longer than somebody waits";
}

TEST(RedisEngine, S54_without_a_message_the_duplicate_finds_out_by_itself) {
    Service service;
    const Instance one = service.instance(waiting()), two = service.instance(waiting());
    late_by(one, two, "flushed", [&] { service.redis().ask({"FLUSHALL"}); });  // no lock, no message
    late_by(one, two, "killed", [&] { service.redis().kill(); });
}

TEST(RedisEngine, fault_18_a_Redis_that_is_down_at_the_start_stops_nobody) {
    Service service;
    service.redis().kill();
    const Instance one = service.instance(), two = service.instance();
    std::atomic<int> runs{0};
    const Handler handler([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) {
        const std::string key = "k" + std::to_string(i);
        EXPECT_EQ(one.engine.run(one.operation, order_request(key), handler).outcome, Outcome::fresh);
        EXPECT_EQ(two.engine.run(two.operation, order_request(key), handler).outcome, Outcome::replayed);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(20));
    EXPECT_EQ(runs, 20);
    service.redis().start();
    EXPECT_TRUE(eventually([&] {
        (void)one.engine.run(one.operation, order_request("again" + std::to_string(runs)), handler);
        return has_result(service.redis());
    })) << "and is used as soon as it is there";
}

TEST(RedisEngine, purge_drops_the_result_in_Redis_too) {
    Service service;
    Instance one = service.instance();
    std::atomic<int> runs{0};
    const Handler handler([&](const Request&, Execution&) {
        return Response{201, {}, "run " + std::to_string(++runs), false};
    });
    const Answer first = one.engine.run(one.operation, order_request("k"), handler);
    ASSERT_EQ(first.outcome, Outcome::fresh);
    ASSERT_TRUE(eventually([&] { return has_result(service.redis()); }));
    ASSERT_TRUE(one.engine.purge(one.operation, order_request("k"), "test").value());
    EXPECT_FALSE(has_result(service.redis()));
    const Answer again = one.engine.run(one.operation, order_request("k"), handler);
    EXPECT_EQ(again.outcome, Outcome::fresh);
    EXPECT_EQ(again.response.body, "run 2");
}

}  // namespace
