// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"

#include <span>
#include <string>

namespace nebis::config {

/// One thing that is wrong with a configuration.
struct Fault {
    Location at;
    std::string what;
    std::string hint;

    std::string text() const;  ///< "nebis.yaml:12:5: what (hint)"
};

/// All faults as one error, a line each; at most `most_faults`, the rest counted.
constexpr std::size_t most_faults = 20;
Error to_error(std::span<const Fault> faults);

}  // namespace nebis::config
