// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

namespace nebis::test {

/// Polls until `holds`, at most `longest`; false: it never did.
template <class Condition>
bool eventually(Condition holds, std::chrono::seconds longest = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + longest;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace nebis::test
