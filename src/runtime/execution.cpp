// SPDX-License-Identifier: Apache-2.0
#include "nebis/execution.hpp"

#include "nebis/error.hpp"
#include "runtime/execution_state.hpp"

namespace nebis {

const std::string& Execution::key() const noexcept { return state_->key; }
const std::string& Execution::operation() const noexcept { return *state_->operation; }
const std::string& Execution::trace_id() const noexcept { return state_->trace_id; }
std::uint32_t Execution::attempt() const noexcept { return state_->attempt.load(std::memory_order_acquire); }
std::uint64_t Execution::fencing_token() const noexcept { return state_->version.load(std::memory_order_acquire); }
const std::string& Execution::request_id() const noexcept { return state_->request_id; }
std::stop_token Execution::stop_token() const noexcept { return state_->stop_token(); }
bool Execution::holds_lease() const noexcept { return state_->holds_lease(); }

std::string Execution::owner() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * state_->owner.bytes.size());
    for (const unsigned char byte : state_->owner.bytes) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

std::chrono::steady_clock::time_point Execution::deadline() const noexcept {
    using Clock = std::chrono::steady_clock;
    return Clock::time_point(Clock::duration(state_->lease_end.load(std::memory_order_acquire)));
}

void Execution::check() const {
    if (!holds_lease()) throw OutcomeUnknown("the lease of this attempt is lost; another attempt may be running");
}

}  // namespace nebis
