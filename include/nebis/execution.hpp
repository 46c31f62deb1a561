// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/standard.hpp"

#include <cstdint>
#include <stop_token>
#include <string>

namespace nebis {

namespace runtime {
struct ExecutionState;
}

/// One attempt, as its handler sees it.
///
/// **Threads**: every member may be called from any thread. **Lifetime**: a copyable handle; it may outlive the call,
/// and then says that the lease is lost.
class Execution {
public:
    explicit Execution(std::shared_ptr<runtime::ExecutionState> state) : state_(std::move(state)) {}

    /// The idempotency key as the client gave it or the generator made it. Never log it.
    const std::string& key() const noexcept;
    const std::string& operation() const noexcept;
    /// The stored form of scope + operation + key (column `trace_id`).
    const std::string& trace_id() const noexcept;
    /// 1 for the first attempt on this record, then 2, 3 …
    std::uint32_t attempt() const noexcept;
    /// The record's version. Grows at every take-over: a resource that remembers the greatest token it saw can refuse
    /// an older attempt (S47). 0 inside `claim: inside` before the record is inserted.
    std::uint64_t fencing_token() const noexcept;
    /// Random id of this attempt, 32 hex digits.
    std::string owner() const;
    const std::string& request_id() const noexcept;
    /// The moment after which `check()` fails unless the lease is renewed meanwhile. Monotonic clock.
    std::chrono::steady_clock::time_point deadline() const noexcept;
    /// Fires, once and for good, when the lease can't be renewed.
    std::stop_token stop_token() const noexcept;
    /// True while the lease surely lives: the monotonic clock is before the last renewal's sending + lease − margin.
    bool holds_lease() const noexcept;
    /// Call before an effect that can't be undone. **Errors**: throws `OutcomeUnknown` when the lease is lost. Never
    /// waits.
    void check() const;

    const std::shared_ptr<runtime::ExecutionState>& state() const noexcept {
        return state_;
    }  ///< for drivers of `atomic`

private:
    std::shared_ptr<runtime::ExecutionState> state_;
};

}  // namespace nebis
