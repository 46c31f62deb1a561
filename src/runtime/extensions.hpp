// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"
#include "nebis/extend.hpp"

#include <memory>

namespace nebis::runtime {

/// What the configuration names for an operation, found among what the program registered (S34); an object given in
/// code stays. **Errors**: `misconfigured`, a line for each name that isn't registered, with the place where it was
/// written.
Result<void> find_extensions(const config::Settings& all, config::OperationSettings& settings, const Drivers& drivers);

/// The same for the key generator; null when the key rule is of another kind.
Result<std::shared_ptr<const KeyGenerator>> find_generator(const config::Settings& all,
                                                           const config::OperationSettings& settings,
                                                           const Drivers& drivers);

}  // namespace nebis::runtime
