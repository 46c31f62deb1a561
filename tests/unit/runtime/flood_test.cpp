// SPDX-License-Identifier: Apache-2.0
#include "faulty_store.hpp"
#include "runtime/caller_quota.hpp"
#include "runtime/seen_keys.hpp"
#include "support.hpp"
#include "support/eventually.hpp"

#include <map>
#include <thread>

// Floods of new keys: the filter in front of the gate (S30), the quota of each caller (S59). Neither may ever let a
// duplicate through.
namespace nebis {
namespace {

using namespace testkit;
using namespace std::chrono_literals;
using runtime::CallerQuota;
using runtime::SeenKeys;
using std::chrono::milliseconds;

std::string key(int number) { return "key-" + std::to_string(number); }
bool met(SeenKeys& seen, const std::string& key) { return seen.meet(runtime::TraceKey(key)); }

// ---- the filter by itself

TEST(SeenKeys, S30_what_was_met_is_known_and_what_was_not_is_mostly_not) {
    SeenKeys seen(100'000);
    ASSERT_TRUE(seen.ready());
    int wrong = 0;
    for (int i = 0; i < 90'000; ++i) wrong += met(seen, key(i)) ? 1 : 0;
    for (int i = 0; i < 90'000; ++i) ASSERT_TRUE(met(seen, key(i))) << i;
    EXPECT_LT(wrong, 2'000);  // one in a hundred when full
}

TEST(SeenKeys, S30_memory_is_bounded_whatever_comes_and_a_full_one_does_not_become_useless) {
    SeenKeys seen(8'000);
    const std::size_t before = seen.bytes();
    EXPECT_LT(before, 24'000U);
    for (int i = 0; i < 200'000; ++i) met(seen, key(i));
    EXPECT_EQ(seen.bytes(), before);
    int wrong = 0;
    for (int i = 0; i < 10'000; ++i) wrong += met(seen, "other-" + std::to_string(i)) ? 1 : 0;
    EXPECT_LT(wrong, 500);
    EXPECT_FALSE(met(seen, key(1))) << "long forgotten";
    EXPECT_TRUE(met(seen, key(1)));
}

TEST(SeenKeys, S30_many_threads_meet_at_once) {
    SeenKeys seen(50'000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&seen, t] {
            for (int i = 0; i < 5'000; ++i) met(seen, key(t * 5'000 + i));
        });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(met(seen, key(i)));
}

// ---- the quota by itself

TEST(CallerQuota, S59_so_many_at_once_then_evenly) {
    CallerQuota quota(100);
    const auto alice = CallerQuota::caller("pay", "shop", "alice");
    const CallerQuota::Terms terms{10, 1'000ms};
    const CallerQuota::Clock::time_point start{1h};
    for (int i = 0; i < 10; ++i) EXPECT_EQ(quota.take(alice, terms, start), 0ms) << i;
    EXPECT_EQ(quota.take(alice, terms, start), 100ms);
    EXPECT_EQ(quota.take(alice, terms, start + 99ms), 1ms);
    EXPECT_EQ(quota.take(alice, terms, start + 100ms), 0ms);
    EXPECT_EQ(quota.take(alice, terms, start + 100ms), 100ms);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(quota.take(alice, terms, start + 5s), 0ms) << "all of it is back, not more";
    EXPECT_GT(quota.take(alice, terms, start + 5s), 0ms);
    quota.give_back(alice, terms);
    EXPECT_EQ(quota.take(alice, terms, start + 5s), 0ms);
    quota.count(alice, terms, start + 5s);
    EXPECT_EQ(quota.take(alice, terms, start + 5s), 200ms);
}

TEST(CallerQuota, S59_callers_tenants_and_operations_have_their_own) {
    const std::vector<CallerQuota::Caller> all{
        CallerQuota::caller("pay", "shop", "alice"), CallerQuota::caller("pay", "shop", "bob"),
        CallerQuota::caller("pay", "sho", "palice"), CallerQuota::caller("refund", "shop", "alice"),
        CallerQuota::caller("pay", "", "alice"),     CallerQuota::caller("pay", "alice", "")};
    CallerQuota quota(100);
    for (const auto& one : all) EXPECT_EQ(quota.take(one, {1, 1'000ms}, CallerQuota::Clock::time_point{1h}), 0ms);
    for (const auto& one : all) EXPECT_GT(quota.take(one, {1, 1'000ms}, CallerQuota::Clock::time_point{1h}), 0ms);
}

TEST(CallerQuota, S59_memory_is_bounded_and_whoever_keeps_coming_is_not_forgotten) {
    CallerQuota quota(100);
    const CallerQuota::Terms terms{1, 3'600'000ms};
    const CallerQuota::Clock::time_point now{1h};
    const auto flooder = CallerQuota::caller("pay", "", "flooder");
    EXPECT_EQ(quota.take(flooder, terms, now), 0ms);
    for (int i = 0; i < 10'000; ++i) {
        quota.take(CallerQuota::caller("pay", "", key(i)), terms, now);
        EXPECT_GT(quota.take(flooder, terms, now), 0ms);
        ASSERT_LE(quota.callers(), 100U);
    }
}

// ---- in an engine

/// Locks in memory that pass for a service's, and are counted.
class CountedLock final : public Lock {
public:
    std::string_view name() const noexcept override { return "counted"; }
    Result<std::int64_t> acquire(std::string_view name, const Owner& owner, std::int64_t, Deadline) override {
        const std::lock_guard lock(mutex_);
        ++asked;
        const auto [at, fresh] = held_.emplace(std::string(name), owner);
        return std::int64_t{fresh || at->second == owner ? 0 : 1'000};
    }
    Result<bool> renew(std::string_view, const Owner&, std::int64_t, Deadline) override { return true; }
    Result<bool> release(std::string_view name, const Owner& owner, Deadline) override {
        const std::lock_guard lock(mutex_);
        const auto at = held_.find(name);
        if (at == held_.end() || at->second != owner) return false;
        held_.erase(at);
        return true;
    }
    std::atomic<int> asked{0};

private:
    std::mutex mutex_;
    std::map<std::string, Owner, std::less<>> held_;
};

struct Fleet {
    std::shared_ptr<Store> store = memory::store();
    std::shared_ptr<CountedLock> lock = std::make_shared<CountedLock>();

    Engine instance(const std::string& settings = "limits: {flood-filter-keys: 8000}") const {
        Engine::Parts parts;
        parts.store = store;
        parts.gate = compose(lock);
        parts.configuration = "nebis: {idempotent: {local-cache-millis: 0, " + settings + "}}";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }
};

std::string metric(const Engine& engine, const std::string& name) {
    const std::string text = engine.metrics();
    const auto at = text.find("\n" + name + " ");
    if (at == std::string::npos) return "none";
    const auto from = at + name.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
}

std::string filtered(const Engine& engine, const std::string& decision) {
    return metric(engine, R"(nebis_flood_filter_total{operation="order",decision=")" + decision + "\"}");
}
std::string quota(const Engine& engine, const std::string& decision) {
    return metric(engine, R"(nebis_quota_total{operation="order",decision=")" + decision + "\"}");
}

TEST(FloodFilter, S30_new_keys_pass_the_gate_by_and_repeated_ones_ask_it) {
    const Fleet fleet;
    const Engine engine = fleet.instance();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(engine.run(order, request_with(key(i)), counting.handler()).outcome, Outcome::fresh);
    EXPECT_LT(fleet.lock->asked, 10);
    const int before = fleet.lock->asked;
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(engine.run(order, request_with(key(i)), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(fleet.lock->asked, before + 200);
    EXPECT_EQ(counting.count(), 200);
    EXPECT_EQ(std::stoi(filtered(engine, "skipped")) + std::stoi(filtered(engine, "asked")), 400);
    EXPECT_GE(std::stoi(filtered(engine, "asked")), 200);
}

TEST(FloodFilter, S30_an_instance_that_never_met_a_key_lets_no_duplicate_through) {
    const Fleet fleet;
    const Engine one = fleet.instance();
    const Counting counting;
    const Operation at_one = one.operation(policy_of("order")).value();
    for (int i = 0; i < 100; ++i) one.run(at_one, request_with(key(i)), counting.handler());
    // Another instance, and the same one restarted, begin with empty filters.
    for (int start = 0; start < 2; ++start) {
        const Engine other = fleet.instance();
        const Operation order = other.operation(policy_of("order")).value();
        for (int i = 0; i < 100; ++i)
            EXPECT_EQ(other.run(order, request_with(key(i)), counting.handler()).outcome, Outcome::replayed);
        EXPECT_GE(std::stoi(filtered(other, "skipped")), 90);
    }
    EXPECT_EQ(counting.count(), 100);
}

TEST(FloodFilter, S30_a_full_filter_and_one_that_forgot_let_no_duplicate_through) {
    const Fleet fleet;
    const Engine engine = fleet.instance();
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    for (int i = 0; i < 20'000; ++i) engine.run(order, request_with(key(i)), counting.handler());
    for (int i = 0; i < 20'000; i += 7)
        ASSERT_EQ(engine.run(order, request_with(key(i)), counting.handler()).outcome, Outcome::replayed) << i;
    EXPECT_EQ(counting.count(), 20'000);
}

TEST(FloodFilter, S30_a_duplicate_that_passes_the_lock_by_meets_the_record) {
    const Fleet fleet;
    const Engine one = fleet.instance(), two = fleet.instance();
    const Operation at_one = one.operation(policy_of("order")).value();
    const Operation at_two = two.operation(policy_of("order")).value();
    const Counting counting;
    const Handler asks_other([&](const Request& request, Execution&) {
        EXPECT_EQ(two.run(at_two, request, counting.handler()).outcome, Outcome::in_progress);
        return Response{201, {}, "first", false};
    });
    EXPECT_EQ(one.run(at_one, request_with("k"), asks_other).outcome, Outcome::fresh);
    EXPECT_EQ(fleet.lock->asked, 0);
    EXPECT_EQ(two.run(at_two, request_with("k"), counting.handler()).response.body, "first");
    EXPECT_EQ(counting.count(), 0);
}

TEST(FloodFilter, S30_is_not_used_where_the_gate_must_answer) {
    const Fleet fleet;
    const Engine engine = fleet.instance("fail-open: false, limits: {flood-filter-keys: 8000}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    engine.run(order, request_with("k"), counting.handler());
    EXPECT_EQ(fleet.lock->asked, 1);
    EXPECT_EQ(filtered(engine, "skipped"), "0");
}

// ---- the quota in an engine

Request from(const std::string& caller, const std::string& key) {
    Request request = request_with(key);
    request.principal = caller;
    return request;
}

constexpr const char* three_an_hour = "quota: {new-keys: 3, window-millis: 3600000}";

TEST(Quota, S59_counts_new_keys_only_and_refuses_with_a_code_of_its_own) {
    const Fleet fleet;
    const Engine engine = fleet.instance(three_an_hour);
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(engine.run(order, from("alice", key(i)), counting.handler()).outcome, Outcome::fresh);
        for (int again = 0; again < 5; ++again)
            EXPECT_EQ(engine.run(order, from("alice", key(i)), counting.handler()).outcome, Outcome::replayed);
    }
    const Answer refused = engine.run(order, from("alice", "one too many"), counting.handler());
    EXPECT_EQ(refused.outcome, Outcome::refused);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code(), "too-many-new-keys");
    EXPECT_GT(refused.retry_after, 1'000'000ms);
    EXPECT_FALSE(refused.handler_ran);
    EXPECT_EQ(engine.run(order, from("bob", "k"), counting.handler()).outcome, Outcome::fresh);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(engine.run(order, from("alice", key(i)), counting.handler()).outcome, Outcome::replayed)
            << "known keys are answered as ever";
    EXPECT_EQ(engine.run(order, from("alice", "one too many"), counting.handler()).outcome, Outcome::refused);
    EXPECT_EQ(counting.count(), 4);
    EXPECT_EQ(quota(engine, "counted"), "4");
    EXPECT_EQ(quota(engine, "known"), "8");  // and the five repeats of the last one
    EXPECT_EQ(quota(engine, "refused"), "2");
}

TEST(Quota, S59_what_was_refused_runs_once_when_there_is_room) {
    const Fleet fleet;
    const Engine engine = fleet.instance("quota: {new-keys: 1, window-millis: 1000}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    engine.run(order, from("alice", "a"), counting.handler());
    const Answer refused = engine.run(order, from("alice", "b"), counting.handler());
    ASSERT_EQ(refused.outcome, Outcome::refused);
    std::this_thread::sleep_for(refused.retry_after + 5ms);
    EXPECT_EQ(engine.run(order, from("alice", "b"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(engine.run(order, from("alice", "b"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 2);
}

TEST(Quota, S59_another_instances_key_is_known_and_a_failed_one_may_run_again) {
    const Fleet fleet;
    const Engine one = fleet.instance(three_an_hour), two = fleet.instance(three_an_hour);
    const Operation at_one = one.operation(policy_of("order")).value();
    const Operation at_two = two.operation(policy_of("order")).value();
    const Counting counting;
    const Handler fails([](const Request&, Execution&) -> Response { throw NotExecuted("down"); });
    for (int i = 0; i < 3; ++i) one.run(at_one, from("alice", key(i)), i == 0 ? fails : counting.handler());
    // At two: duplicates of one's keys take nothing, used up or not.
    for (int i = 1; i < 3; ++i)
        EXPECT_EQ(two.run(at_two, from("alice", key(i)), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(quota(two, "counted"), "0");
    for (int i = 10; i < 13; ++i)
        EXPECT_EQ(two.run(at_two, from("alice", key(i)), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(two.run(at_two, from("alice", "new"), counting.handler()).outcome, Outcome::refused);
    EXPECT_EQ(two.run(at_two, from("alice", key(1)), counting.handler()).outcome, Outcome::replayed);
    const Answer again = two.run(at_two, from("alice", key(0)), counting.handler());
    EXPECT_EQ(again.outcome, Outcome::fresh) << "FAIL runs again, and is no new key";
    EXPECT_EQ(again.attempt, 2U);
    EXPECT_EQ(counting.count(), 6);
}

TEST(Quota, S59_holds_against_many_at_once_and_lets_no_duplicate_through) {
    const Fleet fleet;
    const Engine engine = fleet.instance("quota: {new-keys: 20, window-millis: 3600000}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    std::atomic<int> fresh{0}, refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                // Every key is sent by two threads.
                const Answer answer = engine.run(order, from("alice", key(t / 2 * 50 + i)), counting.handler());
                if (answer.outcome == Outcome::fresh) ++fresh;
                if (answer.outcome == Outcome::refused) ++refused;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(fresh, 20);
    EXPECT_EQ(counting.count(), 20);
    EXPECT_GE(refused, 300);
    EXPECT_EQ(quota(engine, "counted"), "20");
}

TEST(Quota, S59_a_store_that_is_away_takes_nothing_and_lifts_nothing) {
    auto faulty = std::make_shared<FaultyStore>(memory::store());
    Engine engine = engine_on(faulty,
                              "nebis: {idempotent: {local-cache-millis: 0, on-store-failure: allow, breaker: "
                              "{failures: 1000}, quota: {new-keys: 1, window-millis: 3600000}}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    faulty->next("begin", Fault::refuse);
    EXPECT_TRUE(engine.run(order, from("alice", "a"), counting.handler()).unprotected);
    EXPECT_EQ(engine.run(order, from("alice", "b"), counting.handler()).outcome, Outcome::fresh) << "nothing was made";
    faulty->next("find", Fault::refuse);
    EXPECT_EQ(engine.run(order, from("alice", "c"), counting.handler()).outcome, Outcome::unavailable);
    EXPECT_EQ(engine.run(order, from("alice", "b"), counting.handler()).outcome, Outcome::replayed);
    EXPECT_EQ(counting.count(), 2);
}

TEST(Quota, S59_an_insert_whose_reply_was_lost_is_counted) {
    auto faulty = std::make_shared<FaultyStore>(memory::store());
    Engine engine =
        engine_on(faulty, "nebis: {idempotent: {local-cache-millis: 0, quota: {new-keys: 1, window-millis: 3600000}}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    faulty->next("begin", Fault::lose_reply);
    EXPECT_EQ(engine.run(order, from("alice", "a"), counting.handler()).outcome, Outcome::fresh);
    EXPECT_EQ(engine.run(order, from("alice", "b"), counting.handler()).outcome, Outcome::refused);
    EXPECT_EQ(counting.count(), 1);
}

TEST(Quota, S59_a_joiner_of_another_caller_is_not_refused_for_the_leaders_quota) {
    auto faulty = std::make_shared<FaultyStore>(memory::store());
    Engine engine = engine_on(faulty,
                              "nebis: {idempotent: {local-cache-millis: 0, scope: public, quota: {new-keys: 1, "
                              "window-millis: 3600000}}}");
    const Operation order = engine.operation(policy_of("order")).value();
    const Counting counting;
    engine.run(order, from("alice", "first"), counting.handler());
    faulty->script([](const std::string& called) { return called == "find" ? Fault::hang : Fault::none; });
    Answer leaders, joiners;
    std::thread leader([&] { leaders = engine.run(order, from("alice", "shared"), counting.handler()); });
    ASSERT_TRUE(faulty->wait_hanging(1));
    std::thread joiner([&] { joiners = engine.run(order, from("bob", "shared"), counting.handler()); });
    EXPECT_TRUE(
        test::eventually([&] { return metric(engine, R"(nebis_waiting_duplicates{operation="order"})") == "1"; }));
    faulty->release();
    leader.join();
    joiner.join();
    EXPECT_EQ(leaders.outcome, Outcome::refused);
    EXPECT_EQ(joiners.outcome, Outcome::fresh);
    EXPECT_EQ(counting.count(), 2);
}

}  // namespace
}  // namespace nebis
