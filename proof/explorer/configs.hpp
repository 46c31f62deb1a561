// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "world.hpp"

#include <vector>

namespace nebis::explore {

/// A configuration and what is expected of it.
struct Task {
    Config config;
    bool convict = false;       ///< a violation must be found
    std::string_view why = {};  ///< the flaw in words
};

/// The protocol as it is: every one must be acquitted. `share`: smaller ones, for the tests of every build.
std::vector<Task> sound_tasks(bool share);
/// The protocol with one rule broken: every one must be convicted.
std::vector<Task> broken_tasks();

}  // namespace nebis::explore
