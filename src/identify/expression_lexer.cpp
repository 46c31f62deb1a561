// SPDX-License-Identifier: Apache-2.0
#include "identify/expression_lexer.hpp"

#include "identify/text.hpp"

#include <algorithm>
#include <iterator>

namespace nebis::identify {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool begins_name(char c) noexcept {
    return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_' || c == '$' || (c & 0x80) != 0;
}
constexpr bool continues_name(char c) noexcept { return begins_name(c) || is_digit(c); }

}  // namespace

void fail(std::size_t offset, std::string message, std::string hint) {
    throw ExpressionFailure{{offset, std::move(message), std::move(hint)}};
}

Token Lexer::next() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    Token token;
    token.begin = at_;
    if (at_ < text_.size()) read(token);
    token.end = at_;
    return token;
}

void Lexer::read(Token& token) {
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
        token.kind = Token::Kind::string;
        read_string(token, c);
    } else if (is_digit(c)) {
        token.kind = Token::Kind::number;
        read_number(token);
    } else if (begins_name(c)) {
        token.kind = Token::Kind::name;
        while (at_ < text_.size() && continues_name(text_[at_])) token.text.push_back(text_[at_++]);
    } else {
        token.kind = Token::Kind::symbol;
        read_symbol(token);
    }
}

void Lexer::read_string(Token& token, char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
        if (text_[at_] == quote) {
            ++at_;
            if (at_ >= text_.size() || text_[at_] != quote) return;  // doubled: the quote itself
        }
        token.text.push_back(text_[at_]);
    }
    fail(token.begin, "text without an end", "close it with the same quote; a quote inside is written twice");
}

void Lexer::read_number(Token& token) {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
        for (++at_; at_ < text_.size() && is_digit(text_[at_]);) ++at_;
    }
    if (at_ < text_.size() && continues_name(text_[at_]))
        fail(token.begin, "a number with letters behind it", "put text in quotes");
    token.text = text_.substr(token.begin, at_ - token.begin);
}

void Lexer::read_symbol(Token& token) {
    static constexpr std::string_view symbols[] = {"?.", "?:", "==", "!=", "<=", ">=", "&&", "||", "#", ".", "[",
                                                   "]",  "(",  ")",  "+",  "-",  "?",  ":",  ",",  "<", ">", "!"};
    const std::string_view rest = text_.substr(at_);
    const auto* symbol =
        std::find_if(std::begin(symbols), std::end(symbols), [&](std::string_view s) { return rest.starts_with(s); });
    if (symbol == std::end(symbols)) {
        if (rest.front() == '=') fail(at_, "a single =", "write == to compare");
        if (rest.front() == '*' || rest.front() == '/' || rest.front() == '%')
            fail(at_, "there is no arithmetic in key expressions");
        fail(at_, "a character that no key expression has");
    }
    token.text = *symbol;
    at_ += symbol->size();
}

}  // namespace nebis::identify
