// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/standard.hpp"
#include "nebis/store.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Re-sealing (S52): what a rotation of keys ends with. The program `nebis reseal` is made of this.
namespace nebis {

struct Drivers;      // extend.hpp
struct OpenOptions;  // engine.hpp

struct ResealOptions {
    std::size_t batch = 100;  ///< rows of one page, and of one commit at most
    /// Called after each page, on the calling thread.
    std::function<void(std::size_t looked_at)> progress = {};
};

/// What became of the rows of one table.
struct Resealed {
    std::string table;
    std::size_t looked_at = 0;
    std::size_t sealed = 0;      ///< written anew, under the current key
    std::size_t in_use = 0;      ///< changed meanwhile, or within the last second: run it again
    std::size_t unopened = 0;    ///< sealed with a key that isn't here, or damaged: left as they are
    std::size_t unreadable = 0;  ///< damaged in other columns: left as they are
};

/// Every record of the tables that a configuration file names for one data source (or of `table` alone) comes under
/// `seal.current`, unsealed ones too; bodies only, nothing else of a row changes. Beside a running fleet: a row that
/// anybody writes is left to them. A crash half-way leaves some rows under the old key; run it again. Instances that
/// still seal with another key make more of those rows, so change `seal.current` everywhere first.
/// **Time**: ends at the deadline; what was done stays. **Errors**: `misconfigured` (no keys, no such data source),
/// `unsupported` (the store can't go through its rows), else what the store says.
Result<std::vector<Resealed>> reseal(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                     const std::string& data_source, const std::string& table, const ResealOptions& how,
                                     Deadline deadline);

}  // namespace nebis
