// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

namespace nebis {

/// The drivers that come along: stores "memory" and "sqlite", locks "local" and "redis". Add your
/// own key generators, resolvers and further drivers to it, and give it to `Engine::open(file, drivers)`.
Drivers standard_drivers();

}  // namespace nebis
