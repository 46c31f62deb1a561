// SPDX-License-Identifier: Apache-2.0
#include "runtime/sealed_gate.hpp"

#include "observe/mark.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace nebis::runtime {
namespace {

class SealedGateSession final : public GateSession {
public:
    SealedGateSession(std::unique_ptr<GateSession> inner, std::shared_ptr<const Sealing> sealing)
        : inner_(std::move(inner)), sealing_(std::move(sealing)) {}

    void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline deadline) override {
        inner_->enter(in, out, deadline);
        for (std::size_t i = 0; i < in.size(); ++i)
            if (!opens(out[i])) enter_without_result(in.subspan(i, 1), out.subspan(i, 1), deadline);
    }

    void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        if (!sealing_->on() || std::ranges::none_of(in, [](const auto& one) { return one.result; }))
            return inner_->leave(in, out, deadline);
        std::vector<LeaveRequest> requests(in.begin(), in.end());
        std::deque<CachedResult> results;
        for (LeaveRequest& one : requests) {
            if (!one.result) continue;
            auto sealed = sealing_->seal(one.result->response, one.result->trace_id, one.result->version);
            CachedResult& result = results.emplace_back(*one.result);
            one.result = sealed ? &result : nullptr;  // then the lock is dropped, and nothing is kept
            if (sealed) result.response = *std::move(sealed);
        }
        inner_->leave(requests, out, deadline);
    }

    void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        inner_->renew(in, out, deadline);
    }
    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                       Deadline deadline) override {
        return inner_->evict(trace_id, take, lease_millis, deadline);
    }

private:
    bool opens(Result<EnterOutcome>& outcome) const {
        if (!outcome || !outcome->result) return true;
        CachedResult& result = *outcome->result;
        return sealing_->open(result.response, result.trace_id, result.version).has_value();
    }

    void enter_without_result(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out,
                              Deadline deadline) {
        NEBIS_MARK("the gate's result doesn't open");
        const auto foreign = [] {
            return Error(ErrorKind::unavailable, "the lock service keeps a result that doesn't open");
        };
        if (auto dropped = inner_->evict(in[0].trace_id, nullptr, 0, deadline); !dropped) {
            out[0] = std::move(dropped).error();
            return;
        }
        inner_->enter(in, out, deadline);
        if (!opens(out[0]))
            out[0] = foreign();
        else if (out[0] && out[0]->kind != EnterOutcome::Kind::finished)
            out[0]->unreadable_result = true;
    }

    const std::unique_ptr<GateSession> inner_;
    const std::shared_ptr<const Sealing> sealing_;
};

class SealedGate final : public Gate {
public:
    SealedGate(std::shared_ptr<Gate> inner, std::shared_ptr<const Sealing> sealing)
        : inner_(std::move(inner)), sealing_(std::move(sealing)) {}

    std::string_view name() const noexcept override { return inner_->name(); }
    GateTraits traits() const noexcept override { return inner_->traits(); }
    Result<std::unique_ptr<GateSession>> open(Deadline deadline) override {
        auto session = inner_->open(deadline);
        if (!session) return session;
        return std::unique_ptr<GateSession>(std::make_unique<SealedGateSession>(*std::move(session), sealing_));
    }
    Result<std::unique_ptr<GateWatch>> watch(Deadline deadline) override { return inner_->watch(deadline); }

private:
    const std::shared_ptr<Gate> inner_;
    const std::shared_ptr<const Sealing> sealing_;
};

}  // namespace

std::shared_ptr<Gate> sealed(std::shared_ptr<Gate> gate, std::shared_ptr<const Sealing> sealing) {
    if (gate->traits().in_process) return gate;
    return std::make_shared<SealedGate>(std::move(gate), std::move(sealing));
}

}  // namespace nebis::runtime
