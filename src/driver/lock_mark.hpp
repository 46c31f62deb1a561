// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// What lies under a lock's name in a service that can't end a lock by itself to the millisecond.
namespace nebis::driver {

using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// Whose the lock is, and until when by the wall clock: the one clock that instances have in common with such a service
/// in between. A clock that is wrong costs reads of the store, never a second effect; the service's own time limit
/// bounds a lock whose end is wrong.
struct LockMark {
    Owner owner;
    std::int64_t until_millis = 0;  ///< since 1970
};

/// 24 bytes: the owner, 16; the end, 8, big endian. So of two marks of one owner the later one is the greater text.
std::string encode(const LockMark& mark);
/// Empty: not ours, as if nothing lay there.
std::optional<LockMark> decode_mark(std::string_view bytes);

/// By this clock, or the system's if it is empty.
std::int64_t wall_millis(const WallClock& clock);
/// `now` + lease, with a lease of at least 1 ms and at most a hundred years.
std::int64_t end_of_lease(std::int64_t now_millis, std::int64_t lease_millis);

/// `<prefix>idempotent:lock:<SHA-256 of the trace id, in hex>`; never a caller's bytes.
std::string lock_name(std::string_view prefix, std::string_view trace_id);
/// **Errors**: `misconfigured` (code `word`) when a prefix holds other than up to 64 letters, digits, . _ : - and /.
Result<void> check_prefix(std::string_view prefix, const char* word);

}  // namespace nebis::driver
