// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/policy.hpp"

#include <string>
#include <vector>

/// What can be said about a key rule without seeing a request.
namespace nebis::identify {

/// S4: warns about parts that change with each retry (time, chance, tracing), each warning one sentence. `members` are
/// the member names that a key expression walks through.
std::vector<std::string> lint_key_rule(const KeyRule& rule, const std::vector<std::string>& members);

/// What a request without a key is told.
std::string missing_key_text(const KeyRule& rule);

}  // namespace nebis::identify
