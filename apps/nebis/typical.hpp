// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"

#include <functional>
#include <string>
#include <vector>

/// Five typical operations, each put into six situations (S66): what to look at after an upgrade.
namespace nebis::app {

/// What one operation did in one situation.
struct Finding {
    std::string operation;
    std::string situation;
    enum class Verdict { passed, failed, not_asked } verdict = Verdict::passed;
    std::string why;  ///< failed: what was seen instead; not asked: why not
};

/// The instances that the situations are played on.
struct Stage {
    /// A new instance on the same store and lock service.
    std::function<Result<Engine>()> open;
    /// Others see its records, and they are there after a restart. False: the store is this process's own.
    bool kept = true;
};

/// Plays all of them with keys of its own and removes their records. **Errors**: no instance can be opened, or an
/// operation isn't accepted. **Time**: some seconds when all is well; what is stuck is bounded by the budgets.
Result<std::vector<Finding>> play_typical(const Stage& stage);

}  // namespace nebis::app
