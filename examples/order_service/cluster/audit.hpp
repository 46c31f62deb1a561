// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace shop {

/// How often each note stands in the orders table, read with the database's own client. **Errors**: throws.
std::map<std::string, int> count_orders(const std::string& store, const std::string& address);

}  // namespace shop
