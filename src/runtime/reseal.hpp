// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/reseal.hpp"
#include "nebis/store.hpp"
#include "runtime/sealing.hpp"

namespace nebis::runtime {

/// Brings every body of a table under the ring's current key. See nebis::reseal.
Result<Resealed> reseal(Store& store, const Sealing& sealing, const ResealOptions& options, Deadline deadline);

}  // namespace nebis::runtime
