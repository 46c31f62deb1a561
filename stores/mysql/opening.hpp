// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/mysql.hpp"

#include <mysql.h>

#include <string>
#include <vector>

namespace nebis::mysql {

/// Where one server listens.
struct Place {
    std::string host;  ///< empty: a Unix socket
    unsigned port = 0;
    std::string socket;  ///< its path
};

/// **Errors**: `misconfigured` for an address that can't be right, or none.
Result<std::vector<Place>> places_of(const Options& options);
/// **Errors**: `misconfigured` for a password file that can't be right.
Result<std::string> password_of(const Options& options);
/// How to speak with the server, before connecting: TLS, which logins are good enough, no local files.
Result<void> prepare_handle(MYSQL* handle, const Options& options);

}  // namespace nebis::mysql
