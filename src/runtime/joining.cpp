// SPDX-License-Identifier: Apache-2.0
#include "observe/mark.hpp"
#include "runtime/call.hpp"
#include "runtime/futex.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {

/// The answers a joiner shares: every recorded outcome, a FAIL too, so that no herd runs again; and what the store said
/// about the key. Only a leader that never started, was fenced off or was left by its caller makes it begin again.
Call::SharedKind Call::shared_kind(const Answer& answer, protocol::Verdict verdict) const {
    using Verdict = protocol::Verdict;
    const bool held = operation_->rules.on_unknown == OnUnknown::hold && operation_->settings.mode != Mode::atomic;
    switch (verdict) {
        case Verdict::fresh:
            if (!answer.recorded && !answer.unprotected) return SharedKind::running;
            return ended_as_ == RecordStatus::unknown && !held ? SharedKind::again : SharedKind::answer;
        case Verdict::in_progress: return SharedKind::retry_if_time_left;
        case Verdict::fenced_off:
        case Verdict::over_quota:  // a joiner may be another caller
        case Verdict::abandoned: return SharedKind::again;
        case Verdict::unavailable:
            return handler_ran_ || answer.fencing_token == 0 ? SharedKind::answer : SharedKind::again;
        case Verdict::unknown: return held ? SharedKind::answer : SharedKind::again;
        default: return SharedKind::answer;
    }
}

/// False: this call is a joiner, and is answered by its leader or has been answered already.
bool Call::join_or_lead() {
    leads_ = false;
    if (operation_->settings.mode == Mode::mark)
        return true;  // the first decides, the others are refused: nothing to share
    const bool waits = operation_->rules.wait_for_answer || options_.patient;
    for (;;) {
        const std::uint32_t ticket = open_wait();
        switch (services_->flights.enter(*this, key(), hash_, waits)) {
            case Flights::Entry::leads: leads_ = true; [[fallthrough]];
            case Flights::Entry::alone: close_wait(ticket); return true;
            case Flights::Entry::busy:
            case Flights::Entry::full: {
                close_wait(ticket);
                Answer busy = bare(Outcome::in_progress);
                busy.joined = true;
                busy.retry_after = std::chrono::milliseconds(busy_retry_millis);
                refused_duplicate(busy);
                end_with(std::move(busy));
                return false;
            }
            case Flights::Entry::joined: break;
        }
        NEBIS_MARK("joined a leader of this process");
        operation_->metrics.waiting.add();
        if (options_.executor) {
            const std::lock_guard lock(wait_mutex_);
            if (signal_.load(std::memory_order_acquire) == ticket)
                timer_ =
                    services_->timers.at(joiner_deadline(), [self = shared_from_this()] { self->leader_timed_out(); });
            return false;
        }
        if (!wait_for_leader(ticket)) return false;
        // told to begin again
    }
}

Call::Clock::time_point Call::joiner_deadline() const {
    using std::chrono::milliseconds;
    if (options_.patient) return started_ + std::max(operation_->settings.lease_max, operation_->settings.wait);
    // One that doesn't wait for a running attempt still learns whether there is one: that takes no longer than a begin.
    return started_ + (operation_->rules.wait_for_answer ? operation_->settings.wait : operation_->settings.budget);
}

/// Blocking. True: begin again.
bool Call::wait_for_leader(std::uint32_t ticket) {
    const Clock::time_point deadline = joiner_deadline();
    while (signal_.load(std::memory_order_acquire) == ticket) {
        if (Clock::now() < deadline) {
            futex_wait(signal_, ticket, deadline);
        } else if (services_->flights.go(key(), this)) {
            operation_->metrics.waiting.sub();
            close_wait(ticket);
            end_with(joiner_out_of_time());
            return false;
        } else {
            futex_wait(signal_, ticket, Clock::now() + std::chrono::milliseconds(10));  // its leader is about to tell
        }
    }
    operation_->metrics.waiting.sub();
    return heard();
}

