// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nebis::identify {

/// The segments of a JSON pointer (RFC 6901: "/a/b~1c/0"), unescaped; none for "" (the whole document).
/// **Errors**: `misconfigured`, naming the pointer.
Result<std::vector<std::string>> split_pointer(std::string_view pointer);

}  // namespace nebis::identify
