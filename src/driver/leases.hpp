// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/lease_census.hpp"

#include <algorithm>
#include <cstdint>

namespace nebis::driver {

/// From what a table counts: all PROCESSING rows, those that recovery moves, and the rest of the last lease.
inline Leases leases_of(std::int64_t processing, std::int64_t overdue, std::int64_t longest) {
    Leases leases;
    leases.live = static_cast<std::size_t>(std::max<std::int64_t>(0, processing - overdue));
    leases.overdue = static_cast<std::size_t>(std::max<std::int64_t>(0, overdue));
    leases.longest_millis = std::max<std::int64_t>(0, longest);
    return leases;
}

}  // namespace nebis::driver
