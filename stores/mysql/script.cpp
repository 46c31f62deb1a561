// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace nebis::mysql {

Script& Script::bytes(std::string_view value) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    sql_.append("x'");
    std::size_t at = sql_.size();
    sql_.resize(at + 2 * value.size());
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        sql_[at++] = digits[byte >> 4];
        sql_[at++] = digits[byte & 0xF];
    }
    sql_.push_back('\'');
    return *this;
}

Script& Script::text(std::string_view value) {
    sql_.append("_utf8mb4 ");
    return bytes(value);
}

Script& Script::number(std::int64_t value) {
    std::array<char, std::numeric_limits<std::int64_t>::digits10 + 3> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    sql_.append(digits.data(), end);
    return *this;
}

}  // namespace nebis::mysql
