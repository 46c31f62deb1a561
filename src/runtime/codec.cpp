// SPDX-License-Identifier: Apache-2.0
#include "nebis/codec.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

namespace nebis {

Result<std::string> Codec<std::string>::decode(std::string_view bytes) { return std::string(bytes); }

std::string Codec<std::vector<std::byte>>::encode(const std::vector<std::byte>& value) {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

Result<std::vector<std::byte>> Codec<std::vector<std::byte>>::decode(std::string_view bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    return std::vector<std::byte>(first, first + bytes.size());
}

Result<bool> Codec<bool>::decode(std::string_view bytes) {
    if (bytes == "true") return true;
    if (bytes == "false") return false;
    return Error(ErrorKind::corrupt, "a kept result isn't true or false");
}

namespace detail {
namespace {

template <class T>
std::string text_of(T value) {
    std::array<char, 64> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

template <class T>
bool read(std::string_view text, T& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string number_text(long long value) { return text_of(value); }
std::string number_text(unsigned long long value) { return text_of(value); }
std::string number_text(float value) { return text_of(value); }
std::string number_text(double value) { return text_of(value); }
std::string number_text(long double value) { return text_of(value); }
bool read_number(std::string_view text, long long& value) { return read(text, value); }
bool read_number(std::string_view text, unsigned long long& value) { return read(text, value); }
bool read_number(std::string_view text, float& value) { return read(text, value); }
bool read_number(std::string_view text, double& value) { return read(text, value); }
bool read_number(std::string_view text, long double& value) { return read(text, value); }
Error no_number() { return {ErrorKind::corrupt, "a kept result isn't a number of the expected type"}; }

}  // namespace detail

void JsonOf<std::string_view>::write(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        out.append(text, start, i - start);
        start = i + 1;
        if (c == '"' || c == '\\') {
            out.push_back('\\');
            out.push_back(static_cast<char>(c));
        } else {
            std::array<char, 8> escape;
            std::snprintf(escape.data(), escape.size(), "\\u%04x", c);
            out.append(escape.data());
        }
    }
    out.append(text, start, std::string_view::npos);
    out.push_back('"');
}

}  // namespace nebis
