// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fault.hpp"
#include "config/settings.hpp"
#include "nebis/extend.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::config {

/// What is read beside the file. Precedence: `sets` > `environment` > file > default.
struct LoadOptions {
    std::map<std::string, std::string> environment = {};  ///< only names that begin with NEBIS__ are looked at
    /// "lock-expire-millis=5000", as `--set` gives them; "nebis.idempotent." may stand before.
    std::vector<std::string> sets = {};
    /// Their keys are checked; null, or a driver without declared keys: any key is taken.
    const Drivers* drivers = nullptr;
};

/// The variables of this process that concern Nebis.
std::map<std::string, std::string> process_environment();

/// Read a configuration file. An empty one means all defaults.
/// **Errors**: `misconfigured`, a line for each fault with file:line:column and a hint.
Result<Settings> load(const std::string& path, const LoadOptions& options = {});

/// The same from a text; `name` stands for the file in messages, and relative secret files are looked for in the
/// working directory.
Result<Settings> load_text(std::string_view text, const std::string& name, const LoadOptions& options = {});

/// All settings as YAML that `load` takes again (but for masked secrets); with `origins`, where each value comes from
/// as a comment.
std::string describe(const Settings& settings, bool origins);

}  // namespace nebis::config
