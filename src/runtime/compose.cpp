// SPDX-License-Identifier: Apache-2.0
#include "nebis/gate.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace nebis {
namespace {

/// Locks taken by operators (step A), so that step C can drop them whichever session it comes through.
struct Taken {
    std::mutex mutex;
    std::map<std::string, Owner, std::less<>> by_trace_id;
};

std::int64_t millis_until(Deadline deadline) {
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    return std::max<std::int64_t>(rest, 0);
}

/// What a cache may take, so that one that hangs leaves the lock its time.
Deadline half_of(Deadline deadline) {
    const auto now = std::chrono::steady_clock::now();
    return deadline > now ? now + (deadline - now) / 2 : deadline;
}

/// Locks and caches are written by users; what they throw is their failure, not ours.
template <class Call>
auto guarded(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::exception& thrown) {
        return Error(ErrorKind::unavailable, "the lock or the result cache threw an exception", thrown.what())
            .with_code("gate-threw");
    } catch (...) {
        return Error(ErrorKind::unavailable, "the lock or the result cache threw something").with_code("gate-threw");
    }
}

class ComposedSession final : public GateSession {
public:
    ComposedSession(std::shared_ptr<Lock> lock, std::shared_ptr<ResultCache> cache, std::shared_ptr<Taken> taken)
        : lock_(std::move(lock)), cache_(std::move(cache)), taken_(std::move(taken)) {}

    void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = guarded([&] { return enter_one(in[i], deadline); });
    }

    void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] = guarded([&] { return leave_one(in[i], deadline); });
    }

    void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i] = guarded([&] { return lock_->renew(in[i].trace_id, in[i].owner, in[i].lease_millis, deadline); });
    }

    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                       Deadline deadline) override {
        return guarded([&] { return evict_one(trace_id, take, lease_millis, deadline); });
    }

private:
    Result<void> evict_one(std::string_view trace_id, const Owner* take, std::int64_t lease_millis, Deadline deadline) {
        // A lock service that only its owner can open: step A waits for the holder to leave, so that no result is put
        // behind its back.
        if (take) {
            auto held = lock_->acquire(trace_id, *take, lease_millis, deadline);
            if (!held) return std::move(held).error();
            if (*held > 0)
                return Error(ErrorKind::overloaded, "an attempt still holds the lock of this key", {},
                             "try again when it has ended, at the latest when its lease is over")
                    .with_code("lock-held");
            const std::lock_guard guard(taken_->mutex);
            taken_->by_trace_id.insert_or_assign(std::string(trace_id), *take);
        }
        if (cache_)
            if (auto gone = cache_->evict(trace_id, deadline); !gone) return gone;
        return take ? Result<void>() : release_taken(trace_id, deadline);
    }

    Result<EnterOutcome> enter_one(const EnterRequest& request, Deadline deadline) {
        EnterOutcome out;
        if (cache_) {
            // The cache is a hint twice over: its failure is a miss, and what it gives is checked.
            auto hit = guarded([&] { return cache_->get(request.trace_id, half_of(deadline)); });
            if (hit && *hit && (*hit)->trace_id == request.trace_id && (*hit)->request_hash == request.request_hash) {
                out.kind = EnterOutcome::Kind::finished;
                out.result = std::move(*hit);
                return out;
            }
        }
        auto rest = lock_->acquire(request.trace_id, request.owner, request.lease_millis, deadline);
        if (!rest) return std::move(rest).error();
        if (*rest > 0) {
            out.kind = EnterOutcome::Kind::held;
            out.remaining_millis = *rest;
        }
        return out;
    }

    Result<bool> leave_one(const LeaveRequest& request, Deadline deadline) {
        if (request.result && cache_) {
            // Renewing is the only way a Lock can say "it is yours", and it keeps it ours until the result is in.
            auto ours = lock_->renew(request.trace_id, request.owner, millis_until(deadline) + 1000, deadline);
            if (!ours) return ours;
            if (!*ours) return false;
            // A result not kept costs a read, no more.
            (void)guarded([&] { return cache_->put(*request.result, request.result_ttl_millis, half_of(deadline)); });
        }
        return lock_->release(request.trace_id, request.owner, deadline);
    }

    Result<void> release_taken(std::string_view trace_id, Deadline deadline) {
        Owner owner;
        {
            const std::lock_guard guard(taken_->mutex);
            const auto at = taken_->by_trace_id.find(trace_id);
            if (at == taken_->by_trace_id.end()) return {};
            owner = at->second;
            taken_->by_trace_id.erase(at);
        }
        auto released = lock_->release(trace_id, owner, deadline);
        if (!released) return std::move(released).error();
        return {};
    }

    std::shared_ptr<Lock> lock_;
    std::shared_ptr<ResultCache> cache_;
    std::shared_ptr<Taken> taken_;
};

class ComposedGate final : public Gate {
public:
    ComposedGate(std::shared_ptr<Lock> lock, std::shared_ptr<ResultCache> cache)
        : lock_(std::move(lock)), cache_(std::move(cache)), taken_(std::make_shared<Taken>()) {}

    std::string_view name() const noexcept override { return lock_->name(); }
    GateTraits traits() const noexcept override {
        GateTraits traits;
        traits.in_process = lock_->in_process() && !cache_;
        // One call a key: a batch only makes its keys wait for each other.
        traits.max_sessions = traits.in_process ? 1 : 8;
        traits.batch_max = traits.in_process ? 64 : 1;
        return traits;
    }
    Result<std::unique_ptr<GateSession>> open(Deadline) override {
        return std::unique_ptr<GateSession>(std::make_unique<ComposedSession>(lock_, cache_, taken_));
    }

private:
    std::shared_ptr<Lock> lock_;
    std::shared_ptr<ResultCache> cache_;
    std::shared_ptr<Taken> taken_;  ///< steps A and C may come through different sessions
};

}  // namespace

Result<std::unique_ptr<GateWatch>> Gate::watch(Deadline) { return std::unique_ptr<GateWatch>(); }

std::shared_ptr<Gate> compose(std::shared_ptr<Lock> lock, std::shared_ptr<ResultCache> cache) {
    return std::make_shared<ComposedGate>(std::move(lock), std::move(cache));
}

}  // namespace nebis
