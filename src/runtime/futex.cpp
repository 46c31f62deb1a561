// SPDX-License-Identifier: Apache-2.0
#include "runtime/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace nebis::runtime {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::steady_clock::time_point deadline) noexcept {
    using namespace std::chrono;
    const auto since_boot = std::max(deadline.time_since_epoch(), steady_clock::duration::zero());  // CLOCK_MONOTONIC
    const auto whole = duration_cast<seconds>(since_boot);
    timespec until{};
    until.tv_sec = static_cast<time_t>(whole.count());
    until.tv_nsec = static_cast<long>(duration_cast<nanoseconds>(since_boot - whole).count());
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<std::uint32_t>& word, bool all) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1, nullptr, nullptr, 0);
}

}  // namespace nebis::runtime
