// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nebis::etcd {

std::string to_base64(std::string_view bytes);
/// Empty: not base64 with padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace nebis::etcd
