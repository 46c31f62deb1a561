// SPDX-License-Identifier: Apache-2.0
#include "configs.hpp"

namespace nebis::explore {
namespace {

Config base(std::string_view name, Mode mode, int requests, Budget budget) {
    Config config;
    config.name = name;
    config.rules = small_rules(mode);
    config.requests = requests;
    config.budget = budget;
    return config;
}

}  // namespace

std::vector<Task> sound_tasks(bool) {
    std::vector<Task> tasks;
    const auto add = [&](Config config) { tasks.push_back({config}); };
    add(base("hold, 2 requests, no fault", Mode::execute, 2, {}));
    add(base("hold, 2 requests, time, lost, kill, recovery", Mode::execute, 2,
             {.ticks = 4, .lost = 1, .kill = 1, .recover = 1}));
    return tasks;
}

std::vector<Task> broken_tasks() { return {}; }

}  // namespace nebis::explore
