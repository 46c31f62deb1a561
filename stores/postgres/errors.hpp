// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>

namespace nebis::postgres {

/// What PostgreSQL answered to a statement, by its SQLSTATE. Whatever failed so is surely not applied: the server
/// rolled it back. `message` is the primary message only: the detail of a constraint holds the key (B105).
Error error_of(std::string_view sqlstate, std::string message);

/// Why no connection came about. libpq keeps no SQLSTATE for it, so its text decides; what isn't known is
/// `unavailable`.
Error connect_error(std::string message);

/// The connection broke or was too slow after something had been sent.
Error lost(std::string message);
/// The same fault where nothing can have been applied: a read, or a transaction whose COMMIT was never sent.
Error surely_not_applied(Error error);

/// The fault may lie in one row of the batch (a constraint, a size, bytes that are no text, a lock): repeat row by row.
bool perhaps_one_row(const Error& error) noexcept;
/// Somebody else's transaction holds what we wanted.
bool is_lock_fault(const Error& error) noexcept;
/// Open another connection: prepared statements no longer fit, or the server was demoted under this one.
bool connection_is_spent(const Error& error) noexcept;

}  // namespace nebis::postgres
