// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string_view>

namespace nebis::etcd {

/// What another status than 200 means. Unknown reports are `maybe_applied`.
Error error_of(long status, std::string_view body);

bool is_lease_gone(const Error& error) noexcept;   ///< there is no such lease (any more)
bool is_token_stale(const Error& error) noexcept;  ///< surely not applied; log in again

}  // namespace nebis::etcd
