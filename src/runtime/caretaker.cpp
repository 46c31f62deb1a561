// SPDX-License-Identifier: Apache-2.0
#include "runtime/caretaker.hpp"

#include "observe/mark.hpp"
#include "runtime/own_thread.hpp"
#include "runtime/probe.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

using std::chrono::milliseconds;

constexpr auto pass_wait = std::chrono::seconds(5);
constexpr auto longest_sleep = std::chrono::seconds(60);

std::int64_t wall_millis() {
    return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_trouble(const Error& error) {
    return error.kind() == ErrorKind::unavailable || error.kind() == ErrorKind::maybe_applied;
}

}  // namespace

Resolution ask_coordinator(TransactionHooks& hooks, const Record& record) {
    Resolution resolution;
    if (record.outcome_ref.empty()) {
        // The id is written before the first branch: without one nothing was begun.
        resolution.kind = Resolution::Kind::did_not_happen;
        return resolution;
    }
    try {
        const auto decision = hooks.decision(record.outcome_ref);
        if (!decision) return resolution;
        switch (*decision) {
            case TransactionHooks::Decision::committed:
                resolution.kind = Resolution::Kind::happened;
                resolution.response = record.response.value_or(Response{});
                break;
            case TransactionHooks::Decision::rolled_back: resolution.kind = Resolution::Kind::did_not_happen; break;
            case TransactionHooks::Decision::never_heard:
                // "Don't know" is not "rolled back" unless the coordinator promises it.
                if (hooks.presumed_abort()) resolution.kind = Resolution::Kind::did_not_happen;
                break;
            case TransactionHooks::Decision::undecided: break;
        }
    } catch (...) {
        NEBIS_MARK("the coordinator threw");
    }
    return resolution;
}

Caretaker::Caretaker(std::shared_ptr<Services> services, FindOperation find, LongestLease longest)
    : services_(std::move(services)), find_(std::move(find)), longest_(std::move(longest)) {}

void Caretaker::add(std::shared_ptr<StoreLine> store) {
    const config::SchedulerSettings& settings = services_->settings.scheduler;
    const auto cron = config::Cron::parse(settings.cron);  // checked when the configuration was read
    if (!cron) return;
    upkeep::Recovery::Rules recovery;
    recovery.interval = settings.interval.count();
    recovery.batch = settings.recovery_batch;
    upkeep::Cleanup::Rules cleanup;
    cleanup.batch = settings.cleanup_batch;
    const std::lock_guard lock(mutex_);
    care_.push_back(std::make_shared<Care>(Care{std::move(store), upkeep::Recovery(recovery, millis_of(Clock::now())),
                                                upkeep::Cleanup(cleanup, *cron, wall_millis())}));
    changed_.notify_all();
}

// ---- passes

Result<std::size_t> Caretaker::recover(StoreLine& store) {
    const config::SchedulerSettings& settings = services_->settings.scheduler;
    RecoverRequest request;
    request.limit = settings.recovery_batch;
    request.min_age_millis = settings.processing_timeout.count();
    if (settings.own_rows_only) request.own_instance = services_->instance;
    auto rows = std::make_shared<Result<std::vector<Record>>>(std::vector<Record>{});
    probe("in-recovery");
    auto lost = store.with_session(Clock::now() + pass_wait, [rows, request](StoreSession& session, Deadline deadline) {
        *rows = session.recover(request, deadline);
        return rows->has_value() || !is_trouble(rows->error());
    });
    if (lost) return *std::move(lost);
    if (!*rows) return rows->error();
    for (const Record& record : **rows) {
        const auto operation = find_(record.operation);
        if (operation) operation->metrics.recoveries[observe::RecoveredTo::unknown].add();
        services_->watch->log->write({.level = observe::Level::warn,
                                      .message = "an attempt never ended; its outcome is unknown",
                                      .operation = record.operation,
                                      .key_hash = observe::key_hash(record.trace_id),
                                      .attempt = record.attempts,
                                      .version = record.version,
                                      .store = store.data_source()});
        decide(store, record);
    }
    return (*rows)->size();
}

