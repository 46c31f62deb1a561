// SPDX-License-Identifier: Apache-2.0
#include "identify/structured_field.hpp"

#include "identify/text.hpp"

#include <algorithm>

namespace nebis::identify {
namespace {

constexpr bool is_alpha(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

Error bad_key(std::string why) {
    return Error(ErrorKind::rejected_input, "the idempotency key " + std::move(why)).with_code("key-invalid");
}

/// RFC 8941's fields have only these two around a value.
std::string_view trim_field(std::string_view text) noexcept {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Takes a quoted string off `rest`; false when it has no end or a wrong escape.
bool take_string(std::string_view& rest, std::string& out) {
    for (std::size_t i = 1; i < rest.size(); ++i) {
        char c = rest[i];
        if (c == '"') {
            rest.remove_prefix(i + 1);
            return true;
        }
        if (c == '\\') {
            c = ++i < rest.size() ? rest[i] : '\0';
            if (c != '"' && c != '\\') return false;
        }
        out.push_back(c);
    }
    return false;
}

/// RFC 8941 §3.1.2, `;key=value` …: the names are checked, a value is anything without the characters that end it.
bool are_parameters(std::string_view rest) {
    while (!rest.empty()) {
        if (rest.front() != ';') return false;
        rest.remove_prefix(1);
        while (rest.starts_with(' ')) rest.remove_prefix(1);
        if (rest.empty() || !((is_alpha(rest.front()) && rest.front() == lower(rest.front())) || rest.front() == '*'))
            return false;
        const auto in_name = [](char c) {
            return (is_alpha(c) && c == lower(c)) || is_digit(c) ||
                   std::string_view("_-.*").find(c) != std::string_view::npos;
        };
        rest.remove_prefix(
            static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), in_name) - rest.begin()));
        if (!rest.starts_with('=')) continue;
        rest.remove_prefix(1);
        std::string ignored;
        if (rest.starts_with('"')) {
            if (!take_string(rest, ignored)) return false;
            continue;
        }
        const auto size = std::min(rest.find_first_of("; ,\""), rest.size());
        if (size == 0) return false;
        rest.remove_prefix(size);
    }
    return true;
}

Result<std::string> parse_quoted(std::string_view value, bool strict) {
    std::string key;
    if (!take_string(value, key)) return bad_key("has a quote without an end or a wrong escape");
    if (value.empty()) return key;
    if (strict) return bad_key("is followed by something");
    if (value.front() == ',') return bad_key("is a list; send one");
    if (!are_parameters(value)) return bad_key("is followed by something that is no parameter");
    return key;
}

Result<std::string> parse_bare(std::string_view value, bool strict) {
    if (strict) return bad_key("is not a quoted string").with_hint("send it in double quotes");
    if (value.find('"') != value.npos) return bad_key("has a quote in the middle");
    if (value.find(',') != value.npos) return bad_key("is a list; send one");
    return std::string(value);
}

}  // namespace

Result<std::string> parse_key_field(std::string_view value, bool strict, KeyLength length) {
    value = trim_field(value);
    if (value.empty()) return bad_key("is empty");
    if (!is_printable(value)) return bad_key("has a character outside printable ASCII");
    auto key = value.front() == '"' ? parse_quoted(value, strict) : parse_bare(value, strict);
    if (!key) return key;
    if (trim(*key).empty()) return bad_key("is blank");
    if (key->size() < length.min) return bad_key("has fewer than " + std::to_string(length.min) + " characters");
    if (key->size() > length.max) return bad_key("has more than " + std::to_string(length.max) + " characters");
    return key;
}

}  // namespace nebis::identify
