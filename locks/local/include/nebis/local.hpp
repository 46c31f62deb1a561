// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/gate.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

/// The gate and lock inside one process: nothing to install, nothing to fail. Several processes that share a store are
/// kept apart by the store alone, which is what it is for.
namespace nebis::local {

struct Options {
    std::size_t results = 0;  ///< how many finished results are kept; 0: none
    std::chrono::milliseconds result_life{
        2000};  ///< none is given longer than this: an operator's purge elsewhere takes full effect after it
    std::function<std::chrono::steady_clock::time_point()> clock = {};  ///< for tests; empty: the monotonic clock
};

/// **Threads**: safe, sessions too. Never waits, never fails.
std::shared_ptr<Gate> gate(Options options = {});
std::shared_ptr<Lock> lock(Options options = {});

/// Registers the gate driver "local" and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::local
