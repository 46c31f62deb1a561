// SPDX-License-Identifier: Apache-2.0
#include "runtime/store_line.hpp"

#include "runtime/probe.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

bool ill(const Error& error) noexcept {
    return error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::maybe_applied;
}

template <class Outcome>
Result<Outcome> unset() {
    return Error(ErrorKind::internal, "no result set");  // by the driver; short, because it is made for every row
}

/// The rows of one kind inside a batch, as the driver wants them, and back.
template <class Request, class Outcome>
struct Rows {
    std::vector<Request> in;
    std::vector<Result<Outcome>> out;

    void gather(std::span<Job* const> jobs) {
        in.reserve(jobs.size());
        out.reserve(jobs.size());
        for (Job* job : jobs) {
            in.push_back(std::get<Request>(static_cast<StoreJob*>(job)->in));
            out.push_back(unset<Outcome>());
        }
    }
    void spread(std::span<Job* const> jobs) {
        for (std::size_t i = 0; i < jobs.size(); ++i) static_cast<StoreJob*>(jobs[i])->out = std::move(out[i]);
    }
    const Error* trouble(std::size_t& failed) const {
        const Error* found = nullptr;
        for (const auto& one : out)
            if (!one && ill(one.error())) ++failed, found = &one.error();
        return found;
    }
    StoreMillis heard() const {
        for (const auto& one : out)
            if (one) return one->now;
        return 0;
    }
};

constexpr unsigned urgent_group = 1;

}  // namespace

void StoreJob::fail(const Error& error) {
    switch (kind()) {
        case begins: out.emplace<Result<BeginOutcome>>(error); break;
        case finishes: out.emplace<Result<FinishOutcome>>(error); break;
        case renews: out.emplace<Result<RenewOutcome>>(error); break;
        case finds: out.emplace<Result<FindOutcome>>(error); break;
        default: std::get<Other>(in)(nullptr, &error, deadline()); break;
    }
}

/// The queue's workers may outlive the line when a driver is stuck, so what carries holds the line.
class StoreLine::BatchCarrier final : public Carrier {
public:
    explicit BatchCarrier(std::weak_ptr<StoreLine> line) : line_(std::move(line)) {}
    void carry(std::span<Job* const> batch) noexcept override {
        if (const auto line = line_.lock()) return line->carry(batch);
        for (Job* job : batch) job->fail(Error(ErrorKind::unavailable, "the engine is closed"));
    }
    void overdue() noexcept override {
        if (const auto line = line_.lock()) {
            const Error why(ErrorKind::unavailable, "the driver keeps no deadline");
            line->judge(false, false, &why);
        }
    }

private:
    const std::weak_ptr<StoreLine> line_;
};

std::shared_ptr<StoreLine> StoreLine::make(std::shared_ptr<Store> store, Options options, Timers& timers,
                                           LineWatch watch) {
    std::shared_ptr<StoreLine> line(new StoreLine(std::move(store), std::move(options), std::move(watch)));
    if (line->direct()) return line;
    BatchQueue::Options queue;
    queue.what = "store '" + line->options_.data_source + "'";
    queue.slots = static_cast<unsigned>(line->traits_.max_sessions);
    queue.batch_max = line->traits_.batch_max;
    queue.queue_max = line->options_.queue_max;
    // Begin and finish in one transaction would deadlock between two nodes where batches wait for rows; a store that
    // has one writer, or never waits, may mix them, and saves a commit.
    queue.group = {
        0,
        line->traits_.one_commit_for_begin_and_finish ? static_cast<unsigned char>(0) : static_cast<unsigned char>(2),
        urgent_group,
        3,
        4,
        5,
        6,
        7};
    queue.urgent = urgent_group;
    queue.arm = [&timers, weak = std::weak_ptr<StoreLine>(line)](Deadline when) {
        timers.at(when, [weak] {
            if (const auto alive = weak.lock()) alive->queue_->sweep(Clock::now());
        });
    };
    line->queue_ = std::make_unique<BatchQueue>(std::make_shared<BatchCarrier>(line), std::move(queue));
    return line;
}

StoreLine::StoreLine(std::shared_ptr<Store> store, Options options, LineWatch watch)
    : store_(std::move(store)),
      options_(std::move(options)),
      traits_([this] {
          StoreTraits traits = store_->traits();
          if (options_.max_sessions) traits.max_sessions = *options_.max_sessions;
          traits.max_sessions = std::clamp<std::size_t>(traits.max_sessions, 1, 64);
          traits.batch_max = std::clamp<std::size_t>(std::min(traits.batch_max, options_.batch_max), 1, 4096);
          return traits;
      }()),
      watch_(std::move(watch)),
      sessions_(store_),
      breaker_(options_.breaker_failures, options_.breaker_open),
      calm_since_(Clock::now().time_since_epoch().count()) {}

