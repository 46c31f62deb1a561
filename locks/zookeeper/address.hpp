// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <vector>

namespace nebis::zookeeper {

/// The client's own spelling of several addresses: commas between, no brackets around IPv6. **Errors**: `misconfigured`
/// for what isn't host:port; the client would take a path after it for a root, and 010 for 8.
Result<std::string> connect_string(const std::vector<std::string>& addresses);

}  // namespace nebis::zookeeper
