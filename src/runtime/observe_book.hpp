// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "observe/metrics.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nebis::runtime {

/// Observe mode (S50): what this process would have written, kept in memory alone, so that it can count what it would
/// have refused or replayed without touching the store. Bounded; the oldest go first. **Threads**: safe.
class ObserveBook {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t max_entries = 100'000;

    /// What enforcement would have done with this request; remembers it as running when it would have run.
    observe::Would begin(std::string_view trace_id, const RequestHash& hash, Clock::time_point now);
    void finish(std::string_view trace_id, RecordStatus status, Clock::time_point expires);

private:
    struct Seen {
        std::string trace_id;
        RequestHash hash;
        RecordStatus status = RecordStatus::processing;
        Clock::time_point expires = Clock::time_point::max();
    };
    std::mutex mutex_;
    std::list<Seen> oldest_first_;
    std::unordered_map<std::string_view, std::list<Seen>::iterator> by_trace_id_;
};

}  // namespace nebis::runtime