StoreLine::~StoreLine() { stop(); }

void StoreLine::stop() {
    if (queue_) queue_->stop();
}

// ---- health

std::optional<Error> StoreLine::admit() {
    if (breaker_.allow(Clock::now())) return std::nullopt;
    return Error(ErrorKind::unavailable, "store '" + options_.data_source + "' is away", {},
                 "calls are let through again as soon as it answers (breaker.open-millis)");
}

void StoreLine::judge(bool ok, bool wrote, const Error* why) {
    if (!ok) {
        troubled_.store(true, std::memory_order_release);
        if (breaker_.failed(Clock::now())) watch_.away(why);
        return;
    }
    // Owners could not renew meanwhile: they get one lease before anybody counts them as dead. Only a write proves that
    // they can again: a store may answer reads while it takes no writes.
    if (wrote && troubled_.load(std::memory_order_acquire) && troubled_.exchange(false))
        calm_since_.store(Clock::now().time_since_epoch().count(), std::memory_order_release);
    if (breaker_.succeeded()) watch_.back();
}

bool StoreLine::in_grace(std::chrono::milliseconds lease, Clock::time_point now) const noexcept {
    if (troubled_.load(std::memory_order_acquire)) return true;
    const Clock::time_point since(Clock::duration(calm_since_.load(std::memory_order_acquire)));
    return now < since + lease;
}

// ---- direct

template <class Outcome, class Request, class Call>
Result<Outcome> StoreLine::directly(observe::StoreOp op, const Request& request, Deadline deadline,
                                    Clock::time_point now, Call call) {
    auto session = sessions_.take(deadline);
    if (!session) return session.error();
    Result<Outcome> out = unset<Outcome>();
    call(**session, std::span<const Request>(&request, 1), std::span<Result<Outcome>>(&out, 1), deadline);
    const bool bad = !out && ill(out.error());
    if (out) clock_.heard(out->now, now);
    watch_.called(op, 1, {}, out ? nullptr : &out.error());
    if (bad || troubled_.load(std::memory_order_relaxed))
        judge(!bad, op != observe::StoreOp::find, bad ? &out.error() : nullptr);
    if (!bad) sessions_.give_back(*std::move(session));
    return out;
}

Result<BeginOutcome> StoreLine::begin(BeginRequest request, Deadline deadline, Clock::time_point now) {
    request.not_after = clock_.at(deadline);
    return directly<BeginOutcome>(observe::StoreOp::begin, request, deadline, now,
                                  [](auto& s, auto in, auto out, Deadline d) { s.begin(in, out, d); });
}
Result<FinishOutcome> StoreLine::finish(const FinishRequest& request, Deadline deadline, Clock::time_point now) {
    return directly<FinishOutcome>(observe::StoreOp::finish, request, deadline, now,
                                   [](auto& s, auto in, auto out, Deadline d) { s.finish(in, out, d); });
}
Result<RenewOutcome> StoreLine::renew(const RenewRequest& request, Deadline deadline, Clock::time_point now) {
    return directly<RenewOutcome>(observe::StoreOp::renew, request, deadline, now,
                                  [](auto& s, auto in, auto out, Deadline d) { s.renew(in, out, d); });
}
Result<FindOutcome> StoreLine::find(const FindRequest& request, Deadline deadline, Clock::time_point now) {
    return directly<FindOutcome>(observe::StoreOp::find, request, deadline, now,
                                 [](auto& s, auto in, auto out, Deadline d) { s.find(in, out, d); });
}

// ---- through the queue

std::optional<Error> StoreLine::run(const std::shared_ptr<StoreJob>& job) {
    if (auto refused = admit()) return refused;
    if (!queue_) {
        Job* const alone = job.get();
        job->take();
        carry({&alone, 1});
        job->finish();
        return std::nullopt;
    }
    return queue_->run(job);
}

void StoreLine::submit(const std::shared_ptr<StoreJob>& job) {
    // Renewals come at their own slow pace and are the first that must get through: they pass an open breaker, and
    // close it.
    if (auto refused = job->kind() == StoreJob::renews ? std::nullopt : admit()) {
        std::exchange(job->sink, nullptr)->job_done(job, std::move(refused));
        return;
    }
    if (queue_) return queue_->submit(job);
    Job* const alone = job.get();
    job->take();
    carry({&alone, 1});
    job->finish();
    std::exchange(job->sink, nullptr)->job_done(job, std::nullopt);
}

