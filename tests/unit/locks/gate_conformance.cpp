// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/local.hpp"
#include "nebis/testing.hpp"

#include <map>
#include <mutex>

namespace {

using nebis::Deadline;
using nebis::Error;
using nebis::Owner;
using nebis::Result;
using std::chrono::milliseconds;

/// A monotonic clock in the test's hand.
class HandClock {
public:
    std::chrono::steady_clock::time_point operator()() const {
        return std::chrono::steady_clock::time_point(milliseconds(now_->load()));
    }
    void advance(milliseconds by) const { now_->fetch_add(by.count()); }

private:
    std::shared_ptr<std::atomic<std::int64_t>> now_ = std::make_shared<std::atomic<std::int64_t>>(1'000'000);
};

/// The smallest ResultCache there can be, as a user would write one.
class MapCache final : public nebis::ResultCache {
public:
    explicit MapCache(HandClock clock) : clock_(std::move(clock)) {}
    Result<std::optional<nebis::CachedResult>> get(std::string_view trace_id, Deadline) override {
        const std::lock_guard lock(mutex_);
        const auto at = results_.find(trace_id);
        if (at == results_.end() || at->second.second <= clock_()) return std::optional<nebis::CachedResult>();
        return std::optional(at->second.first);
    }
    Result<void> put(const nebis::CachedResult& result, std::int64_t ttl_millis, Deadline) override {
        const std::lock_guard lock(mutex_);
        results_.insert_or_assign(result.trace_id, std::pair(result, clock_() + milliseconds(ttl_millis)));
        return {};
    }
    Result<void> evict(std::string_view trace_id, Deadline) override {
        const std::lock_guard lock(mutex_);
        results_.erase(std::string(trace_id));
        return {};
    }

private:
    HandClock clock_;
    std::mutex mutex_;
    std::map<std::string, std::pair<nebis::CachedResult, std::chrono::steady_clock::time_point>, std::less<>> results_;
};

bool register_all() {
    using nebis::conformance::GateFixture;
    using nebis::conformance::register_gate;
    const HandClock clock;
    const auto advance = [clock](milliseconds by) { clock.advance(by); };

    GateFixture local;
    local.make = [clock] {
        return nebis::local::gate({.results = 1000, .result_life = std::chrono::hours(1), .clock = clock});
    };
    local.advance = advance;
    register_gate("local", local);

    GateFixture real;
    real.make = [] { return nebis::local::gate({.results = 1000}); };
    register_gate("local_real_time", real);

    GateFixture bare;
    bare.make = [clock] { return nebis::local::gate({.clock = clock}); };
    bare.advance = advance;
    bare.keeps_results = false;
    register_gate("local_without_results", bare);

    GateFixture composed;
    composed.make = [clock] {
        return nebis::compose(nebis::local::lock({.clock = clock}), std::make_shared<MapCache>(clock));
    };
    composed.advance = advance;
    composed.takes_from_holder = false;
    register_gate("composed", composed);

    GateFixture lock_alone;
    lock_alone.make = [clock] { return nebis::compose(nebis::local::lock({.clock = clock})); };
    lock_alone.advance = advance;
    lock_alone.keeps_results = false;
    lock_alone.takes_from_holder = false;
    return register_gate("composed_without_results", lock_alone);
}

const bool registered = register_all();

}  // namespace
