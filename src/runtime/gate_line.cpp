// SPDX-License-Identifier: Apache-2.0
#include "runtime/gate_line.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

bool ill(const Error& error) noexcept {
    return error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::maybe_applied;
}

Error unset() { return {ErrorKind::internal, "the driver left a result unset"}; }

/// Carries the jobs of one kind; returns how many failed for the gate's sake.
template <class Request, class Outcome, class Call>
std::size_t carry_kind(std::span<Job* const> jobs, Call call) {
    std::vector<Request> in;
    std::vector<Result<Outcome>> out;
    in.reserve(jobs.size());
    out.reserve(jobs.size());
    for (Job* job : jobs) {
        in.push_back(std::get<Request>(static_cast<GateJob*>(job)->in));
        out.push_back(unset());
    }
    call(std::span<const Request>(in), std::span<Result<Outcome>>(out));
    std::size_t failed = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!out[i] && ill(out[i].error())) ++failed;
        static_cast<GateJob*>(jobs[i])->out = std::move(out[i]);
    }
    return failed;
}

}  // namespace

void GateJob::fail(const Error& error) {
    switch (kind()) {
        case enters: out.emplace<Result<EnterOutcome>>(error); break;
        case leaves:
        case renews: out.emplace<Result<bool>>(error); break;
        default: std::get<Other>(in)(nullptr, &error, deadline()); break;
    }
}

class GateLine::BatchCarrier final : public Carrier {
public:
    explicit BatchCarrier(std::weak_ptr<GateLine> line) : line_(std::move(line)) {}
    void carry(std::span<Job* const> batch) noexcept override {
        if (const auto line = line_.lock()) return line->carry(batch);
        for (Job* job : batch) job->fail(Error(ErrorKind::unavailable, "the engine is closed"));
    }
    void overdue() noexcept override {
        if (const auto line = line_.lock()) {
            const Error why(ErrorKind::unavailable, "the driver keeps no deadline");
            line->judge(false, &why);
        }
    }

private:
    const std::weak_ptr<GateLine> line_;
};

std::shared_ptr<GateLine> GateLine::make(std::shared_ptr<Gate> gate, Options options, Timers& timers, LineWatch watch) {
    std::shared_ptr<GateLine> line(new GateLine(std::move(gate), std::move(options), std::move(watch)));
    if (line->direct()) return line;
    BatchQueue::Options queue;
    queue.what = "lock service";
    queue.slots = static_cast<unsigned>(line->traits_.max_sessions);
    queue.batch_max = line->traits_.batch_max;
    queue.queue_max = line->options_.queue_max;
    queue.arm = [&timers, weak = std::weak_ptr<GateLine>(line)](Deadline when) {
        timers.at(when, [weak] {
            if (const auto alive = weak.lock()) alive->queue_->sweep(Clock::now());
        });
    };
    line->queue_ = std::make_unique<BatchQueue>(std::make_shared<BatchCarrier>(line), std::move(queue));
    return line;
}

GateLine::GateLine(std::shared_ptr<Gate> gate, Options options, LineWatch watch)
    : gate_(std::move(gate)),
      options_(std::move(options)),
      traits_([this] {
          GateTraits traits = gate_->traits();
          if (options_.max_sessions) traits.max_sessions = *options_.max_sessions;
          traits.max_sessions = std::clamp<std::size_t>(traits.max_sessions, 1, 64);
          traits.batch_max = std::clamp<std::size_t>(std::min(traits.batch_max, options_.batch_max), 1, 4096);
          return traits;
      }()),
      watch_(std::move(watch)),
      sessions_(gate_),
      breaker_(options_.breaker_failures, options_.breaker_open) {}

GateLine::~GateLine() { stop(); }

void GateLine::stop() {
    if (queue_) queue_->stop();
}

std::optional<Error> GateLine::admit() {
    if (breaker_.allow(Clock::now())) return std::nullopt;
    return Error(ErrorKind::unavailable, "the lock service is away", {},
                 "calls are let through again as soon as it answers (breaker.open-millis)");
}

void GateLine::judge(bool ok, const Error* why) {
    if (!ok) {
        if (breaker_.failed(Clock::now())) watch_.away(why);
    } else if (breaker_.succeeded()) {
        watch_.back();
    }
}

