// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness.hpp"

/// One function a case; `cases.cpp` lists them.
namespace nebis::bench {

void redis_postgres_fresh(Context& context);
void redis_postgres_lone(Context& context);
void redis_duplicates(Context& context);
void postgres_claims(Context& context);
void mariadb_claims(Context& context);

}  // namespace nebis::bench
