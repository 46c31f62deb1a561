// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/gate.hpp"
#include "redis_client/line.hpp"

#include <memory>

namespace nebis::redis {

/// A session that takes the lock of version 1 as well (S40): `idempotent:<key>`, as version 1 names and reads it.
std::unique_ptr<GateSession> with_v1_locks(std::unique_ptr<GateSession> inner, std::unique_ptr<Line> line);

}  // namespace nebis::redis
