// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <cstddef>
#include <cstdint>

/// How many attempts a record table says are going on: what must be none before a fleet goes back to a version that
/// doesn't read the table (S40). Optional: a driver's session is a LeaseCensus too when it can count.
namespace nebis {

struct Leases {
    std::size_t live = 0;             ///< PROCESSING rows that scheduled recovery leaves alone: their lease lasts
    std::size_t overdue = 0;          ///< PROCESSING rows that it moves to UNKNOWN
    std::int64_t longest_millis = 0;  ///< rest of the last of the live leases, if it isn't renewed; ≥ 0
};

/// **Threads**, **time**, **errors**: as of the StoreSession that it is a part of.
class LeaseCensus {
public:
    virtual ~LeaseCensus() = default;
    virtual Result<Leases> leases(Deadline deadline) = 0;
};

}  // namespace nebis
