// SPDX-License-Identifier: Apache-2.0
#include "runtime/call.hpp"

namespace nebis::runtime {

/// What the machine is to a protected request, this is to one that runs without protection: switched off, without a
/// key, or observed. It writes nothing anywhere.
protocol::Action Call::unprotected(const Event& event) {
    Action action;
    action.unprotected = true;
    action.recorded = false;
    const bool observed = keyed_ && operation_->settings.enforcement == Enforcement::observe;
    switch (event.kind) {
        case Event::Kind::start:
            if (!keyed_ && operation_->settings.enforcement == Enforcement::enforce) operation_->metrics.keyless.add();
            if (observed) {
                would_ = operation_->observed.begin(execution_.trace_id, hash_, Clock::now());
                if (would_ == observe::Would::run) {
                    // Another instance may enforce already: its record says more than our memory.
                    action.kind = Action::Kind::find;
                    action.until = event.now + operation_->settings.budget.count();
                    return action;
                }
                operation_->metrics.observed[would_].add();
            }
            action.kind = Action::Kind::run;
            return action;
        case Event::Kind::found:
        case Event::Kind::find_failed:
            if (event.kind == Event::Kind::found) would_ = would_be(event.row);
            operation_->metrics.observed[would_].add();
            action.kind = Action::Kind::run;
            return action;
        case Event::Kind::handled:
            if (observed && would_ == observe::Would::run)
                operation_->observed.finish(
                    execution_.trace_id, operation_->settings.mode == Mode::mark ? RecordStatus::marked : event.result,
                    Clock::now() + operation_->settings.retention);
            action.kind = Action::Kind::answer;
            action.verdict = event.not_started ? protocol::Verdict::unavailable : protocol::Verdict::fresh;
            action.status = event.result;
            return action;
        case Event::Kind::proceed: action.kind = Action::Kind::done; return action;
        default: return action;  // the caller has left: nothing to stop
    }
}

observe::Would Call::would_be(const protocol::RowView& row) const {
    using observe::Would;
    if (!row.exists || row.expired || row.status == RecordStatus::fail) return Would::run;
    if (!row.fits) return Would::refuse_mismatch;
    switch (row.status) {
        case RecordStatus::success:
        case RecordStatus::rejected: return Would::replay;
        case RecordStatus::marked: return Would::refuse_duplicate;
        case RecordStatus::unknown: return Would::refuse_unknown;
        default: return Would::refuse_in_progress;
    }
}

}  // namespace nebis::runtime
