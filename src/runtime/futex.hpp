// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace nebis::runtime {

/// Sleep while `word` is `value`, at most until `deadline`. May return early. `std::atomic::wait` knows no time limit.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::steady_clock::time_point deadline) noexcept;
void futex_wake(const std::atomic<std::uint32_t>& word, bool all = false) noexcept;

}  // namespace nebis::runtime
