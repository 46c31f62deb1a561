// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <CLI/CLI.hpp>

namespace nebis::app {

/// Adds `nebis drain`; it runs while the command line is parsed and leaves its code in `code`.
void add_drain(CLI::App& app, ExitCode& code);

}  // namespace nebis::app
