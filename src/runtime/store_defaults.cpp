// SPDX-License-Identifier: Apache-2.0
#include "nebis/store.hpp"

#include <algorithm>
#include <thread>

namespace nebis {

bool Store::wait_for_change(Deadline deadline) {
    // It can't tell, so it says "perhaps" at a pace that costs a poller nothing and a waiter little.
    constexpr std::chrono::milliseconds step{20};
    const auto now = std::chrono::steady_clock::now();
    std::this_thread::sleep_until(std::min(deadline, now + step));
    return now + step <= deadline;
}

}  // namespace nebis
