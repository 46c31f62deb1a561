// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/store.hpp"

#include <functional>
#include <memory>

/// The store that lives and dies with the process: for tests, for trying things out, and for operations whose retention
/// is shorter than a restart. It promises all that store.hpp does but durability.
namespace nebis::memory {

struct Options {
    std::function<StoreMillis()> clock = {};  ///< for tests; empty: the system clock
};

/// A new, empty store. **Threads**: safe; sessions are free to use from as many threads as there are sessions.
std::shared_ptr<Store> store(Options options = {});

/// Registers the store driver "memory". Stores of one data source and table name are one store.
void add_to(Drivers& drivers);

}  // namespace nebis::memory
