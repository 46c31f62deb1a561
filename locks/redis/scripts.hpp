// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_client/script.hpp"

namespace nebis::redis {

/// The gate's scripts and those of version 1's locks (lua/), hashed once.
struct Scripts {
    Script enter, leave, renew, evict, fetch, put, v1_clean, v1_look, v1_take, v1_leave;
    static const Scripts& all();
};

}  // namespace nebis::redis
