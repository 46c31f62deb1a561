// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault_proxy.hpp"

#include <string>
#include <string_view>

namespace nebis::faultproxy {

/// What `obey` understands, a command a line.
extern const std::string_view commands_help;

/// Does one command; the answer is one line without its end: "ok", "error: …", or what was asked for.
std::string obey(FaultProxy& proxy, const std::string& line);

}  // namespace nebis::faultproxy
