// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace nebis::redis {

/// Where a server listens: a host and port, or the path of a Unix socket.
struct Address {
    std::string host;  ///< a name or a numeric address; a path when `port` is 0
    std::uint16_t port = 0;

    bool is_path() const noexcept { return port == 0; }
    std::string text() const;
    friend auto operator<=>(const Address&, const Address&) = default;
};

/// "host:port", "host" (port 6379), "[v6]:port" or "unix:/path". **Errors**: `misconfigured`.
Result<Address> parse_address(std::string_view text);
/// Host and port as servers send them apart.
Result<Address> make_address(std::string_view host, std::string_view port);

}  // namespace nebis::redis
