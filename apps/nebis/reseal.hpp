// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <CLI/CLI.hpp>

namespace nebis::app {

/// Adds `nebis reseal`; it runs while the command line is parsed and leaves its code in `code`.
void add_reseal(CLI::App& app, ExitCode& code);

}  // namespace nebis::app