void Call::leader_timed_out() {
    if (!options_.executor || !services_->flights.go(key(), this)) return;
    operation_->metrics.waiting.sub();
    close_wait(signal_.load(std::memory_order_acquire));
    drop_timer();
    end_with(joiner_out_of_time());
}

/// One that waits for the end of an attempt may say "in progress" when its time is up. One that only waited to learn
/// whether there is an attempt still doesn't know: its leader has had no word from the store.
Answer Call::joiner_out_of_time() const {
    if (operation_->rules.wait_for_answer || options_.patient) return joiner_late();
    const char* const why = "the request could not be begun in time";
    Answer answer = refused(Error(ErrorKind::unavailable, why), Outcome::unavailable);
    answer.joined = true;
    return answer;
}

Answer Call::joiner_late() const {
    Answer late = bare(Outcome::in_progress);
    late.joined = true;
    late.retry_after = std::chrono::milliseconds(busy_retry_millis);
    refused_duplicate(late);
    return late;
}

/// On the leader's thread.
void Call::told(std::shared_ptr<const Shared> shared) {
    shared_ = std::move(shared);
    const std::uint32_t ticket = signal_.load(std::memory_order_acquire);
    if (!options_.executor) {
        close_wait(ticket);
        futex_wake(signal_);
        return;
    }
    close_wait(ticket);
    drop_timer();
    operation_->metrics.waiting.sub();
    if (!heard()) return;
    if (options_.executor == &inline_executor()) return begin_work();
    try {
        options_.executor->post([self = shared_from_this()] { self->begin_work(); });
    } catch (...) {
        begin_work();
    }
}

/// True: begin again. Else the answer has been delivered.
bool Call::heard() {
    const std::shared_ptr<const Shared> shared = std::move(shared_);
    const bool time_left = Clock::now() + std::chrono::milliseconds(1) < joiner_deadline();
    const bool waits = operation_->rules.wait_for_answer || options_.patient;
    if (gone_.load(std::memory_order_acquire) && shared->kind != SharedKind::answer) {
        end_with(joiner_late());
        return false;
    }
    switch (shared->kind) {
        case SharedKind::again:
            if (time_left) return true;
            break;
        case SharedKind::retry_if_time_left:
            if (time_left && waits) return true;
            break;
        case SharedKind::running: break;
        case SharedKind::answer: {
            Answer answer = shared->answer;
            answer.request_id = execution_.request_id;
            operation_->metrics.joined.add();
            end_with(std::move(answer));
            return false;
        }
    }
    Answer busy = joiner_late();
    if (shared->answer.retry_after.count() > 0) busy.retry_after = shared->answer.retry_after;
    end_with(std::move(busy));
    return false;
}

/// The attempt starts: those who don't wait for it learn so now.
void Call::mark_running() {
    if (!leads_) return;
    const auto impatient = services_->flights.running(key(), this);
    if (impatient.empty()) return;
    auto shared = std::make_shared<Shared>();
    shared->kind = SharedKind::running;
    for (const auto& joiner : impatient) joiner->told(shared);
}

void Call::land(const Answer& answer, protocol::Verdict verdict) {
    if (!leads_) return;
    leads_ = false;
    const auto joiners = services_->flights.landed(key(), this);
    if (joiners.empty()) return;
    auto shared = std::make_shared<Shared>();
    shared->kind = shared_kind(answer, verdict);
    shared->answer = answer;
    if (answer.outcome == Outcome::fresh) {
        if (ended_as_ == RecordStatus::unknown) {
            // Its caller got the exception; a duplicate gets what it would get from the record.
            shared->answer = bare(Outcome::outcome_unknown);
        } else if (!answer.failure || answer.rejected) {
            if (operation_->settings.on_finished == OnFinished::refuse) {
                shared->answer = bare(Outcome::duplicate);
            } else {
                shared->answer.outcome = Outcome::replayed;
                shared->answer.failure = nullptr;
                if (too_large_) shared->answer.response = tombstone_;
            }
        }
        refused_duplicate(shared->answer);
    }
    shared->answer.handler_ran = false;
    shared->answer.joined = true;
    for (const auto& joiner : joiners) joiner->told(shared);
}

}  // namespace nebis::runtime
