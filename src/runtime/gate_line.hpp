// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "runtime/batch_queue.hpp"
#include "runtime/breaker.hpp"
#include "runtime/line_watch.hpp"
#include "runtime/session_pool.hpp"
#include "runtime/timers.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace nebis::runtime {

class GateJob final : public Job {
public:
    enum Kind : unsigned { enters, leaves, renews, others };
    using Other = std::function<bool(GateSession*, const Error*, Deadline)>;

    GateJob(EnterRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(enters, in.trace_id, deadline, std::move(keeps)), in(in) {}
    GateJob(LeaveRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(leaves, in.trace_id, deadline, std::move(keeps)), in(in) {}
    GateJob(LockRenewRequest in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(renews, in.trace_id, deadline, std::move(keeps)), in(in) {}
    GateJob(Other in, Deadline deadline, std::shared_ptr<const void> keeps)
        : Job(others, {}, deadline, std::move(keeps)), in(std::move(in)) {}

    void fail(const Error& error) override;

    std::variant<EnterRequest, LeaveRequest, LockRenewRequest, Other> in;
    std::variant<std::monostate, Result<EnterOutcome>, Result<bool>> out;  ///< set once it was carried
};

/// Everything between the calls and the gate: as StoreLine, without clock and grace, because a gate is never the truth.
class GateLine final : public std::enable_shared_from_this<GateLine> {
public:
    struct Options {
        std::optional<std::size_t> max_sessions;
        std::size_t batch_max = 64;
        std::size_t queue_max = 10'000;
        std::size_t breaker_failures = 5;
        std::chrono::milliseconds breaker_open{1'000};
        std::chrono::milliseconds session_wait{800};
    };

    static std::shared_ptr<GateLine> make(std::shared_ptr<Gate> gate, Options options, Timers& timers, LineWatch watch);
    ~GateLine();

    const std::shared_ptr<Gate>& gate() const noexcept { return gate_; }
    bool direct() const noexcept { return traits_.in_process; }

    /// Direct gates only.
    Result<EnterOutcome> enter(const EnterRequest& request, Deadline deadline);
    Result<bool> leave(const LeaveRequest& request, Deadline deadline);
    Result<bool> renew(const LockRenewRequest& request, Deadline deadline);

    std::optional<Error> run(const std::shared_ptr<GateJob>& job);
    /// Without a sink nobody is told: what isn't waited for.
    void submit(const std::shared_ptr<GateJob>& job);
    /// The operator's steps; blocks.
    Result<void> evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis, Deadline deadline);

    void stop();

private:
    class BatchCarrier;
    using Clock = std::chrono::steady_clock;

    GateLine(std::shared_ptr<Gate> gate, Options options, LineWatch watch);
    template <class Outcome, class Request, class Call>
    Result<Outcome> directly(observe::StoreOp op, const Request& request, Deadline deadline, Call call);
    std::optional<Error> admit();
    void judge(bool ok, const Error* why);
    void carry(std::span<Job* const> batch) noexcept;

    const std::shared_ptr<Gate> gate_;
    const Options options_;
    const GateTraits traits_;
    LineWatch watch_;
    SessionPool<Gate, GateSession> sessions_;
    Breaker breaker_;
    std::unique_ptr<BatchQueue> queue_;
};

}  // namespace nebis::runtime