std::optional<Error> StoreLine::with_session(Deadline deadline, std::function<bool(StoreSession&, Deadline)> work) {
    auto trouble = std::make_shared<std::optional<Error>>();
    auto job = std::make_shared<StoreJob>(
        StoreJob::Other([trouble, work = std::move(work)](StoreSession* session, const Error* error, Deadline until) {
            if (session) return work(*session, until);
            *trouble = *error;
            return false;
        }),
        deadline, nullptr);
    if (auto lost = run(job)) return lost;
    return *trouble;
}

void StoreLine::carry(std::span<Job* const> batch) noexcept {
    Deadline deadline = batch.front()->deadline();
    for (const Job* job : batch) deadline = std::max(deadline, job->deadline());

    auto session = sessions_.take(std::min(deadline, Clock::now() + options_.session_wait));
    if (!session) {
        judge(false, false, &session.error());
        for (Job* job : batch) job->fail(session.error());
        return;
    }
    StoreSession& with = **session;
    if (!clock_.known())
        if (const auto now = with.now(deadline)) clock_.heard(*now, Clock::now());

    auto of_kind = [&](unsigned kind) {
        const auto first =
            std::find_if(batch.begin(), batch.end(), [&](const Job* job) { return job->kind() == kind; });
        const auto last = std::find_if(first, batch.end(), [&](const Job* job) { return job->kind() != kind; });
        return batch.subspan(static_cast<std::size_t>(first - batch.begin()), static_cast<std::size_t>(last - first));
    };
    std::size_t failed = 0;
    std::size_t rows = 0;
    std::optional<Error> why;
    const auto sent = Clock::now();
    auto called = [&](observe::StoreOp op, const auto& part) {
        const auto received = Clock::now();
        rows += part.in.size();
        std::size_t bad = 0;
        const Error* const error = part.trouble(bad);
        if (error) why = *error;
        failed += bad;
        if (const StoreMillis told = part.heard()) clock_.heard(told, received);
        watch_.called(op, part.in.size(), received - sent, error);
    };

    Rows<BeginRequest, BeginOutcome> begins;
    Rows<FinishRequest, FinishOutcome> finishes;
    Rows<RenewRequest, RenewOutcome> renews;
    Rows<FindRequest, FindOutcome> finds;
    const auto begin_jobs = of_kind(StoreJob::begins);
    const auto finish_jobs = of_kind(StoreJob::finishes);
    const auto renew_jobs = of_kind(StoreJob::renews);
    const auto find_jobs = of_kind(StoreJob::finds);
    begins.gather(begin_jobs);
    for (std::size_t i = 0; i < begin_jobs.size(); ++i) begins.in[i].not_after = clock_.at(begin_jobs[i]->deadline());
    finishes.gather(finish_jobs);
    if (!begins.in.empty() && !finishes.in.empty()) {
        with.write(finishes.in, finishes.out, begins.in, begins.out, deadline);
    } else if (!begins.in.empty()) {
        with.begin(begins.in, begins.out, deadline);
    } else if (!finishes.in.empty()) {
        with.finish(finishes.in, finishes.out, deadline);
    }
    if (!finishes.in.empty()) {
        probe("finish-sent");
        called(observe::StoreOp::finish, finishes);
        finishes.spread(finish_jobs);
    }
    if (!begins.in.empty()) {
        called(observe::StoreOp::begin, begins);
        begins.spread(begin_jobs);
    }
    if (!renew_jobs.empty()) {
        renews.gather(renew_jobs);
        with.renew(renews.in, renews.out, deadline);
        called(observe::StoreOp::renew, renews);
        renews.spread(renew_jobs);
    }
    if (!find_jobs.empty()) {
        finds.gather(find_jobs);
        with.find(finds.in, finds.out, deadline);
        called(observe::StoreOp::find, finds);
        finds.spread(find_jobs);
    }
    bool well = true;
    for (Job* job : of_kind(StoreJob::others))
        well = std::get<StoreJob::Other>(static_cast<StoreJob*>(job)->in)(&with, nullptr, job->deadline()) && well;
    if (!well && !why) why = Error(ErrorKind::unavailable, "store '" + options_.data_source + "' failed");
    judge(well && (failed == 0 || failed < rows), find_jobs.empty(), why ? &*why : nullptr);
    if (failed == 0 && well) sessions_.give_back(*std::move(session));
}

}  // namespace nebis::runtime
