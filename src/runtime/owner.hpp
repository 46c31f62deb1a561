// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

namespace nebis::runtime {

/// 128 bits from the kernel, new for each attempt; never the same in two processes, a forked child included. Never
/// derived from key, thread, clock or a client's header (C16). Aborts when the kernel has no randomness to give: then
/// nothing here is safe.
Owner fresh_owner();

}  // namespace nebis::runtime
