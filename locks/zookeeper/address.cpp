// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"

#include <charconv>
#include <cstdint>

namespace nebis::zookeeper {
namespace {

Error bad(std::string_view why) {
    return Error(ErrorKind::misconfigured, "an address of ZooKeeper " + std::string(why), {},
                 "write host:port or [v6]:port; several with commas; a root path is `key-prefix`")
        .with_code("zookeeper-address");
}

Result<std::string> one(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return bad("has no port");
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    std::uint16_t number = 0;
    const auto [stop, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (fault != std::errc() || stop != port.data() + port.size() || number == 0) return bad("has no port");
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host.empty()) return bad("has no host");
    if (bracketed != (host.find(':') != std::string_view::npos)) return bad("is none");
    for (const char c : host)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              std::string_view(".-_:").find(c) != std::string_view::npos))
            return bad("holds more than a host and a port");
    return std::string(host) + ":" + std::to_string(number);
}

}  // namespace

Result<std::string> connect_string(const std::vector<std::string>& addresses) {
    if (addresses.empty()) return bad("is missing");
    std::string out;
    for (const auto& text : addresses) {
        auto made = one(text);
        if (!made) return made;
        if (!out.empty()) out += ',';
        out += *made;
    }
    return out;
}

}  // namespace nebis::zookeeper
