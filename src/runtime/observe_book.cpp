// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe_book.hpp"

#include <iterator>

namespace nebis::runtime {

observe::Would ObserveBook::begin(std::string_view trace_id, const RequestHash& hash, Clock::time_point now) {
    using observe::Would;
    const std::lock_guard lock(mutex_);
    if (const auto place = by_trace_id_.find(trace_id); place != by_trace_id_.end()) {
        Seen& seen = *place->second;
        if (seen.expires > now) {
            if (seen.hash != hash) return Would::refuse_mismatch;
            switch (seen.status) {
                case RecordStatus::processing: return Would::refuse_in_progress;
                case RecordStatus::success:
                case RecordStatus::rejected: return Would::replay;
                case RecordStatus::unknown: return Would::refuse_unknown;
                case RecordStatus::marked: return Would::refuse_duplicate;
                case RecordStatus::fail: break;
            }
        }
        seen.hash = hash;
        seen.status = RecordStatus::processing;
        seen.expires = Clock::time_point::max();
        return Would::run;
    }
    if (oldest_first_.size() >= max_entries) {
        by_trace_id_.erase(oldest_first_.front().trace_id);
        oldest_first_.pop_front();
    }
    oldest_first_.push_back({std::string(trace_id), hash});
    const auto last = std::prev(oldest_first_.end());
    by_trace_id_.emplace(last->trace_id, last);
    return Would::run;
}

void ObserveBook::finish(std::string_view trace_id, RecordStatus status, Clock::time_point expires) {
    const std::lock_guard lock(mutex_);
    const auto place = by_trace_id_.find(trace_id);
    if (place == by_trace_id_.end()) return;
    place->second->status = status;
    place->second->expires = expires;
}

}  // namespace nebis::runtime