/// `hooked`: the coordinator decides what the record becomes.
void Caretaker::decide(StoreLine& store, const Record& record) {
    const auto operation = find_(record.operation);
    if (!operation || operation->settings.mode != Mode::hooked) return;
    auto resolution =
        std::make_shared<Resolution>(ask_coordinator(*operation->settings.transaction_hooks.object, record));
    if (resolution->kind == Resolution::Kind::dont_know) return;
    struct Kept {
        Record record;
        std::shared_ptr<Resolution> resolution;
    };
    auto kept = std::make_shared<Kept>(Kept{record, resolution});
    FinishRequest request;
    request.trace_id = kept->record.trace_id;
    request.version = record.version;
    request.owner = record.owner;
    request.from_processing = false;
    request.retention_millis = operation->settings.retention.count();
    request.status = resolution->kind == Resolution::Kind::happened ? RecordStatus::success : RecordStatus::fail;
    if (request.status == RecordStatus::success) request.response = &kept->resolution->response;
    (void)store.run(
        std::make_shared<StoreJob>(request, Clock::now() + pass_wait, kept));  // else the next duplicate asks
}

Result<std::size_t> Caretaker::clean(StoreLine& store) {
    auto rows = std::make_shared<Result<std::size_t>>(std::size_t{0});
    const CleanRequest request{services_->settings.scheduler.cleanup_batch};
    probe("in-cleanup");
    auto lost = store.with_session(Clock::now() + pass_wait, [rows, request](StoreSession& session, Deadline deadline) {
        *rows = session.clean(request, deadline);
        return rows->has_value() || !is_trouble(rows->error());
    });
    if (lost) return *std::move(lost);
    if (*rows) store.watch().metrics().cleaned.add(**rows);
    return *rows;
}

Caretaker::Clock::time_point Caretaker::tick() {
    std::vector<std::shared_ptr<Care>> care;
    if (services_->settings.scheduler.enabled) {
        const std::lock_guard lock(mutex_);
        care = care_;
    }
    const std::lock_guard one_at_a_time(working_);
    Clock::time_point next = Clock::now() + longest_sleep;
    for (const auto& one : care) {
        if (one->recovery.due(millis_of(Clock::now()))) {
            if (one->store->in_grace(longest_(*one->store))) {
                one->recovery.postponed(millis_of(Clock::now()));
            } else if (const auto rows = recover(*one->store)) {
                one->recovery.passed(millis_of(Clock::now()), *rows);
            } else {
                one->recovery.postponed(millis_of(Clock::now()));
            }
        }
        if (one->cleanup.due(wall_millis())) {
            if (const auto rows = clean(*one->store))
                one->cleanup.cleaned(wall_millis(), *rows);
            else
                one->cleanup.failed(wall_millis());
        }
        next = std::min(next, Clock::time_point(milliseconds(one->recovery.next())));
        const std::int64_t until_cleanup = one->cleanup.next() - wall_millis();
        if (until_cleanup < std::chrono::milliseconds(longest_sleep).count())
            next = std::min(next, Clock::now() + milliseconds(until_cleanup));
    }
    return next;
}

Result<std::size_t> Caretaker::recover_now() {
    std::vector<std::shared_ptr<Care>> care;
    {
        const std::lock_guard lock(mutex_);
        care = care_;
    }
    const std::lock_guard one_at_a_time(working_);
    std::size_t all = 0;
    for (const auto& one : care) {
        if (one->store->in_grace(longest_(*one->store))) continue;  // its owners renew and finish first
        for (std::size_t got = services_->settings.scheduler.recovery_batch;
             got >= services_->settings.scheduler.recovery_batch;) {
            const auto rows = recover(*one->store);
            if (!rows) return rows.error();
            all += got = *rows;
        }
    }
    return all;
}

Result<std::size_t> Caretaker::clean_now() {
    std::vector<std::shared_ptr<Care>> care;
    {
        const std::lock_guard lock(mutex_);
        care = care_;
    }
    const std::lock_guard one_at_a_time(working_);
    std::size_t all = 0;
    for (const auto& one : care) {
        for (std::size_t got = services_->settings.scheduler.cleanup_batch;
             got >= services_->settings.scheduler.cleanup_batch;) {
            const auto rows = clean(*one->store);
            if (!rows) return rows.error();
            all += got = *rows;
        }
    }
    return all;
}

// ---- its thread

void Caretaker::run_in_background() {
    const std::lock_guard lock(mutex_);
    if (!services_->settings.scheduler.enabled || stopping_ || thread_.joinable()) return;
    thread_ = std::thread([this] { loop(); });
}

void Caretaker::loop() {
    own_thread = true;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        const Clock::time_point next = tick();
        lock.lock();
        if (!stopping_) changed_.wait_until(lock, std::max(next, Clock::now() + milliseconds(1)));
    }
}

void Caretaker::stop() {
    std::thread thread;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        thread.swap(thread_);
        changed_.notify_all();
    }
    if (thread.joinable()) thread.join();
}

}  // namespace nebis::runtime
