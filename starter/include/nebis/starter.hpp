// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"

namespace nebis {

/// The stores and locks that need nothing installed or started: stores "memory" and "sqlite", lock "local". Add your
/// own key generators, resolvers and further drivers to it, and give it to `Engine::open(file, drivers)`.
Drivers standard_drivers();

}  // namespace nebis
