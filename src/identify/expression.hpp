// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The syntax tree of a key expression and its parser.
namespace nebis::identify {

/// Why a text is no key expression, and where. The offset counts bytes from 0, so that whoever knows the file can name
/// line and column.
struct ParseError {
    std::size_t offset = 0;
    std::string message;
    std::string hint;
};

struct Expression {
    enum class Op : std::uint8_t {
        null,
        boolean,
        number,
        string,       // literals: `text`
        variable,     // #text
        property,     // child.text, child['text']
        element,      // child[position]
        join,         // children one after the other: `+` and format
        conditional,  // children: condition, then, else
        elvis,        // children: value, substitute
        equal,
        not_equal,
        less,
        less_equal,
        greater,
        greater_equal,
        both,
        either,
        negation,
        lower,
        upper,
        trim,
        sha256,
        substring,
        length,
        is_empty,
    };
    Op op = Op::null;
    std::size_t begin = 0;  ///< its source text
    std::size_t end = 0;
    bool null_safe = false;  ///< property, element, methods: null of null is null
    std::string text = {};   ///< literal, variable or member name
    std::size_t from = 0;    ///< element: position; substring: first character
    std::size_t to = 0;      ///< substring: behind the last one
    std::vector<Expression> children = {};
};

inline constexpr std::size_t max_expression_bytes = 2048;
inline constexpr std::size_t max_expression_nodes = 256;
inline constexpr std::size_t max_expression_depth = 64;  // of the parser's recursion; parentheses take two

/// Empty when `text` is no key expression; then `error` says why.
std::optional<Expression> parse_expression(std::string_view text, ParseError& error);

}  // namespace nebis::identify
