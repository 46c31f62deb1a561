// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>

namespace nebis::driver {

/// "key 3f5a0c9d1b22…": names a record without showing its key.
std::string shown(std::string_view trace_id);

/// The same for who knows only the SHA-256 of the key, in hex.
std::string shown_digest(std::string_view hex);

/// `corrupt`: the row of that key can't be trusted, and why.
Error damaged(std::string_view trace_id, std::string_view what);
Error damaged_digest(std::string_view hex, std::string_view what);

}  // namespace nebis::driver
