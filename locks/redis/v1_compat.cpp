// SPDX-License-Identifier: Apache-2.0
#include "v1_compat.hpp"

#include "identify/digest.hpp"
#include "redis_client/errors.hpp"
#include "scripts.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

Call call_of(const Script& script, std::string_view key, const Owner& owner) {
    // What version 1 compares with its own request id, and never equals one.
    std::string mark = "nebis:" + identify::to_hex(owner.bytes);
    return {&script, {"idempotent:" + std::string(key)}, {std::move(mark)}};
}

/// Nebis' lock comes first and goes first: who has it alone handles version 1's for this key.
class V1Session final : public GateSession {
public:
    V1Session(std::unique_ptr<GateSession> inner, std::unique_ptr<Line> line)
        : inner_(std::move(inner)), line_(std::move(line)) {}

    void enter(std::span<const EnterRequest> in, std::span<Result<EnterOutcome>> out, Deadline deadline) override {
        inner_->enter(in, out, deadline);
        std::vector<std::size_t> granted;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (out[i] && out[i]->kind == EnterOutcome::Kind::granted && !in[i].key.empty()) granted.push_back(i);
        if (granted.empty()) return;
        const auto replies = run(
            granted.size(),
            [&](std::size_t i) {
                const EnterRequest& one = in[granted[i]];
                Call call = call_of(Scripts::all().v1_take, one.key, one.owner);
                call.arguments.push_back(std::to_string(std::max<std::int64_t>(one.lease_millis, 1)));
                return call;
            },
            deadline);
        std::vector<LeaveRequest> refused;
        for (std::size_t i = 0; i < granted.size(); ++i) {
            const std::size_t row = granted[i];
            if (!replies[i]) {
                // Nobody may run on half of the locks. Whether version 1's was taken isn't known: it ends by itself.
                out[row] = replies[i].error();
            } else if (*replies[i] > 0) {
                out[row]->kind = EnterOutcome::Kind::held;
                out[row]->remaining_millis = *replies[i];
            } else {
                continue;
            }
            refused.push_back({in[row].trace_id, in[row].owner, nullptr, 0, {}});
        }
        give_back(refused, deadline);
    }

    void leave(std::span<const LeaveRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        inner_->leave(in, out, deadline);
        std::vector<const LeaveRequest*> named;
        for (const LeaveRequest& one : in)
            if (!one.key.empty()) named.push_back(&one);
        // Not waited for by anybody, and what stays ends by itself: a failure here is nobody's.
        (void)run(
            named.size(),
            [&](std::size_t i) {
                const LeaveRequest& one = *named[i];
                Call call = call_of(Scripts::all().v1_leave, one.key, one.owner);
                // Version 1 has no table: for that long at least it refuses repeats of what is done.
                if (one.result && one.result_ttl_millis > 0 && is_terminal(one.result->status))
                    call.arguments.push_back(std::to_string(one.result_ttl_millis));
                return call;
            },
            deadline);
    }

    void renew(std::span<const LockRenewRequest> in, std::span<Result<bool>> out, Deadline deadline) override {
        inner_->renew(in, out, deadline);
        std::vector<const LockRenewRequest*> named;
        for (const LockRenewRequest& one : in)
            if (!one.key.empty()) named.push_back(&one);
        (void)run(
            named.size(),
            [&](std::size_t i) {
                const LockRenewRequest& one = *named[i];
                Call call = call_of(Scripts::all().renew, one.key, one.owner);
                call.arguments.push_back(std::to_string(std::max<std::int64_t>(one.lease_millis, 1)));
                return call;
            },
            deadline);
    }

    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                       Deadline deadline) override {
        return inner_->evict(trace_id, take, lease_millis, deadline);
    }

private:
    /// The number each script returned.
    template <class Make>
    std::vector<Result<std::int64_t>> run(std::size_t count, Make make, Deadline deadline) noexcept {
        std::vector<Result<std::int64_t>> numbers(count, Error(ErrorKind::internal, "not set"));
        if (count == 0) return numbers;
        try {
            std::vector<Call> calls;
            for (std::size_t i = 0; i < count; ++i) calls.push_back(make(i));
            std::vector<Result<Reply>> replies(count, Error(ErrorKind::internal, "not set"));
            line_->run(calls, replies, deadline);
            for (std::size_t i = 0; i < count; ++i) {
                if (!replies[i])
                    numbers[i] = std::move(replies[i]).error();
                else if (replies[i]->kind != Reply::Kind::integer || replies[i]->integer < 0)
                    numbers[i] = Error(ErrorKind::maybe_applied, "Redis answered a script with what it never returns")
                                     .with_code("redis-protocol");
                else
                    numbers[i] = replies[i]->integer;
            }
        } catch (const std::exception& thrown) {  // no memory, or no thread for a look-up
            for (auto& one : numbers)
                one = Error(ErrorKind::maybe_applied, "no resources to talk to Redis", thrown.what());
        }
        return numbers;
    }

    void give_back(const std::vector<LeaveRequest>& refused, Deadline deadline) {
        if (refused.empty()) return;
        std::vector<Result<bool>> left(refused.size(), false);
        inner_->leave(refused, left, deadline);
    }

    const std::unique_ptr<GateSession> inner_;
    const std::unique_ptr<Line> line_;
};

}  // namespace

std::unique_ptr<GateSession> with_v1_locks(std::unique_ptr<GateSession> inner, std::unique_ptr<Line> line) {
    return std::make_unique<V1Session>(std::move(inner), std::move(line));
}

}  // namespace nebis::redis
