// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>

namespace nebis::mysql {

/// What the server answered to a statement, by its error number. Unless the kind is `maybe_applied`, nothing of the
/// transaction is applied. Of the server's words only those are kept that hold no value: "Duplicate entry '…'" shows
/// the key (B105).
Error error_of(unsigned number, std::string_view message);

/// Why no connection came about, by the client library's or the server's number.
Error connect_error(unsigned number, std::string message);

/// The connection broke or was too slow after something had been sent.
Error lost(std::string message);
/// The same fault where nothing can have been applied: a read, or a transaction whose COMMIT was never sent.
Error surely_not_applied(Error error);
Error too_late();
Error too_big();

/// The number is the client library's own: the connection is gone.
constexpr bool is_clients(unsigned number) noexcept { return number >= 2000 && number < 3000; }
/// The server ended the session: how far it came isn't known.
bool is_farewell(unsigned number) noexcept;

/// A condition that a script set for its batch doesn't hold.
bool is_guard(const Error& error) noexcept;
/// The fault may lie in one row of the batch (a constraint, a size, bytes that are no text, a lock): repeat row by row.
bool perhaps_one_row(const Error& error) noexcept;
/// Somebody else's transaction holds what we wanted.
bool is_lock_fault(const Error& error) noexcept;
bool is_duplicate(const Error& error) noexcept;
/// Open another connection: the server was demoted under this one.
bool connection_is_spent(const Error& error) noexcept;

}  // namespace nebis::mysql
