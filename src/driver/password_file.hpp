// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>

namespace nebis::driver {

/// The password in `file`, without the end of its line. `server` is for the message: "PostgreSQL". **Errors**:
/// `misconfigured` (code `word`) for a file that can't be read, that others may read, or that holds no password.
Result<std::string> read_password(const std::string& file, const std::string& server, const char* word);

}  // namespace nebis::driver
