// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/canonical.hpp"
#include "nebis/error.hpp"
#include "nebis/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace nebis {

inline void PrintTo(const Error& error, std::ostream* out) {
    *out << to_string(error.kind()) << " [" << error.code() << "] " << error.text();
}

namespace identify_test {

inline Request json_request(std::string body) {
    return {.method = "POST", .path = "/orders", .content_type = "application/json", .body = std::move(body)};
}

/// A function call's request: body is the object of its arguments.
inline Request call(std::string arguments) { return {.body = std::move(arguments), .arguments = true}; }

/// The error of a Result that must be one.
template <class T>
Error error_of(const Result<T>& result) {
    if (!result) return result.error();
    ADD_FAILURE() << "a value where an error was expected";
    return Error(ErrorKind::internal, "there was a value");
}

/// The value of a Result that must have one.
template <class T>
T value_of(Result<T> result) {
    if (result) return std::move(*result);
    ADD_FAILURE() << testing::PrintToString(result.error());
    return T{};
}

MATCHER_P(Refuses, code, "is rejected_input with this code") {
    if (arg.has_value()) {
        *result_listener << "has a value";
        return false;
    }
    *result_listener << testing::PrintToString(arg.error());
    return arg.error().kind() == ErrorKind::rejected_input && arg.error().code() == std::string_view(code);
}

/// Short texts from few characters, so that unlucky neighbours meet often.
inline std::string random_text(std::mt19937_64& random, std::string_view alphabet, std::size_t max_size) {
    std::string text(random() % (max_size + 1), ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    return text;
}

}  // namespace identify_test
}  // namespace nebis
