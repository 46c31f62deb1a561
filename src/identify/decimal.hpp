// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

/// Decimal numbers as text: compared and canonicalised exactly, never through `double` (reliability N10:
/// 9007199254740993 and …992 are two numbers, 1, 1.0, 1e0 and 10e-1 are one, −0 is 0).
namespace nebis::identify {

struct DecimalLimits {
    std::size_t max_digits = 1000;  ///< written digits, zeros included
    int max_exponent = 1000;        ///< of the exponent as written, either sign
};

/// Most numbers are short and plain, as 2 and 129.90: their canonical text is their own without the zeros at the end of
/// a fraction. Empty for any other number, which `append_decimal` looks at closely.
constexpr std::string_view plain_decimal(std::string_view number) noexcept {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (number.empty() || number.size() > 21 || number[0] == '0') return {};
    std::size_t point = 0;
    while (point < number.size() && is_digit(number[point])) ++point;
    if (point == number.size()) return number;
    if (point == 0 || number[point] != '.' || point + 1 == number.size()) return {};
    std::size_t end = point;
    for (std::size_t at = point + 1; at < number.size(); ++at) {
        if (!is_digit(number[at])) return {};
        if (number[at] != '0') end = at + 1;
    }
    return number.substr(0, end);
}

/// Appends the canonical text of a JSON number: an optional '-', then plain digits with at most one '.', no needless
/// zero; or, when the point would stand more than 21 digits from the first digit or 6 zeros before it, d.ddde±x. Equal
/// numbers have equal texts. False (and nothing appended) when `number` isn't a JSON number or breaks a limit.
bool append_decimal(std::string& out, std::string_view number, const DecimalLimits& limits = {});

/// The order of two canonical texts.
std::strong_ordering compare_decimals(std::string_view a, std::string_view b);

}  // namespace nebis::identify
