// SPDX-License-Identifier: Apache-2.0
#include "headers.hpp"

#include <algorithm>
#include <array>
#include <random>

namespace nebis::http {

namespace {

constexpr std::array<std::string_view, 8> kept_by_default = {
    "Content-Type", "Content-Language", "Content-Disposition", "Content-Location", "ETag", "Last-Modified",
    "Link",         "Location"};

constexpr std::array<std::string_view, 11> of_the_hop = {
    "Connection",        "Content-Length", "Date",    "Keep-Alive",     "Proxy-Connection", "TE",
    "Transfer-Encoding", "Trailer",        "Upgrade", "HTTP2-Settings", "Alt-Svc"};

// Credentials and challenges belong to one caller and one moment; the others are made anew for each answer.
constexpr std::array<std::string_view, 13> never_kept = {"Set-Cookie",
                                                         "Set-Cookie2",
                                                         "Cookie",
                                                         "Authorization",
                                                         "WWW-Authenticate",
                                                         "Proxy-Authenticate",
                                                         "Proxy-Authorization",
                                                         "Authentication-Info",
                                                         "Proxy-Authentication-Info",
                                                         "X-Request-Id",
                                                         "Age",
                                                         "Idempotency-Status",
                                                         "Retry-After"};

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <class Names>
bool among(const Names& names, std::string_view name) noexcept {
    return std::any_of(names.begin(), names.end(), [&](const auto& one) { return same_name(one, name); });
}

bool token_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::vector<std::string_view> listed(const std::vector<Header>& headers) {
    std::vector<std::string_view> names;
    for (const auto& header : headers) {
        if (!same_name(header.name, "Connection")) continue;
        std::string_view rest = header.value;
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            auto one = rest.substr(0, comma);
            rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
            while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
            while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
            if (!one.empty()) names.push_back(one);
        }
    }
    return names;
}

}  // namespace

bool same_name(std::string_view left, std::string_view right) noexcept {
    return left.size() == right.size() &&
           std::equal(left.begin(), left.end(), right.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

const Header* find_header(const std::vector<Header>& headers, std::string_view name) noexcept {
    for (const auto& header : headers)
        if (same_name(header.name, name)) return &header;
    return nullptr;
}

bool valid_header(const Header& header) noexcept {
    return !header.name.empty() && std::all_of(header.name.begin(), header.name.end(), token_character) &&
           std::none_of(header.value.begin(), header.value.end(), [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return (byte < 0x20 && byte != '\t') || byte == 0x7F;
           });
}

std::vector<Header> end_to_end(std::vector<Header> headers) {
    const auto leaves = [](const std::vector<std::string_view>& named, const Header& header) {
        return !valid_header(header) || among(of_the_hop, header.name) || among(named, header.name);
    };
    const auto named = listed(headers);
    if (std::none_of(headers.begin(), headers.end(), [&](const Header& header) { return leaves(named, header); }))
        return headers;
    std::vector<Header> left;
    for (const auto& header : headers)
        if (!leaves(named, header)) left.push_back(header);
    return left;
}

bool keeps_header(std::string_view name, const std::vector<std::string>& further) noexcept {
    if (among(kept_by_default, name)) return true;
    return among(further, name) && !among(never_kept, name) && !among(of_the_hop, name);
}

std::vector<Header> kept_headers(const std::vector<Header>& headers, const std::vector<std::string>& further) {
    std::vector<Header> kept;
    for (const auto& header : headers)
        if (keeps_header(header.name, further) && valid_header(header)) kept.push_back(header);
    return kept;
}

std::string_view sane_request_id(std::string_view text) noexcept {
    const bool sane = !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._:/+=@-").find(c) != std::string_view::npos;
    });
    return sane ? text : std::string_view{};
}

std::string random_request_id() {
    constexpr char digits[] = "0123456789abcdef";
    std::random_device chance;
    std::string text;
    for (int word = 0; word < 4; ++word) {
        auto bits = chance();
        for (int digit = 0; digit < 8; ++digit, bits >>= 4) text.push_back(digits[bits & 15]);
    }
    return text;
}

}  // namespace nebis::http
