// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "redis_client/line.hpp"

#include <memory>
#include <string>

namespace nebis::redis {

/// How a session uses Redis.
struct Usage {
    std::string prefix;
    bool results = true;
    bool wake = true;
    bool v1_compat = false;  ///< see v1_compat.hpp
};

std::unique_ptr<GateSession> make_session(std::unique_ptr<Line> line, Usage usage);

}  // namespace nebis::redis
