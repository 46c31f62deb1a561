// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

namespace nebis::zookeeper {

/// What a code of the client means that is neither success nor an outcome. `sent`: false when the request surely never
/// left; `write`: it would have changed something.
Error error_of(int code, bool sent, bool write);

/// The deadline came before the reply.
Error timed_out(bool write);

}  // namespace nebis::zookeeper
