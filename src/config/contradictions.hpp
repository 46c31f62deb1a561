// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fault.hpp"
#include "config/table.hpp"

#include <functional>
#include <string_view>
#include <vector>

/// Values that are each allowed and make no sense together.
namespace nebis::config {

/// How specific the layer is that gave a value: the more specific one is what its author meant for this operation.
enum class Layer : std::uint8_t { built_in, general, policy, operation };

struct Contradiction {
    std::vector<std::string_view> keys;  ///< the values concerned; the first is the one to blame
    Complaint complaint;
};

/// Everything a check may look at.
struct Checked {
    const Settings& settings;
    const OperationSettings& operation;
    std::function<Layer(std::string_view key)> layer;
    bool whole = true;  ///< false while loading: what only code knows (objects, modes of policies) is still missing
};

std::vector<Contradiction> contradictions(const Checked& checked);

/// While loading: what the configuration alone says about itself that can't be, whatever policies code may add.
std::vector<Fault> contradictions_written(const Settings& settings);

}  // namespace nebis::config
