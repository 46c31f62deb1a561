// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

/// ASCII text. Never the locale's rules: keys must not depend on where a process runs.
namespace nebis::identify {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }
constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    // Most are spelled alike, and that is quickly seen.
    return a.size() == b.size() &&
           (a == b || std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); }));
}

/// ' ' to '~' alone. Eight at a time, for keys and ids are looked at on every request.
inline bool is_printable(std::string_view text) noexcept {
    constexpr std::uint64_t each = 0x0101010101010101;
    std::uint64_t bad = 0;
    while (!text.empty()) {
        std::uint64_t word = each * ' ';
        const std::size_t size = std::min(text.size(), sizeof word);
        if (size == sizeof word)
            std::memcpy(&word, text.data(), sizeof word);
        else
            std::memcpy(&word, text.data(), size);
        // The top bit of a byte: set itself, by borrowing below ' ', or by carrying from DEL. What runs over into the
        // next byte comes from a bad one.
        bad |= word | (word - each * ' ') | (word + each);
        text.remove_prefix(size);
    }
    return (bad & each * 0x80) == 0;
}

constexpr std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Takes the piece before the next `separator` off `rest`.
constexpr std::string_view next_piece(std::string_view& rest, char separator) noexcept {
    const std::string_view piece = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
    return piece;
}

}  // namespace nebis::identify
