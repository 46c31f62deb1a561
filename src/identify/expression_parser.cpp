// SPDX-License-Identifier: Apache-2.0
#include "identify/decimal.hpp"
#include "identify/expression_lexer.hpp"
#include "identify/text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace nebis::identify {
namespace {

using Op = Expression::Op;

/// A function or method by name; arguments count the receiver of a method.
struct Callable {
    std::string_view name;
    bool method;
    Op op;
    std::size_t arguments;
    std::size_t at_most;
};

constexpr Callable callables[] = {
    {"lower", false, Op::lower, 1, 1},         {"upper", false, Op::upper, 1, 1},
    {"trim", false, Op::trim, 1, 1},           {"sha256", false, Op::sha256, 1, 1},
    {"substring", false, Op::substring, 2, 3}, {"length", false, Op::length, 1, 1},
    {"format", false, Op::join, 1, 64},        {"toLowerCase", true, Op::lower, 1, 1},
    {"toUpperCase", true, Op::upper, 1, 1},    {"trim", true, Op::trim, 1, 1},
    {"substring", true, Op::substring, 2, 3},  {"length", true, Op::length, 1, 1},
    {"size", true, Op::length, 1, 1},          {"isEmpty", true, Op::is_empty, 1, 1},
    {"equals", true, Op::equal, 2, 2},         {"concat", true, Op::join, 2, 2},
    {"toString", true, Op::join, 1, 1},
};

class Parser {
public:
    explicit Parser(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

    Expression whole() {
        if (token_.kind == Token::Kind::end) fail(0, "an empty key expression");
        Expression expression = any();
        if (token_.kind != Token::Kind::end)
            fail(token_.begin, "something follows the end of the expression", "join texts with +");
        return expression;
    }

private:
    // Each level of nesting passes through any() or unary(), so counting there bounds the recursion.
    struct Level {
        explicit Level(Parser& parser) : depth(parser.depth_) {
            if (++depth > max_expression_depth) fail(parser.token_.begin, "nested too deeply");
        }
        ~Level() { --depth; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        std::size_t& depth;
    };

    Expression any() {
        const Level level(*this);
        Expression condition = either();
        if (token_.is("?:")) {
            advance();
            Expression substitute = any();
            return combine(Op::elvis, std::move(condition), std::move(substitute));
        }
        if (!token_.is("?")) return condition;
        advance();
        Expression then = any();
        expect(":", "a ? without its :");
        Expression otherwise = any();
        Expression result = combine(Op::conditional, std::move(condition), std::move(then));
        result.end = otherwise.end;
        result.children.push_back(std::move(otherwise));
        return result;
    }

    Expression either() {
        Expression left = both();
        while (token_.is("||") || is_word("or")) {
            advance();
            Expression right = both();
            left = combine(Op::either, std::move(left), std::move(right));
        }
        return left;
    }

    Expression both() {
        Expression left = comparison();
        while (token_.is("&&") || is_word("and")) {
            advance();
            Expression right = comparison();
            left = combine(Op::both, std::move(left), std::move(right));
        }
        return left;
    }

    std::optional<Op> comparison_operator() const noexcept {
        struct Spelling {
            std::string_view symbol, word;
            Op op;
        };
        static constexpr Spelling spellings[] = {{"==", "eq", Op::equal},  {"!=", "ne", Op::not_equal},
                                                 {"<", "lt", Op::less},    {"<=", "le", Op::less_equal},
                                                 {">", "gt", Op::greater}, {">=", "ge", Op::greater_equal}};
        for (const auto& [symbol, word, op] : spellings) {
            if (token_.is(symbol) || is_word(word)) return op;
        }
        return {};
    }

    Expression comparison() {
        Expression left = sum();
        const auto op = comparison_operator();
        if (!op) return left;
        advance();
        Expression right = sum();
        if (comparison_operator()) fail(token_.begin, "two comparisons in a row", "use parentheses and `and`");
        return combine(*op, std::move(left), std::move(right));
    }

    Expression sum() {
        Expression left = unary();
        while (token_.is("+")) {
            advance();
            Expression right = unary();
            left = combine(Op::join, std::move(left), std::move(right));
        }
        if (token_.is("-")) fail(token_.begin, "there is no arithmetic in key expressions");
        return left;
    }

    Expression unary() {
        const Level level(*this);
        const std::size_t begin = token_.begin;
        if (token_.is("!") || is_word("not")) {
            advance();
            Expression negation = wrap(Op::negation, unary());
            negation.begin = begin;
            return negation;
        }
        if (token_.is("-")) {
            advance();
            if (token_.kind != Token::Kind::number) fail(begin, "a - that no number follows");
            Expression number = literal(Op::number, "-" + token_.text);
            number.begin = begin;
            return number;
        }
        return postfix(primary());
    }

    Expression primary() {
        const Token token = token_;
        switch (token.kind) {
            case Token::Kind::string: return literal(Op::string, token.text);
            case Token::Kind::number: return literal(Op::number, token.text);
            case Token::Kind::name: return named(token);
            case Token::Kind::end: fail(token.begin, "the expression ends too early");
            case Token::Kind::symbol: break;
        }
        if (token.is("(")) {
            advance();
            Expression inside = any();
            inside.begin = token.begin;
            inside.end = token_.end;
            expect(")", "a ( without its )");
            return inside;
        }
        if (!token.is("#")) fail(token.begin, "\"" + token.text + "\" where a value was expected");
        advance();
        if (token_.kind != Token::Kind::name) fail(token.begin, "a # that no name follows");
        if (token_.text == "root" || token_.text == "this")
            fail(token.begin, "#" + token_.text + " has no meaning here", "write #request");
        Expression variable = node(Op::variable, token.begin);
        variable.text = token_.text;
        variable.end = token_.end;
        advance();
        if (token_.is("(")) return call(variable.text, token.begin, {});
        return variable;
    }

    Expression named(const Token& token) {
        if (is_word("null")) return literal(Op::null, {});
        if (is_word("true") || is_word("false")) return literal(Op::boolean, is_word("true") ? "true" : "false");
        advance();
        if (token_.is("(")) {
            if (token.text == "T") fail(token.begin, "types are not available in key expressions");
            return call(token.text, token.begin, {});
        }
        fail(token.begin, "\"" + token.text + "\" is no value", "put # before a variable, quotes around text");
    }

    Expression postfix(Expression value) {
        while (true) {
            if (token_.is(".") || token_.is("?.")) {
                const bool null_safe = token_.is("?.");
                advance();
                if (token_.is("[") && null_safe) {
                    value = subscript(std::move(value), true);
                    continue;
                }
                const Token name = token_;
                if (name.kind != Token::Kind::name) fail(name.begin, "a . that no name follows");
                advance();
                if (token_.is("(")) {
                    value = method(std::move(value), name, null_safe);
                } else {
                    value = property(std::move(value), name.text, name.end, null_safe);
                }
            } else if (token_.is("[")) {
                value = subscript(std::move(value), false);
            } else {
                return value;
            }
        }
    }

    Expression property(Expression of, std::string name, std::size_t end, bool null_safe) {
        Expression result = wrap(Op::property, std::move(of));
        result.text = std::move(name);
        result.end = end;
        result.null_safe = null_safe;
        return result;
    }

    Expression subscript(Expression of, bool null_safe) {
        advance();
        const Token index = token_;
        if (index.kind == Token::Kind::number) {
            Expression result = wrap(Op::element, std::move(of));
            result.from = whole_number(index);
            result.null_safe = null_safe;
            advance();
            result.end = token_.end;
            expect("]", "a [ without its ]");
            return result;
        }
        if (index.kind != Token::Kind::string)
            fail(index.begin, "an index that is neither a number nor a text in quotes", "write [0] or ['name']");
        advance();
        Expression result = property(std::move(of), index.text, token_.end, null_safe);
        expect("]", "a [ without its ]");
        return result;
    }

    Expression method(Expression receiver, const Token& name, bool null_safe) {
        const std::size_t begin = receiver.begin;
        if (name.text.size() > 3 && name.text.starts_with("get") && name.text[3] == upper(name.text[3])) {
            advance();
            std::string member = name.text.substr(3);
            member[0] = lower(member[0]);
            Expression result = property(std::move(receiver), std::move(member), token_.end, null_safe);
            expect(")", "a getter with arguments");
            return result;
        }
        std::vector<Expression> arguments;
        arguments.push_back(std::move(receiver));
        Expression result = call(name.text, begin, std::move(arguments), &name);
        result.null_safe = null_safe;
        return result;
    }

    /// The current token is the opening parenthesis.
    Expression call(const std::string& name, std::size_t begin, std::vector<Expression> arguments,
                    const Token* method = nullptr) {
        const auto* callable = std::find_if(std::begin(callables), std::end(callables), [&](const Callable& one) {
            return one.name == name && one.method == (method != nullptr);
        });
        const std::size_t place = method != nullptr ? method->begin : begin;
        if (callable == std::end(callables)) {
            fail(place, "there is no " + std::string(method != nullptr ? "method " : "function ") + name,
                 method != nullptr ? "methods: toLowerCase, toUpperCase, trim, substring, length, size, isEmpty, "
                                     "equals, concat, toString, get…"
                                   : "functions: lower, upper, trim, sha256, substring, length, format");
        }
        advance();
        if (!token_.is(")")) arguments.push_back(any());
        while (!token_.is(")")) {
            expect(",", "arguments without a comma between them");
            arguments.push_back(any());
        }
        const std::size_t end = token_.end;
        advance();
        if (arguments.size() < callable->arguments || arguments.size() > callable->at_most)
            fail(place, name + " has another number of arguments");
        Expression result = node(callable->op, begin);
        result.end = end;
        if (result.op == Op::substring) {
            result.from = whole_number(arguments[1]);
            result.to = arguments.size() > 2 ? whole_number(arguments[2]) : std::string::npos;
            if (result.from > result.to) fail(place, "a substring that ends before it begins");
            arguments.resize(1);
        } else if (callable->name == "format") {
            arguments = formatted(std::move(arguments));
        }
        result.children = std::move(arguments);
        return result;
    }

    /// format('%s-%s', a, b) is a join: a, '-', b. So its pieces stay apart too.
    std::vector<Expression> formatted(std::vector<Expression> arguments) {
        const Expression pattern = std::move(arguments.front());
        if (pattern.op != Op::string) fail(pattern.begin, "the pattern of format isn't a text in quotes");
        std::vector<Expression> pieces;
        std::size_t used = 1;
        std::string fixed;
        const auto flush = [&] {
            if (fixed.empty() && !pieces.empty()) return;
            pieces.push_back(node(Op::string, pattern.begin));
            pieces.back().end = pattern.end;
            pieces.back().text = std::exchange(fixed, {});
        };
        for (std::size_t i = 0; i < pattern.text.size(); ++i) {
            if (pattern.text[i] != '%') {
                fixed.push_back(pattern.text[i]);
                continue;
            }
            const char kind = ++i < pattern.text.size() ? pattern.text[i] : '\0';
            if (kind == '%') {
                fixed.push_back('%');
            } else if (kind == 's' || kind == 'd') {
                flush();
                if (used == arguments.size()) fail(pattern.begin, "format has fewer arguments than its pattern");
                pieces.push_back(std::move(arguments[used++]));
            } else {
                fail(pattern.begin, "format knows %s, %d and %% only");
            }
        }
        flush();
        if (used != arguments.size()) fail(pattern.begin, "format has more arguments than its pattern");
        return pieces;
    }

    std::size_t whole_number(const Expression& argument) const {
        std::size_t value = 0;
        const std::string& text = argument.text;
        const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (argument.op != Op::number || error != std::errc{} || rest != text.data() + text.size() ||
            value > 1'000'000) {
            fail(argument.begin, "a position that isn't a plain number", "count from 0");
        }
        return value;
    }
    std::size_t whole_number(const Token& token) const {
        return whole_number(Expression{.op = Op::number, .begin = token.begin, .end = token.end, .text = token.text});
    }

    Expression literal(Op op, std::string text) {
        Expression result = node(op, token_.begin);
        result.end = token_.end;
        if (op != Op::number) {
            result.text = std::move(text);
        } else if (!append_decimal(result.text, text)) {
            fail(token_.begin, "a number that begins with 0 or is too long");
        }
        advance();
        return result;
    }

    Expression node(Op op, std::size_t begin) {
        if (++nodes_ > max_expression_nodes)
            fail(begin, "too many parts: at most " + std::to_string(max_expression_nodes));
        return {.op = op, .begin = begin};
    }

    Expression wrap(Op op, Expression inside) {
        Expression result = node(op, inside.begin);
        result.end = inside.end;
        result.children.push_back(std::move(inside));
        return result;
    }

    Expression combine(Op op, Expression left, Expression right) {
        const std::size_t end = right.end;
        Expression result = wrap(op, std::move(left));
        result.end = end;
        result.children.push_back(std::move(right));
        return result;
    }

    /// SpEL spells its words in any case.
    bool is_word(std::string_view word) const noexcept {
        return token_.kind == Token::Kind::name && equal_ignoring_case(token_.text, word);
    }
    void advance() { token_ = lexer_.next(); }
    void expect(std::string_view symbol, std::string message) {
        if (!token_.is(symbol)) fail(token_.begin, std::move(message));
        advance();
    }

    Lexer lexer_;
    Token token_;
    std::size_t depth_ = 0;
    std::size_t nodes_ = 0;
};

}  // namespace

std::optional<Expression> parse_expression(std::string_view text, ParseError& error) {
    try {
        if (text.size() > max_expression_bytes)
            fail(max_expression_bytes, "longer than " + std::to_string(max_expression_bytes) + " bytes");
        return Parser(text).whole();
    } catch (ExpressionFailure& failure) {
        error = std::move(failure.error);
        return {};
    }
}

}  // namespace nebis::identify
