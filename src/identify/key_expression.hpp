// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/body.hpp"
#include "identify/expression.hpp"
#include "identify/limits.hpp"
#include "nebis/error.hpp"
#include "nebis/request.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::identify {

/// A key expression in the article's (SpEL's) spelling, parsed once: `#request.orderId + ':' + #request.userId`.
///
///  · variables: `#name`; see request.hpp for which there are;
///  · `.name`, `['name']`, `[0]`, and null-safe `?.name`; a member that isn't there is null; `.name` of null is an
///  error; · literals: 'text' ('' is a quote) or "text", numbers, true, false, null; · `+` joins texts, always (a sum
///  of ids identifies nothing), and remembers the pieces: see `join_key`; · `c ? a : b`; `a ?: b` (b when a is null or
///  empty text); == != < <= > >= or eq ne lt le gt ge; and or not && || !; parentheses; · functions lower, upper, trim,
///  sha256, substring, length, format('%s-%s', a, b), also as #lower(x) and as methods: x.toLowerCase(),
///    .toUpperCase(), .trim(), .substring(0, 8), .length(), .isEmpty(), .equals(x), .concat(x), .toString(), .getName()
///    for .name. Case and blanks are ASCII's, characters are Unicode code points; sha256 is lower-case hex.
///
/// Numbers compare by value, exactly; texts by bytes; things of different kinds are unequal and have no order. A
/// condition must be a boolean. Evaluation visits each node at most once, and there are no loops.
class KeyExpression {
public:
    /// Empty for a text that doesn't parse, or names nothing of a request; `error` says why and where.
    static std::optional<KeyExpression> parse(std::string_view text, ParseError& error);

    /// **Errors**: `rejected_input`. "key-missing" when the key or one of its pieces is null or blank, else
    /// "key-invalid"; names the piece by its source text, never by its value. Also those of `Body::document`.
    Result<std::string> evaluate(const Request& request, Body& body, const HashLimits& limits) const;

    const std::string& text() const noexcept { return parsed_->text; }
    /// Names after '#', each once, in order of appearance.
    const std::vector<std::string>& roots() const noexcept { return parsed_->roots; }
    /// Member names the expression walks through, each once.
    const std::vector<std::string>& members() const noexcept { return parsed_->members; }

private:
    struct Parsed {
        std::string text;
        Expression root;
        std::vector<std::string> roots;
        std::vector<std::string> members;
        std::string further;  ///< for `join_key`: all fixed text, when the pieces vary from request to request
    };
    explicit KeyExpression(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
    std::shared_ptr<const Parsed> parsed_;
};

}  // namespace nebis::identify
