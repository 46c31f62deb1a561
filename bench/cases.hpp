// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness.hpp"

/// One function a case; `cases.cpp` lists them.
namespace nebis::bench {

void sqlite_fresh(Context& context);
void sqlite_lone(Context& context);
void claims(Context& context);
void memory_fresh(Context& context);
void duplicates(Context& context);
void growth(Context& context);
void http_replay(Context& context);
void footprint(Context& context);
void compile_time(Context& context);

}  // namespace nebis::bench
