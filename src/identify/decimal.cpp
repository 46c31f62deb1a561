// SPDX-License-Identifier: Apache-2.0
#include "identify/decimal.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace nebis::identify {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t from) noexcept {
    std::size_t at = from;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
}

/// A number taken apart: ± 0.d₁d₂… × 10^point, d₁ ≠ 0, the last digit ≠ 0. The digits are `whole` followed by
/// `fraction`.
struct Decimal {
    bool negative = false;
    std::string_view whole;
    std::string_view fraction;
    long point = 0;

    bool zero() const noexcept { return whole.empty() && fraction.empty(); }
    std::size_t count() const noexcept { return whole.size() + fraction.size(); }
    char digit(std::size_t i) const noexcept { return i < whole.size() ? whole[i] : fraction[i - whole.size()]; }
};

bool parse_exponent(std::string_view text, int limit, int& exponent) noexcept {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (text.empty() || digits_at(text, 0) != text.size()) return false;
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
    if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc{} || exponent > limit)
        return false;
    if (negative) exponent = -exponent;
    return true;
}

bool parse(std::string_view text, const DecimalLimits& limits, Decimal& out) noexcept {
    out.negative = text.starts_with('-');
    std::size_t at = out.negative ? 1 : 0;
    out.whole = text.substr(at, digits_at(text, at));
    if (out.whole.empty() || (out.whole.size() > 1 && out.whole[0] == '0')) return false;
    at += out.whole.size();
    if (at < text.size() && text[at] == '.') {
        out.fraction = text.substr(at + 1, digits_at(text, at + 1));
        if (out.fraction.empty()) return false;
        at += 1 + out.fraction.size();
    }
    if (out.count() > limits.max_digits) return false;
    int exponent = 0;
    if (at < text.size()) {
        if (text[at] != 'e' && text[at] != 'E') return false;
        if (!parse_exponent(text.substr(at + 1), limits.max_exponent, exponent)) return false;
    }
    out.point = static_cast<long>(out.whole.size()) + exponent;

    // Zeros at both ends say nothing.
    while (out.fraction.ends_with('0')) out.fraction.remove_suffix(1);
    if (out.fraction.empty()) {
        while (out.whole.ends_with('0')) out.whole.remove_suffix(1);
    }
    if (out.whole == "0") {
        out.whole = {};
        --out.point;
    }
    if (out.whole.empty()) {
        while (out.fraction.starts_with('0')) {
            out.fraction.remove_prefix(1);
            --out.point;
        }
    }
    return true;
}

/// Digits `from` … `to`, with zeros behind the last one.
void append_digits(std::string& out, const Decimal& number, std::size_t from, std::size_t to) {
    const std::size_t whole = number.whole.size(), count = number.count();
    if (from < whole) out.append(number.whole.substr(from, to - from));
    if (to > whole && from < count) {
        const std::size_t begin = std::max(from, whole);
        out.append(number.fraction.substr(begin - whole, to - begin));
    }
    if (to > count) out.append(to - std::max(from, count), '0');
}

void append(std::string& out, const Decimal& number) {
    constexpr long plain_from = -5, plain_to = 21;
    if (number.zero()) {
        out.push_back('0');
        return;
    }
    if (number.negative) out.push_back('-');
    const auto count = number.count();
    if (number.point < plain_from || number.point > plain_to) {
        append_digits(out, number, 0, 1);
        if (count > 1) out.push_back('.');
        append_digits(out, number, 1, count);
        out.push_back('e');
        out.append(std::to_string(number.point - 1));
    } else if (number.point <= 0) {
        out.append("0.").append(static_cast<std::size_t>(-number.point), '0');
        append_digits(out, number, 0, count);
    } else {
        const auto point = static_cast<std::size_t>(number.point);
        append_digits(out, number, 0, point);
        if (count > point) out.push_back('.');
        append_digits(out, number, point, count);
    }
}

}  // namespace

bool append_decimal(std::string& out, std::string_view number, const DecimalLimits& limits) {
    if (const std::string_view plain = plain_decimal(number); !plain.empty() && number.size() <= limits.max_digits) {
        out.append(plain);
        return true;
    }
    Decimal decimal;
    if (!parse(number, limits, decimal)) return false;
    append(out, decimal);
    return true;
}

std::strong_ordering compare_decimals(std::string_view a, std::string_view b) {
    // Canonical texts keep the limits they were made under, and may be longer by a few zeros.
    constexpr DecimalLimits any{.max_digits = SIZE_MAX, .max_exponent = 1'000'000'000};
    Decimal x, y;
    parse(a, any, x);
    parse(b, any, y);
    const auto sign = [](const Decimal& d) { return d.zero() ? 0 : d.negative ? -1 : 1; };
    if (sign(x) != sign(y)) return sign(x) <=> sign(y);
    if (sign(x) == 0) return std::strong_ordering::equal;
    auto magnitude = x.point <=> y.point;
    for (std::size_t i = 0; magnitude == 0 && i < std::max(x.count(), y.count()); ++i) {
        magnitude = (i < x.count() ? x.digit(i) : '0') <=> (i < y.count() ? y.digit(i) : '0');
    }
    return x.negative ? 0 <=> magnitude : magnitude;
}

}  // namespace nebis::identify
