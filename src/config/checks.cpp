// SPDX-License-Identifier: Apache-2.0
#include "config/checks.hpp"

#include "config/cron.hpp"
#include "identify/key_expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace nebis::config {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

Complaint plain(std::string_view what, std::string_view hint) { return {std::string(what), std::string(hint)}; }

}  // namespace

std::optional<Complaint> check_not_blank(std::string_view text) {
    if (std::ranges::any_of(text, [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; }))
        return std::nullopt;
    return plain("is blank", "leave the key out to have the default");
}

std::optional<Complaint> check_key_expression(std::string_view text) {
    if (auto blank = check_not_blank(text)) return blank;
    identify::ParseError error;
    if (identify::KeyExpression::parse(text, error)) return std::nullopt;
    return Complaint{"is no key expression: " + error.message, error.hint, error.offset};
}

// Table names travel into SQL text, so nothing but a plain identifier is let through.
std::optional<Complaint> check_table_name(std::string_view text) {
    const bool good = !text.empty() && (is_letter(text[0]) || text[0] == '_') &&
                      std::ranges::all_of(text, [](char c) { return is_alnum(c) || c == '_'; });
    if (good) return std::nullopt;
    return plain("is no table name", "use letters, digits and _, not beginning with a digit");
}

std::optional<Complaint> check_operation_name(std::string_view text) {
    const bool good = !text.empty() && text.size() <= 64 &&
                      std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "._:/{} -"); });
    if (good) return std::nullopt;
    return plain("is no operation name", "use 1 to 64 of letters, digits, . _ : / { } - and space");
}

std::optional<Complaint> check_plain_name(std::string_view text) {
    if (!text.empty() && std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "._-"); }))
        return std::nullopt;
    return plain("is no plain name", "use letters, digits, . _ and -");
}

std::optional<Complaint> check_digest_start(std::string_view text) {
    constexpr std::size_t telling = 16;  // as many as the refusal shows
    if (text.size() >= telling &&
        std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }))
        return std::nullopt;
    return plain("is no digest of a key rule", "copy the 16 or more digits that the refusal shows after 'here'");
}

std::optional<Complaint> check_header_name(std::string_view text) {
    if (!text.empty() &&
        std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "!#$%&'*+-.^_`|~"); }))
        return std::nullopt;
    return plain("is no header name", "write the name alone, such as Idempotency-Key");
}

std::optional<Complaint> check_json_pointer(std::string_view text) {
    if (text.empty() || text[0] != '/') {
        return Complaint{"is no JSON pointer",
                         "begin with a slash: /" + std::string(text.substr(text.starts_with("#") ? 1 : 0))};
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '~' && (i + 1 == text.size() || !is_one_of(text[i + 1], "01"))) {
            return plain("is no JSON pointer", "write ~0 for ~ and ~1 for / inside a name");
        }
    }
    return std::nullopt;
}

std::optional<Complaint> check_header_or_pointer(std::string_view text) {
    return text.starts_with("/") ? check_json_pointer(text) : check_header_name(text);
}

std::optional<Complaint> check_exception_type(std::string_view text) {
    if (!text.empty() && !text.starts_with(".") && !text.ends_with(".") && std::ranges::count(text, '.') > 0 &&
        std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "._$"); })) {
        return plain("looks like the name of a Java class", "write the C++ type, such as std::invalid_argument");
    }
    const bool good = !text.empty() && (is_letter(text[0]) || text[0] == '_' || text[0] == '(') &&
                      !text.ends_with(":") &&
                      std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "_:<>,*&()[] "); });
    if (good) return std::nullopt;
    return plain("is no C++ type", "write the type with its namespace, such as std::invalid_argument");
}

std::optional<Complaint> check_listen(std::string_view text) {
    const auto complaint = plain("is no address and port", "write address:port, such as 127.0.0.1:8080 or [::1]:8080");
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return complaint;
    const auto host = text.substr(0, colon);
    const auto port = text.substr(colon + 1);
    const bool bracketed = host.starts_with("[") && host.ends_with("]") && host.size() > 2;
    if (!bracketed && std::ranges::any_of(host, [](char c) { return !is_alnum(c) && !is_one_of(c, ".-_"); }))
        return complaint;
    unsigned number = 0;
    const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (port.empty() || fault != std::errc{} || end != port.data() + port.size() || number > 65'535) return complaint;
    return std::nullopt;
}

std::optional<Complaint> check_url(std::string_view text) {
    const bool scheme = text.starts_with("https://") || text.starts_with("http://");
    const bool clean =
        std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && !is_one_of(c, "<>\"\\^`{|}"); });
    if (scheme && clean && text.size() > text.find("//") + 2) return std::nullopt;
    return plain("is no web address", "write https://… with special characters percent-encoded");
}

std::optional<Complaint> check_cron(std::string_view text) {
    auto cron = Cron::parse(text);
    if (cron) return std::nullopt;
    return Complaint{"is no schedule: " + cron.error().message(), cron.error().hint()};
}

std::optional<Complaint> check_key_prefix(std::string_view text) {
    // Braces would move a Redis Cluster hash tag; blanks and control bytes make keys that nobody can type.
    if (std::ranges::all_of(text, [](char c) { return is_alnum(c) || is_one_of(c, "._:-/"); })) return std::nullopt;
    return plain("is no key prefix", "use letters, digits, . _ : - and /, such as \"prod:\"");
}

}  // namespace nebis::config
