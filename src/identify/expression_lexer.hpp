// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/expression.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

/// The words of key expressions. For the parser only.
namespace nebis::identify {

struct Token {
    enum class Kind : std::uint8_t { end, name, string, number, symbol };
    Kind kind = Kind::end;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string text;  ///< name, symbol and number as written; string without quotes

    bool is(std::string_view symbol) const noexcept { return kind == Kind::symbol && text == symbol; }
};

/// Thrown by lexer and parser, caught by `parse_expression`: an error ends it from any depth.
struct ExpressionFailure {
    ParseError error;
};

[[noreturn]] void fail(std::size_t offset, std::string message, std::string hint = {});

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {}

    /// The next word; at the end for ever `Token::Kind::end`.
    Token next();

private:
    void read(Token& token);
    void read_string(Token& token, char quote);
    void read_number(Token& token);
    void read_symbol(Token& token);

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace nebis::identify
