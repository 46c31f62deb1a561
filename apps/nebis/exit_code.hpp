// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

/// What every subcommand ends with. Scripts rely on the numbers; docs/migrate.md lists them.
namespace nebis::app {

enum class ExitCode : int {
    done = 0,
    failed = 1,         ///< anything else went wrong
    usage = 2,          ///< the command line
    needs_up = 3,       ///< `migrate status`: `up` has something to do
    refused = 4,        ///< somebody must decide or mend something first
    configuration = 5,  ///< the file, or what it says about the store
    unreachable = 6,    ///< the store is away, too slow or busy: try later
};

/// Says the error on stderr.
ExitCode report(const Error& error);

}  // namespace nebis::app
