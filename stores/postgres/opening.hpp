// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/postgres.hpp"

#include <string>
#include <utility>
#include <vector>

namespace nebis::postgres {

/// libpq's connection parameters. They hold the password: never logged. **Errors**: `misconfigured` for an address or a
/// password file that can't be right.
Result<std::vector<std::pair<std::string, std::string>>> parameters_of(const Options& options);

}  // namespace nebis::postgres
