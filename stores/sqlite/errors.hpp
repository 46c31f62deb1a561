// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace nebis::sqlite {

/// SQLite's (extended) result code as an Error of ours. `doing` completes "SQLite could not …".
/// For everything but a commit: what failed is surely not applied once the transaction is rolled back.
Error error_of(int code, std::string_view doing, std::string detail);
Error error_of(sqlite3* connection, std::string_view doing);

/// Did a failed COMMIT surely leave nothing? Source: SQLite's WAL: a commit counts when its last frame is whole in the
/// log. A write that failed never wrote that frame whole; a failed *flush* or shared-memory update may leave it there
/// to be found by a recovery after a crash.
bool commit_surely_failed(int code) noexcept;

/// The connection may be left in any state or the file be damaged: close it and open another.
bool connection_is_spent(int code) noexcept;

/// The fault lies in this one row (a constraint, a size); the transaction goes on.
bool only_this_row(int code) noexcept;

/// "key 3f5a0c9d1b22…": names a record in messages and logs without showing its key (B105).
std::string shown(std::string_view trace_id);

}  // namespace nebis::sqlite
