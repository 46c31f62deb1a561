// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/noise.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nebis::runtime {

/// A JSON body with "***" in place of the values at these paths ("*" fits any member or element), everything else as it
/// was but for blanks. Empty: it isn't JSON, or deeper or larger than requests may be, so nobody can say what stands
/// where; such a body isn't kept.
std::optional<std::string> redacted_json(std::string_view body, const identify::NoiseFilter& paths,
                                         std::size_t max_bytes);

}  // namespace nebis::runtime
