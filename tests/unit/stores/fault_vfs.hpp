// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace nebis::test {

/// A SQLite VFS that hands everything to the default one, and makes the n-th operation of a kind fail, once or for
/// ever. One for the whole program, registered under `name()`; faults count the operations of all connections that use
/// it.
class FaultVfs {
public:
    enum class Operation : std::uint8_t { open, read, write, sync, shared_memory, lock };

    static const std::string& name();

    /// From here on the n-th (1, 2, …) operation of that kind answers `code`; all later ones as well when `for_ever`.
    static void fail(Operation operation, int nth, int code, bool for_ever);
    /// From here on every flush takes that much longer.
    static void slow_flushes(std::chrono::milliseconds by);
    /// All is well again.
    static void heal();
    /// Did a planned fault strike since it was planned?
    static bool struck();
};

}  // namespace nebis::test
