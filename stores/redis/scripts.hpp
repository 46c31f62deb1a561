// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_client/script.hpp"

namespace nebis::redis::records {

/// The store's scripts (lua/), each behind common.lua, hashed once.
struct Scripts {
    Script begin, finish, renew, find, due, lapse, clean, purge, rule, now, probe;
    static const Scripts& all();
};

}  // namespace nebis::redis::records
