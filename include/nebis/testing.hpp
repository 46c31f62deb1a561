// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "nebis/store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// Fakes for tests of what is built on Nebis: a clock that stands still, a store that fails on command, a gate in the
/// test's hand.
namespace nebis::fakes {

/// A store clock that moves when it is told to. Copies are the same clock. **Threads**: safe.
class VirtualClock {
public:
    explicit VirtualClock(StoreMillis start = 1'700'000'000'000)
        : now_(std::make_shared<std::atomic<StoreMillis>>(start)) {}

    StoreMillis now() const noexcept { return now_->load(); }
    void advance(std::chrono::milliseconds by) const noexcept { now_->fetch_add(by.count()); }
    void set(StoreMillis to) const noexcept { now_->store(to); }
    StoreMillis operator()() const noexcept { return now(); }  ///< so that it is an option `clock` itself

private:
    std::shared_ptr<std::atomic<StoreMillis>> now_;
};

/// The calls that a FaultPlan counts and a FaultyStore spoils.
enum class StoreCall : std::uint8_t { verify, open, begin, finish, renew, find, recover, clean, purge, now, key_rule };

/// What happens to the n-th call of a kind from now on, once or for ever.
struct StoreFault {
    enum class Kind : std::uint8_t {
        refuse,      ///< nothing reaches the store; `error` comes back
        lose_reply,  ///< the store does it; `maybe_applied` comes back
        lose_call,   ///< nothing reaches the store; `maybe_applied` comes back
        hold,        ///< the call waits for `release()` or its own deadline, then goes on
    };
    StoreCall call = StoreCall::begin;
    Kind kind = Kind::refuse;
    std::uint64_t nth = 1;
    bool for_ever = false;
    ErrorKind error = ErrorKind::unavailable;
};

/// Shared between a test and its FaultyStores. **Threads**: safe.
class FaultPlan {
public:
    void add(StoreFault fault) {
        const std::lock_guard lock(mutex_);
        fault.nth += counts_[index(fault.call)];
        faults_.push_back(fault);
    }
    /// From here on all is well; held calls go on.
    void clear() {
        {
            const std::lock_guard lock(mutex_);
            faults_.clear();
        }
        release();
    }
    void release() {
        const std::lock_guard lock(mutex_);
        ++releases_;
        held_.notify_all();
    }
    std::uint64_t calls(StoreCall call) const {
        const std::lock_guard lock(mutex_);
        return counts_[index(call)];
    }
    /// How many calls wait for `release()`.
    int holding() const {
        const std::lock_guard lock(mutex_);
        return holding_;
    }
    /// True: as many calls are held. False: the deadline came first.
    bool wait_until_holding(int calls, Deadline deadline) {
        std::unique_lock lock(mutex_);
        return arrived_.wait_until(lock, deadline, [&] { return holding_ >= calls; });
    }

    /// Counts the call, waits if it is held, and says what shall happen to it.
    std::optional<StoreFault> enter(StoreCall call, Deadline deadline) {
        std::unique_lock lock(mutex_);
        const std::uint64_t number = ++counts_[index(call)];
        const auto at = std::find_if(faults_.begin(), faults_.end(), [&](const StoreFault& fault) {
            return fault.call == call && (fault.for_ever ? number >= fault.nth : number == fault.nth);
        });
        if (at == faults_.end()) return {};
        const StoreFault fault = *at;
        if (fault.kind != StoreFault::Kind::hold) return fault;
        ++holding_;
        arrived_.notify_all();
        held_.wait_until(lock, deadline, [this, then = releases_] { return releases_ != then; });
        --holding_;
        return {};
    }

private:
    static std::size_t index(StoreCall call) { return static_cast<std::size_t>(call); }
    mutable std::mutex mutex_;
    std::condition_variable held_, arrived_;
    std::vector<StoreFault> faults_;
    std::array<std::uint64_t, static_cast<std::size_t>(StoreCall::key_rule) + 1> counts_{};
    std::uint64_t releases_ = 0;
    int holding_ = 0;
};

/// A real store behind a FaultPlan.
class FaultyStore final : public Store {
public:
    FaultyStore(std::shared_ptr<Store> inner, std::shared_ptr<FaultPlan> plan)
        : inner_(std::move(inner)), plan_(std::move(plan)) {}

