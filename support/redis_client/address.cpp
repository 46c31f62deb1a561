// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"

#include <algorithm>
#include <charconv>

namespace nebis::redis {
namespace {

constexpr std::string_view unix_word = "unix:";
constexpr std::size_t longest_path = 107;  // what a sockaddr_un holds
constexpr std::size_t longest_host = 255;

Error bad(std::string_view why) {
    return Error(ErrorKind::misconfigured, "an address of Redis " + std::string(why), {},
                 "write host:port, [v6]:port or unix:/path")
        .with_code("redis-address");
}

}  // namespace

std::string Address::text() const {
    if (is_path()) return std::string(unix_word) + host;
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> make_address(std::string_view host, std::string_view port) {
    std::uint16_t number = 0;
    const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (fault != std::errc() || end != port.data() + port.size() || number == 0)
        return bad("has no port from 1 to 65535");
    const bool clean = std::ranges::all_of(host, [](char c) { return c > ' ' && c < 0x7f && c != '[' && c != ']'; });
    if (host.empty() || host.size() > longest_host || !clean) return bad("has no host name");
    return Address{std::string(host), number};
}

Result<Address> parse_address(std::string_view text) {
    if (text.starts_with(unix_word)) {
        const auto path = text.substr(unix_word.size());
        if (!path.starts_with('/') || path.size() > longest_path || path.find('\0') != std::string_view::npos)
            return bad("is no absolute path of at most 107 bytes");
        return Address{std::string(path), 0};
    }
    if (text.starts_with('[')) {
        const auto close = text.find("]:");
        if (close == std::string_view::npos) return bad("lacks a port behind ]");
        return make_address(text.substr(1, close - 1), text.substr(close + 2));
    }
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return make_address(text, "6379");
    if (text.find(':', colon + 1) != std::string_view::npos) return bad("is IPv6 without brackets");
    return make_address(text.substr(0, colon), text.substr(colon + 1));
}

}  // namespace nebis::redis
