// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nebis::zookeeper {

/// Where the locks of one prefix lie: `/<prefix>idempotent:lock/<SHA-256 of the trace id, in hex>`.
class Names {
public:
    /// **Errors**: `misconfigured` for a prefix that makes no path.
    static Result<Names> under(std::string_view prefix);

    std::string of(std::string_view trace_id) const;                               ///< never a caller's bytes
    const std::vector<std::string>& parents() const noexcept { return parents_; }  ///< the outermost first

private:
    std::string root_;  ///< with a slash at its end
    std::vector<std::string> parents_;
};

}  // namespace nebis::zookeeper
