// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Results to bytes and back, and arguments to JSON.
///
/// `Codec<T>` keeps a handler's result in the record and gives it to duplicates; `JsonOf<T>` writes an argument into
/// the canonical request. Text, bytes, arithmetic types, bool, enumerations, `optional`, `vector` and `map<string, …>`
/// are here; described structs come with `nebis/describe.hpp`; for anything else specialise both. **Threads**:
/// stateless.
namespace nebis {

template <class T, class Enable = void>
struct Codec;  // static std::string encode(const T&); static Result<T> decode(std::string_view);

template <class T, class Enable = void>
struct JsonOf;  // static void write(std::string& out, const T&);

template <class T>
concept Encodable = requires(const T& value, std::string_view bytes) {
    { Codec<T>::encode(value) } -> std::convertible_to<std::string>;
    { Codec<T>::decode(bytes) } -> std::same_as<Result<T>>;
};

template <class T>
concept JsonWritable = requires(std::string& out, const T& value) {
    JsonOf<T>::write(out, value);
};

/// What a refused duplicate gets with `duplicate-handler: return` when no ResponseProducer is set. Specialise for your
/// own types: `static T make(std::string_view message)`.
template <class T, class Enable = void>
struct DefaultAnswer;

template <class T>
concept HasDefaultAnswer = std::is_void_v<T> || requires(std::string_view message) {
    { DefaultAnswer<T>::make(message) } -> std::same_as<T>;
};

// ---- codecs

template <>
struct Codec<std::string> {
    static std::string encode(const std::string& value) { return value; }
    static Result<std::string> decode(std::string_view bytes);
};

template <>
struct Codec<std::vector<std::byte>> {
    static std::string encode(const std::vector<std::byte>& value);
    static Result<std::vector<std::byte>> decode(std::string_view bytes);
};

template <>
struct Codec<bool> {
    static std::string encode(bool value) { return value ? "true" : "false"; }
    static Result<bool> decode(std::string_view bytes);
};

namespace detail {

/// The type that a number is written and read as: `float` by itself, since its shortest text is its own.
template <class T>
using Widest = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
std::string number_text(long long value);
std::string number_text(unsigned long long value);
std::string number_text(float value);
std::string number_text(double value);
std::string number_text(long double value);
/// True: all of it was one number, and in range.
bool read_number(std::string_view text, long long& value);
bool read_number(std::string_view text, unsigned long long& value);
bool read_number(std::string_view text, float& value);
bool read_number(std::string_view text, double& value);
bool read_number(std::string_view text, long double& value);
Error no_number();

}  // namespace detail

/// Decimal text; floating point in the shortest form that reads back to the same value.
template <class T>
struct Codec<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>> {
    static std::string encode(T value) { return detail::number_text(static_cast<detail::Widest<T>>(value)); }
    static Result<T> decode(std::string_view bytes) {
        detail::Widest<T> wide{};
        if (!detail::read_number(bytes, wide)) return detail::no_number();
        const auto value = static_cast<T>(wide);
        if constexpr (std::is_integral_v<T>)
            if (static_cast<detail::Widest<T>>(value) != wide) return detail::no_number();  // too large for it
        return value;
    }
};

template <class T>
struct Codec<T, std::enable_if_t<std::is_enum_v<T>>> {
    using Number = std::underlying_type_t<T>;
    static std::string encode(T value) {
        return Codec<long long>::encode(static_cast<long long>(static_cast<Number>(value)));
    }
    static Result<T> decode(std::string_view bytes) {
        auto number = Codec<long long>::decode(bytes);
        if (!number) return std::move(number).error();
        return static_cast<T>(static_cast<Number>(*number));
    }
};

/// One byte tells whether a value follows.
template <class T>
struct Codec<std::optional<T>, std::enable_if_t<Encodable<T>>> {
    static std::string encode(const std::optional<T>& value) { return value ? "1" + Codec<T>::encode(*value) : "0"; }
    static Result<std::optional<T>> decode(std::string_view bytes) {
        if (bytes == "0") return std::optional<T>{};
        if (bytes.empty() || bytes.front() != '1')
            return Error(ErrorKind::corrupt, "a kept optional result is damaged");
        auto inner = Codec<T>::decode(bytes.substr(1));
        if (!inner) return std::move(inner).error();
        return std::optional<T>(std::move(*inner));
    }
};

// ---- arguments as JSON

template <>
struct JsonOf<std::string_view> {
    static void write(std::string& out, std::string_view text);
};
template <>
struct JsonOf<std::string> : JsonOf<std::string_view> {};
template <>
struct JsonOf<const char*> : JsonOf<std::string_view> {};

template <>
struct JsonOf<bool> {
    static void write(std::string& out, bool value) { out += value ? "true" : "false"; }
};

template <class T>
struct JsonOf<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>> {
    static void write(std::string& out, T value) {
        if constexpr (std::is_floating_point_v<T>) {
            if (value != value || value - value != 0) {  // not finite: JSON has no number for it
                JsonOf<std::string_view>::write(out, value != value ? "NaN" : (value > 0 ? "Infinity" : "-Infinity"));
                return;
            }
        }
        out += Codec<T>::encode(value);
    }
};

template <class T>
struct JsonOf<T, std::enable_if_t<std::is_enum_v<T>>> {
    static void write(std::string& out, T value) { out += Codec<T>::encode(value); }
};

template <class T>
struct JsonOf<std::optional<T>> {
    static void write(std::string& out, const std::optional<T>& value) {
        if (value)
            JsonOf<T>::write(out, *value);
        else
            out += "null";
    }
};

template <class T>
struct JsonOf<std::vector<T>> {
    static void write(std::string& out, const std::vector<T>& values) {
        out.push_back('[');
        bool first = true;
        for (const auto& value : values) {
            if (!std::exchange(first, false)) out.push_back(',');
            JsonOf<T>::write(out, value);
        }
        out.push_back(']');
    }
};

template <class T, class Compare>
struct JsonOf<std::map<std::string, T, Compare>> {
    static void write(std::string& out, const std::map<std::string, T, Compare>& members) {
        out.push_back('{');
        bool first = true;
        for (const auto& [name, value] : members) {
            if (!std::exchange(first, false)) out.push_back(',');
            JsonOf<std::string_view>::write(out, name);
            out.push_back(':');
            JsonOf<T>::write(out, value);
        }
        out.push_back('}');
    }
};

// ---- default answers

template <>
struct DefaultAnswer<std::string> {
    static std::string make(std::string_view message) { return std::string(message); }
};
template <>
struct DefaultAnswer<bool> {
    static bool make(std::string_view) { return false; }
};
template <class T>
struct DefaultAnswer<std::optional<T>> {
    static std::optional<T> make(std::string_view) { return std::nullopt; }
};

}  // namespace nebis
