// SPDX-License-Identifier: Apache-2.0
#include "path.hpp"

#include <algorithm>

namespace nebis::http {

namespace {

bool alphanumeric(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool unreserved(char c) noexcept { return alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'; }
bool in(std::string_view set, char c) noexcept { return set.find(c) != std::string_view::npos; }
bool path_character(char c) noexcept { return unreserved(c) || in("!$&'()*+,=:@", c); }  // pchar (RFC 3986) without ';'
bool query_character(char c) noexcept {
    return path_character(c) || in(";/?%[]|{}^`\"<>", c);
}  // what browsers leave unescaped, too

int hex(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

Error refused(std::string why) { return Error(ErrorKind::rejected_input, std::move(why)).with_code("bad-request"); }

/// The byte that "%XX" at the beginning of `text` stands for; -1 when it isn't such.
int escaped_byte(std::string_view text) noexcept {
    if (text.size() < 3 || hex(text[1]) < 0 || hex(text[2]) < 0) return -1;
    return hex(text[1]) * 16 + hex(text[2]);
}

Result<std::string> normalised_segment(std::string_view segment) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(segment.size());
    for (std::size_t i = 0; i < segment.size(); ++i) {
        const char c = segment[i];
        if (path_character(c)) {
            out.push_back(c);
            continue;
        }
        if (c == ';') return refused("the path has parameters after ';', which this server doesn't know");
        if (c != '%') return refused("the path has a character that must be escaped");
        const int byte = escaped_byte(segment.substr(i));
        if (byte < 0) return refused("the path has a '%' without two hexadecimal digits");
        if (byte < 0x20 || byte == 0x7F) return refused("the path has an escaped control character");
        if (byte == '/' || byte == '\\') return refused("the path has an escaped slash or backslash");
        if (unreserved(static_cast<char>(byte))) {
            out.push_back(static_cast<char>(byte));
        } else {
            out.push_back('%');
            out.push_back(digits[byte / 16]);
            out.push_back(digits[byte % 16]);
        }
        i += 2;
    }
    return out;
}

/// Most paths are written as they should be.
bool plain(std::string_view path) noexcept {
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '/') {
            const bool last = i + 1 == path.size();
            if ((last && i != 0) || (!last && (path[i + 1] == '/' || path[i + 1] == '.'))) return false;
        } else if (!path_character(path[i])) {
            return false;
        }
    }
    return true;
}

Result<std::string> normalised_path(std::string_view path) {
    if (plain(path)) return std::string(path);
    std::string out;
    while (!path.empty()) {
        path.remove_prefix(1);  // the slash
        const auto end = std::min(path.find('/'), path.size());
        auto segment = normalised_segment(path.substr(0, end));
        if (!segment) return std::move(segment).error();
        path.remove_prefix(end);
        if (*segment == "..") return refused("the path has a '..' segment");
        if (segment->empty() || *segment == ".") continue;
        out += '/';
        out += *segment;
    }
    return out.empty() ? std::string("/") : std::move(out);
}

}  // namespace

Result<Target> parse_target(std::string_view target) {
    Target parsed;
    if (target.empty() || target.front() != '/') {
        // absolute-form, which every server must take (RFC 9112, 3.2.2)
        const auto colon = target.find("://");
        if (colon == std::string_view::npos) return refused("the request target is neither a path nor an absolute URL");
        std::string scheme(target.substr(0, colon));
        std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        if (scheme != "http" && scheme != "https") return refused("the request target has another scheme than http");
        target.remove_prefix(colon + 3);
        const auto end = std::min(target.find_first_of("/?"), target.size());
        parsed.authority = std::string(target.substr(0, end));
        if (!valid_authority(parsed.authority)) return refused("the host of the request target is malformed");
        target.remove_prefix(end);
    }
    const auto question = target.find('?');
    if (question != std::string_view::npos) {
        parsed.query = std::string(target.substr(question + 1));
        if (!std::all_of(parsed.query.begin(), parsed.query.end(), query_character))
            return refused("the query has a character that must be escaped");
        target = target.substr(0, question);
    }
    if (target.empty()) target = "/";
    auto path = normalised_path(target);
    if (!path) return std::move(path).error();
    parsed.path = std::move(*path);
    return parsed;
}

bool valid_authority(std::string_view text) noexcept {
    if (text.empty() || text.size() > 255) return false;
    std::size_t end = 0;
    if (text.front() == '[') {
        end = text.find(']');
        if (end == std::string_view::npos) return false;
        const auto inside = text.substr(1, end - 1);
        if (inside.empty() ||
            !std::all_of(inside.begin(), inside.end(), [](char c) { return hex(c) >= 0 || c == ':' || c == '.'; }))
            return false;
        ++end;
    } else {
        while (end < text.size() && unreserved(text[end])) ++end;
        if (end == 0) return false;
    }
    if (end == text.size()) return true;
    const auto port = text.substr(end + 1);
    return text[end] == ':' && port.size() <= 5 &&
           std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string unescaped(std::string_view segment) {
    std::string out;
    out.reserve(segment.size());
    for (std::size_t i = 0; i < segment.size(); ++i) {
        const int byte = segment[i] == '%' ? escaped_byte(segment.substr(i)) : -1;
        out.push_back(byte < 0 ? segment[i] : static_cast<char>(byte));
        if (byte >= 0) i += 2;
    }
    return out;
}

}  // namespace nebis::http
