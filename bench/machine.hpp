// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace nebis::bench {

/// Where and what was measured: figures without it are worth little.
struct Machine {
    std::string cpu;
    unsigned cores = 0;
    double memory_gib = 0;
    std::string kernel;
    std::string compiler;
    std::string build;  ///< build type and flags
    std::string sqlite;
    std::string commit;  ///< "+" at its end: the tree has changes that are not committed
    std::string time;    ///< UTC
    double load = 0;     ///< load average of the last minute, before the start
};

Machine machine();

}  // namespace nebis::bench