    std::string_view name() const noexcept override { return inner_->name(); }
    StoreTraits traits() const noexcept override { return inner_->traits(); }
    Result<void> verify(Deadline deadline) override {
        if (auto fault = plan_->enter(StoreCall::verify, deadline)) return error_of(*fault);
        return inner_->verify(deadline);
    }
    std::vector<std::string> cautions() const override { return inner_->cautions(); }
    Result<void> create_schema(Deadline deadline) override { return inner_->create_schema(deadline); }
    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override {
        if (auto fault = plan_->enter(StoreCall::open, deadline)) return error_of(*fault);
        auto session = inner_->open(deadline);
        if (!session) return session;
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(std::move(*session), plan_));
    }
    bool wait_for_change(Deadline deadline) override { return inner_->wait_for_change(deadline); }
    bool waits_for_this_thread() const noexcept override { return inner_->waits_for_this_thread(); }

    static Error error_of(const StoreFault& fault) {
        const bool lost = fault.kind != StoreFault::Kind::refuse;
        return {lost ? ErrorKind::maybe_applied : fault.error, lost ? "the reply was lost" : "the store refuses",
                "FaultPlan"};
    }

private:
    class Session final : public StoreSession {
    public:
        Session(std::unique_ptr<StoreSession> inner, std::shared_ptr<FaultPlan> plan)
            : inner_(std::move(inner)), plan_(std::move(plan)) {}

        void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) override {
            batch(StoreCall::begin, out, deadline, [&] { inner_->begin(in, out, deadline); });
        }
        void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out,
                    Deadline deadline) override {
            batch(StoreCall::finish, out, deadline, [&] { inner_->finish(in, out, deadline); });
        }
        void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) override {
            batch(StoreCall::renew, out, deadline, [&] { inner_->renew(in, out, deadline); });
        }
        void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) override {
            batch(StoreCall::find, out, deadline, [&] { inner_->find(in, out, deadline); });
        }
        // `write` stays what it is by default: a finish and a begin, each spoiled on its own.
        Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) override {
            return one(StoreCall::recover, deadline, [&] { return inner_->recover(request, deadline); });
        }
        Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) override {
            return one(StoreCall::clean, deadline, [&] { return inner_->clean(request, deadline); });
        }
        Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) override {
            return one(StoreCall::purge, deadline, [&] { return inner_->purge(trace_id, version, deadline); });
        }
        Result<StoreMillis> now(Deadline deadline) override {
            return one(StoreCall::now, deadline, [&] { return inner_->now(deadline); });
        }
        Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                     Deadline deadline) override {
            return one(StoreCall::key_rule, deadline,
                       [&] { return inner_->key_rule(operation, digest, accept, deadline); });
        }

    private:
        template <class Outcomes, class Do>
        void batch(StoreCall call, Outcomes out, Deadline deadline, Do go) {
            const auto fault = plan_->enter(call, deadline);
            if (!fault || fault->kind == StoreFault::Kind::lose_reply) go();
            if (fault)
                for (auto& outcome : out) outcome = error_of(*fault);
        }
        template <class Do>
        auto one(StoreCall call, Deadline deadline, Do go) -> decltype(go()) {
            const auto fault = plan_->enter(call, deadline);
            if (!fault) return go();
            if (fault->kind == StoreFault::Kind::lose_reply) (void)go();
            return error_of(*fault);
        }
        std::unique_ptr<StoreSession> inner_;
        std::shared_ptr<FaultPlan> plan_;
    };

    std::shared_ptr<Store> inner_;
    std::shared_ptr<FaultPlan> plan_;
};

/// A gate whose every lock and result the test can see and change. Nothing in it expires by itself. **Threads**: safe.
class ManualGate final : public Gate {
public:
    std::string_view name() const noexcept override { return "manual"; }
    GateTraits traits() const noexcept override { return {}; }
    Result<std::unique_ptr<GateSession>> open(Deadline) override {
        if (down()) return Error(ErrorKind::unavailable, "the gate is down");
        return std::unique_ptr<GateSession>(std::make_unique<Session>(state_));
    }

