// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "reply.hpp"

#include <string_view>

namespace nebis::redis {

/// An error reply, sorted by what to do about it. Our scripts meet refusals before their first write, so whatever Redis
/// is known to refuse with is surely not applied. What it isn't known for is `maybe_applied`, and so is a script that
/// ended for want of a right: it had those for what came before.
Error error_of(const Reply& reply, std::string_view doing);

/// A read changes nothing, so a lost reply leaves nobody in doubt: `maybe_applied` becomes `unavailable`.
Error of_a_read(Error error);

/// True when the server isn't the one to write to just now: look for another before the next try.
bool wants_another_server(const Reply& reply) noexcept;

}  // namespace nebis::redis
