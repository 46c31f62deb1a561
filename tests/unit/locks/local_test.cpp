// SPDX-License-Identifier: Apache-2.0
#include "nebis/local.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

// What the conformance suite doesn't ask: bounds, settings, and gates composed of what users wrote.
namespace {

using namespace nebis;
using std::chrono::milliseconds;

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(5); }

Owner owner(unsigned char number) {
    Owner made;
    made.bytes.fill(number);
    return made;
}

CachedResult result(std::string key) {
    CachedResult made;
    made.trace_id = std::move(key);
    made.response.body = "answer";
    return made;
}

Result<EnterOutcome> enter(GateSession& session, std::string_view key, unsigned char who, Deadline by = soon()) {
    const EnterRequest request{key, owner(who), RequestHash(), 60'000};
    Result<EnterOutcome> out = Error(ErrorKind::internal, "not set");
    session.enter({&request, 1}, {&out, 1}, by);
    return out;
}

Result<bool> leave(GateSession& session, std::string_view key, unsigned char who, const CachedResult* kept = nullptr,
                   Deadline by = soon()) {
    const LeaveRequest request{key, owner(who), kept, 60'000};
    Result<bool> out = Error(ErrorKind::internal, "not set");
    session.leave({&request, 1}, {&out, 1}, by);
    return out;
}

TEST(LocalGate, results_are_bounded_in_number) {
    auto session = *local::gate({.results = 64})->open(soon());
    for (int i = 0; i < 2000; ++i) {
        const CachedResult kept = result("k" + std::to_string(i));
        ASSERT_TRUE(enter(*session, kept.trace_id, 1));
        ASSERT_TRUE(*leave(*session, kept.trace_id, 1, &kept));
    }
    int there = 0;
    for (int i = 0; i < 2000; ++i)
        there += enter(*session, "k" + std::to_string(i), 2)->kind == EnterOutcome::Kind::finished ? 1 : 0;
    EXPECT_LE(there, 64);
    EXPECT_GT(there, 0);
}

TEST(LocalGate, results_live_no_longer_than_the_setting) {
    auto now = std::chrono::steady_clock::now();
    auto session =
        *local::gate({.results = 64, .result_life = milliseconds(100), .clock = [&] { return now; }})->open(soon());
    const CachedResult kept = result("k");
    ASSERT_TRUE(enter(*session, "k", 1));
    ASSERT_TRUE(*leave(*session, "k", 1, &kept));
    now += milliseconds(99);
    EXPECT_EQ(enter(*session, "k", 2)->kind, EnterOutcome::Kind::finished);
    now += milliseconds(1);
    EXPECT_EQ(enter(*session, "k", 2)->kind, EnterOutcome::Kind::granted);
}

TEST(LocalGate, only_terminal_results_are_kept) {
    auto session = *local::gate({.results = 64})->open(soon());
    CachedResult kept = result("k");
    kept.status = RecordStatus::fail;
    ASSERT_TRUE(enter(*session, "k", 1));
    ASSERT_TRUE(*leave(*session, "k", 1, &kept));
    EXPECT_EQ(enter(*session, "k", 2)->kind, EnterOutcome::Kind::granted);
}

TEST(LocalGate, driver_reads_its_settings) {
    Drivers drivers;
    local::add_to(drivers);
    const auto& make = drivers.gates.at("local");
    EXPECT_TRUE(make({}));
    DriverSettings settings;
    settings.values = {{"results", "10"}, {"result-life-millis", "500"}};
    EXPECT_TRUE(make(settings));
    for (const char* const bad : {"", "-1", "x", "10 ", "99999999999"}) {
        settings.values["results"] = bad;
        ASSERT_FALSE(make(settings)) << bad;
        EXPECT_EQ(make(settings).error().kind(), ErrorKind::misconfigured);
    }
    EXPECT_EQ(drivers.gate_keys.at("local").size(), 2U);
}

// ---- composed gates ------------------------------------------------------------------------------------------------

class ThrowingLock final : public Lock {
public:
    std::string_view name() const noexcept override { return "throwing"; }
    Result<std::int64_t> acquire(std::string_view, const Owner&, std::int64_t, Deadline) override {
        throw std::runtime_error("a");
    }
    Result<bool> renew(std::string_view, const Owner&, std::int64_t, Deadline) override { throw 1; }
    Result<bool> release(std::string_view, const Owner&, Deadline) override { throw std::runtime_error("c"); }
};

class BadCache final : public ResultCache {
public:
    explicit BadCache(CachedResult gives) : gives_(std::move(gives)) {}
    Result<std::optional<CachedResult>> get(std::string_view, Deadline) override {
        if (gives_.trace_id.empty()) throw std::runtime_error("down");
        return std::optional(gives_);
    }
    Result<void> put(const CachedResult&, std::int64_t, Deadline) override { throw std::runtime_error("down"); }
    Result<void> evict(std::string_view, Deadline) override { return {}; }

private:
    CachedResult gives_;
};

/// Does what it is asked unless it is too late.
class PunctualLock final : public Lock {
public:
    std::string_view name() const noexcept override { return "punctual"; }
    Result<std::int64_t> acquire(std::string_view key, const Owner& by, std::int64_t lease, Deadline d) override {
        if (is_late(d)) return too_late();
        return lock_->acquire(key, by, lease, d);
    }
    Result<bool> renew(std::string_view key, const Owner& by, std::int64_t lease, Deadline d) override {
        if (is_late(d)) return too_late();
        return lock_->renew(key, by, lease, d);
    }
    Result<bool> release(std::string_view key, const Owner& by, Deadline d) override {
        if (is_late(d)) return too_late();
        return lock_->release(key, by, d);
    }

private:
    static bool is_late(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }
    static Error too_late() { return Error(ErrorKind::unavailable, "too late"); }
    const std::shared_ptr<Lock> lock_ = local::lock();
};

/// Takes all the time it is given.
class HangingCache final : public ResultCache {
public:
    Result<std::optional<CachedResult>> get(std::string_view, Deadline d) override { return hang(d); }
    Result<void> put(const CachedResult&, std::int64_t, Deadline d) override { return hang(d); }
    Result<void> evict(std::string_view, Deadline d) override { return hang(d); }

private:
    static Error hang(Deadline deadline) {
        std::this_thread::sleep_until(deadline);
        return Error(ErrorKind::unavailable, "too slow");
    }
};

TEST(ComposedGate, cache_that_hangs_leaves_the_lock_its_time) {
    const auto in = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(1); };
    auto session = *compose(std::make_shared<PunctualLock>(), std::make_shared<HangingCache>())->open(in());
    EXPECT_EQ(enter(*session, "k", 1, in())->kind, EnterOutcome::Kind::granted);
    const CachedResult kept = result("k");
    EXPECT_TRUE(*leave(*session, "k", 1, &kept, in()));
}

TEST(ComposedGate, exceptions_of_a_lock_are_its_failure) {
    auto session = *compose(std::make_shared<ThrowingLock>())->open(soon());
    EXPECT_EQ(enter(*session, "k", 1).error().code(), "gate-threw");
    EXPECT_EQ(leave(*session, "k", 1).error().code(), "gate-threw");
    const Owner by = owner(1);
    EXPECT_EQ(session->evict("k", &by, 1000, soon()).error().code(), "gate-threw");
}

TEST(ComposedGate, cache_that_fails_is_a_miss_and_the_lock_is_still_left) {
    auto session = *compose(local::lock(), std::make_shared<BadCache>(CachedResult()))->open(soon());
    EXPECT_EQ(enter(*session, "k", 1)->kind, EnterOutcome::Kind::granted);
    const CachedResult kept = result("k");
    EXPECT_TRUE(*leave(*session, "k", 1, &kept));
    EXPECT_EQ(enter(*session, "k", 2)->kind, EnterOutcome::Kind::granted);
}

TEST(ComposedGate, somebody_elses_result_is_never_replayed) {
    auto session = *compose(local::lock(), std::make_shared<BadCache>(result("another key")))->open(soon());
    EXPECT_EQ(enter(*session, "k", 1)->kind, EnterOutcome::Kind::granted);
    EXPECT_EQ(enter(*session, "another key", 1)->kind, EnterOutcome::Kind::finished);
}

}  // namespace