    /// Every call fails with `unavailable` until told otherwise.
    void go_down(bool down = true) {
        const std::lock_guard lock(state_->mutex);
        state_->down = down;
    }
    bool down() const {
        const std::lock_guard lock(state_->mutex);
        return state_->down;
    }
    /// Locks and results are gone, as after a restart without persistence.
    void forget_everything() {
        const std::lock_guard lock(state_->mutex);
        state_->locks.clear();
        state_->results.clear();
    }
    void hold(std::string trace_id, Owner owner, std::int64_t remaining_millis = 1000) {
        const std::lock_guard lock(state_->mutex);
        state_->locks[std::move(trace_id)] = {owner, remaining_millis};
    }
    void drop_lock(const std::string& trace_id) {
        const std::lock_guard lock(state_->mutex);
        state_->locks.erase(trace_id);
    }
    /// Also one that no honest gate would hold: stale, or somebody else's.
    void put(CachedResult result) {
        const std::lock_guard lock(state_->mutex);
        std::string key = result.trace_id;
        state_->results.insert_or_assign(std::move(key), std::move(result));
    }
    std::optional<Owner> holder(const std::string& trace_id) const {
        const std::lock_guard lock(state_->mutex);
        const auto at = state_->locks.find(trace_id);
        return at == state_->locks.end() ? std::nullopt : std::optional(at->second.owner);
    }
    std::optional<CachedResult> result(const std::string& trace_id) const {
        const std::lock_guard lock(state_->mutex);
        const auto at = state_->results.find(trace_id);
        return at == state_->results.end() ? std::nullopt : std::optional(at->second);
    }
    std::uint64_t entered() const {
        const std::lock_guard lock(state_->mutex);
        return state_->entered;
    }

private:
    struct Held {
        Owner owner;
        std::int64_t remaining_millis = 0;
    };
    struct State {
        mutable std::mutex mutex;
        std::map<std::string, Held, std::less<>> locks;
        std::map<std::string, CachedResult, std::less<>> results;
        std::uint64_t entered = 0;
        bool down = false;
    };

    class Session final : public GateSession {
    public:
        explicit Session(std::shared_ptr<State> state) : state_(std::move(state)) {}

        void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline) override {
            each<EnterOutcome>(in, out, [this](const EnterRequest& request) {
                ++state_->entered;
                EnterOutcome outcome;
                const auto kept = state_->results.find(request.trace_id);
                if (kept != state_->results.end() && kept->second.request_hash == request.request_hash) {
                    outcome.kind = EnterOutcome::Kind::finished;
                    outcome.result = kept->second;
                    return outcome;
                }
                const auto held = state_->locks.find(request.trace_id);
                if (held != state_->locks.end() && held->second.owner != request.owner) {
                    outcome.kind = EnterOutcome::Kind::held;
                    outcome.remaining_millis = held->second.remaining_millis;
                    return outcome;
                }
                state_->locks.insert_or_assign(std::string(request.trace_id),
                                               Held{request.owner, request.lease_millis});
                return outcome;
            });
        }
        void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline) override {
            each<bool>(in, out, [this](const LeaveRequest& request) {
                const auto held = state_->locks.find(request.trace_id);
                if (held == state_->locks.end() || held->second.owner != request.owner) return false;
                state_->locks.erase(held);
                if (request.result && request.result_ttl_millis > 0)
                    state_->results.insert_or_assign(std::string(request.trace_id), *request.result);
                return true;
            });
        }
        void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline) override {
            each<bool>(in, out, [this](const LockRenewRequest& request) {
                const auto held = state_->locks.find(request.trace_id);
                if (held == state_->locks.end() || held->second.owner != request.owner) return false;
                held->second.remaining_millis = request.lease_millis;
                return true;
            });
        }
        Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis, Deadline) override {
            const std::lock_guard lock(state_->mutex);
            if (state_->down) return Error(ErrorKind::unavailable, "the gate is down");
            const std::string key(trace_id);
            state_->results.erase(key);
            if (take)
                state_->locks.insert_or_assign(key, Held{*take, lease_millis});
            else
                state_->locks.erase(key);
            return {};
        }

    private:
        template <class Outcome, class Requests, class Step>
        void each(Requests in, std::span<Result<Outcome>> out, Step step) {
            const std::lock_guard lock(state_->mutex);
            for (std::size_t i = 0; i < in.size(); ++i) {
                if (state_->down)
                    out[i] = Error(ErrorKind::unavailable, "the gate is down");
                else
                    out[i] = step(in[i]);
            }
        }
        std::shared_ptr<State> state_;
    };

    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace nebis::fakes