template <class Outcome, class Request, class Call>
Result<Outcome> GateLine::directly(observe::StoreOp op, const Request& request, Deadline deadline, Call call) {
    auto session = sessions_.take(deadline);
    if (!session) return session.error();
    Result<Outcome> out = unset();
    call(**session, std::span<const Request>(&request, 1), std::span<Result<Outcome>>(&out, 1), deadline);
    const bool bad = !out && ill(out.error());
    if (bad)
        watch_.called(op, 1, {}, &out.error());
    else
        sessions_.give_back(*std::move(session));
    return out;
}

Result<EnterOutcome> GateLine::enter(const EnterRequest& request, Deadline deadline) {
    return directly<EnterOutcome>(observe::StoreOp::enter, request, deadline,
                                  [](auto& s, auto in, auto out, Deadline d) { s.enter(in, out, d); });
}
Result<bool> GateLine::leave(const LeaveRequest& request, Deadline deadline) {
    return directly<bool>(observe::StoreOp::leave, request, deadline,
                          [](auto& s, auto in, auto out, Deadline d) { s.leave(in, out, d); });
}
Result<bool> GateLine::renew(const LockRenewRequest& request, Deadline deadline) {
    return directly<bool>(observe::StoreOp::renew, request, deadline,
                          [](auto& s, auto in, auto out, Deadline d) { s.renew(in, out, d); });
}

std::optional<Error> GateLine::run(const std::shared_ptr<GateJob>& job) {
    if (auto refused = admit()) return refused;
    if (queue_) return queue_->run(job);
    Job* const alone = job.get();
    job->take();
    carry({&alone, 1});
    job->finish();
    return std::nullopt;
}

void GateLine::submit(const std::shared_ptr<GateJob>& job) {
    if (auto refused = admit()) {
        if (job->sink) std::exchange(job->sink, nullptr)->job_done(job, std::move(refused));
        return;
    }
    if (queue_) return queue_->submit(job);
    Job* const alone = job.get();
    job->take();
    carry({&alone, 1});
    job->finish();
    if (job->sink) std::exchange(job->sink, nullptr)->job_done(job, std::nullopt);
}

Result<void> GateLine::evict(std::string_view trace_id, const Owner* take, std::int64_t lease_millis,
                             Deadline deadline) {
    struct Kept {
        std::string trace_id;
        std::optional<Owner> owner;
        Result<void> result;
    };
    auto kept = std::make_shared<Kept>();
    kept->trace_id = trace_id;
    if (take) kept->owner = *take;
    auto job = std::make_shared<GateJob>(
        GateJob::Other([kept, lease_millis](GateSession* session, const Error* error, Deadline until) {
            if (!session) return kept->result = *error, false;
            kept->result = session->evict(kept->trace_id, kept->owner ? &*kept->owner : nullptr, lease_millis, until);
            return kept->result.has_value() || !ill(kept->result.error());
        }),
        deadline, kept);
    if (auto lost = run(job)) return *lost;
    return kept->result;
}

void GateLine::carry(std::span<Job* const> batch) noexcept {
    Deadline deadline = batch.front()->deadline();
    for (const Job* job : batch) deadline = std::max(deadline, job->deadline());
    auto session = sessions_.take(std::min(deadline, Clock::now() + options_.session_wait));
    if (!session) {
        judge(false, &session.error());
        for (Job* job : batch) job->fail(session.error());
        return;
    }
    // A batch holds one kind: groups are kinds here.
    const auto sent = Clock::now();
    auto op = observe::StoreOp::enter;
    std::size_t failed = 0;
    switch (batch.front()->kind()) {
        case GateJob::enters:
            failed = carry_kind<EnterRequest, EnterOutcome>(
                batch, [&](auto in, auto out) { (*session)->enter(in, out, deadline); });
            break;
        case GateJob::leaves:
            op = observe::StoreOp::leave;
            failed =
                carry_kind<LeaveRequest, bool>(batch, [&](auto in, auto out) { (*session)->leave(in, out, deadline); });
            break;
        case GateJob::renews:
            op = observe::StoreOp::renew;
            failed = carry_kind<LockRenewRequest, bool>(
                batch, [&](auto in, auto out) { (*session)->renew(in, out, deadline); });
            break;
        default:
            op = observe::StoreOp::other;
            for (Job* job : batch)
                if (!std::get<GateJob::Other>(static_cast<GateJob*>(job)->in)(session->get(), nullptr, job->deadline()))
                    ++failed;
            break;
    }
    const Error failure(ErrorKind::unavailable, "the lock service failed");
    watch_.called(op, batch.size(), Clock::now() - sent, failed == 0 ? nullptr : &failure);
    judge(failed < batch.size(), &failure);
    if (failed == 0) sessions_.give_back(*std::move(session));
}

}  // namespace nebis::runtime
