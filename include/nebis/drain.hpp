// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/lease_census.hpp"
#include "nebis/standard.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Draining (S40): no attempt is left half-way before a fleet goes back. The program `nebis drain` is made of this.
namespace nebis {

struct Drivers;      // extend.hpp
struct OpenOptions;  // engine.hpp

struct DrainOptions {
    /// How long to wait for leases to end and for rows that somebody holds, for each table.
    std::chrono::milliseconds wait{30'000};
    /// Called while waiting, about once a second, on the calling thread.
    std::function<void(const std::string& table, const Leases& left)> waiting = {};
};

/// What became of one table.
struct Drained {
    std::string table;
    std::size_t settled = 0;  ///< abandoned attempts that are UNKNOWN now
    Leases left;              ///< live: nothing of this table was settled. overdue: held by somebody, or in their grace
    bool done() const noexcept { return left.live == 0 && left.overdue == 0; }
};

/// In the tables that a configuration file names for one data source (or in `table` alone), every attempt that was
/// abandoned becomes UNKNOWN, for people or a resolver to settle. A table in which a lease lives is left as it is:
/// somebody works there, or died less than a lease ago. Stop the instances first; whoever begins afterwards isn't seen.
/// **Time**: ends at the deadline; what was done stays. **Errors**: `misconfigured` (no such data source),
/// `unsupported` (the store can't count its leases), else what the store says.
Result<std::vector<Drained>> drain(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                   const std::string& data_source, const std::string& table, const DrainOptions& how,
                                   Deadline deadline);

}  // namespace nebis
