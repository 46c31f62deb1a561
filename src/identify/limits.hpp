// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/decimal.hpp"

#include <cstddef>

namespace nebis::identify {

/// Bounds of what identify looks at. Beyond them a request is refused before anything else happens.
struct HashLimits {
    std::size_t max_bytes = 1 << 20;  ///< of the body
    std::size_t max_depth = 64;       ///< nested arrays and objects
    DecimalLimits numbers = {};
    /// Canonical mode is the default. In raw mode JSON and form bodies are hashed byte for byte: members in another
    /// order differ, and noise paths don't apply.
    bool raw_bodies = false;
};

}  // namespace nebis::identify
