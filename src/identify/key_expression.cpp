// SPDX-License-Identifier: Apache-2.0
#include "identify/key_expression.hpp"

#include "identify/digest.hpp"
#include "identify/key_parts.hpp"
#include "identify/text.hpp"

#include <algorithm>
#include <utility>

namespace nebis::identify {
namespace {

using Op = Expression::Op;

/// No text of a request that is longer can be part of a key, so nothing longer is copied.
constexpr std::size_t max_text_bytes = 64 * 1024;

struct Value {
    enum class Kind : std::uint8_t { null, boolean, number, text, joined, inner, headers, parameters };
    Kind kind = Kind::null;
    bool fixed = false;               ///< written in the expression
    std::string text = {};            ///< boolean, number (canonical), text
    std::vector<KeyPart> parts = {};  ///< joined
    const JsonTape* tape = nullptr;   ///< inner: an array or object
    std::uint32_t index = 0;

    bool is_null() const noexcept { return kind == Kind::null; }
    /// Something that holds values and is none.
    bool is_group() const noexcept { return kind == Kind::inner || kind == Kind::headers || kind == Kind::parameters; }
    bool is_text() const noexcept { return kind == Kind::text || kind == Kind::joined; }
};

/// Ends an evaluation from any depth; caught in `KeyExpression::evaluate`.
struct Refusal {
    Error error;
};

template <class T>
T take(Result<T> result) {
    if (!result) throw Refusal{std::move(result).error()};
    return std::move(*result);
}

constexpr bool begins_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t count_characters(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// Byte offset of a character; npos when the text is shorter.
std::size_t offset_of(std::string_view text, std::size_t character) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (begins_character(text[i]) && character-- == 0) return i;
    }
    return character == 0 ? text.size() : text.npos;
}

std::string plain_text(const Value& value) {
    if (value.kind != Value::Kind::joined) return value.text;
    std::string text;
    for (const KeyPart& part : value.parts) text += part.text;
    return text;
}

class Evaluator {
public:
    Evaluator(std::string_view source, const Request& request, Body& body, const HashLimits& limits)
        : source_(source), request_(request), body_(body), limits_(limits) {}

    std::vector<KeyPart> key_parts(const Expression& expression) { return parts(evaluate(expression), expression); }

private:
    [[noreturn]] void refuse(const Expression& at, const char* code, std::string_view why) const {
        std::string message = "key expression: ";
        message.append(source_.substr(at.begin, at.end - at.begin)).append(" ").append(why);
        throw Refusal{Error(ErrorKind::rejected_input, std::move(message)).with_code(code)};
    }
    [[noreturn]] void refuse_null(const Expression& at) const { refuse(at, "key-missing", "is null or absent"); }

    Value evaluate(const Expression& e) {
        switch (e.op) {
            case Op::null: return {.fixed = true};
            case Op::boolean: return {.kind = Value::Kind::boolean, .fixed = true, .text = e.text};
            case Op::number: return {.kind = Value::Kind::number, .fixed = true, .text = e.text};
            case Op::string: return {.kind = Value::Kind::text, .fixed = true, .text = e.text};
            case Op::variable: return variable(e);
            case Op::property: return property(e);
            case Op::element: return element(e);
            case Op::join: return join(e);
            case Op::conditional: return evaluate(e.children[condition(e.children[0]) ? 1 : 2]);
            case Op::elvis: return elvis(e);
            case Op::equal: return boolean(equal(e));
            case Op::not_equal: return boolean(!equal(e));
            case Op::less: return boolean(order(e) < 0);
            case Op::less_equal: return boolean(order(e) <= 0);
            case Op::greater: return boolean(order(e) > 0);
            case Op::greater_equal: return boolean(order(e) >= 0);
            case Op::both: return boolean(condition(e.children[0]) && condition(e.children[1]));
            case Op::either: return boolean(condition(e.children[0]) || condition(e.children[1]));
            case Op::negation: return boolean(!condition(e.children[0]));
            case Op::lower:
            case Op::upper:
            case Op::trim:
            case Op::sha256:
            case Op::substring:
            case Op::length:
            case Op::is_empty: return function(e);
        }
        refuse(e, "key-invalid", "can't be evaluated");
    }

    static Value boolean(bool value) { return {.kind = Value::Kind::boolean, .text = value ? "true" : "false"}; }
    static Value text(std::string value) { return {.kind = Value::Kind::text, .text = std::move(value)}; }
    static Value text_or_null(std::string_view value) { return value.empty() ? Value{} : text(std::string(value)); }

    // ---- what a request has -----------------------------------------------------------------------------------------

    Value variable(const Expression& e) {
        if (request_.arguments) {
            if (const auto found = request_.body.empty() ? 0 : take(take(body_.document())->child(0, e.text))) {
                return json(*take(body_.document()), found, e);
            }
        } else {
            if (e.text == "request" || e.text == "body")
                return request_.body.empty() ? Value{} : json(*take(body_.document()), 0, e);
            if (e.text == "headers") return {.kind = Value::Kind::headers};
            if (e.text == "query") return query(e);
            if (e.text == "parameters") return {.kind = Value::Kind::parameters};
            if (e.text == "path") return text_or_null(request_.path);
            if (e.text == "method") return text_or_null(request_.method);
        }
        if (e.text == "principal") return text_or_null(request_.principal);
        if (e.text == "tenant") return text_or_null(request_.tenant);
        refuse(e, "key-invalid", "is no variable of this request");
    }

    Value query(const Expression& e) {
        if (const auto parsed = query_->parse_form(request_.query, limits_); !parsed)
            refuse(e, "key-invalid", "can't be decoded");
        return json(*query_, 0, e);
    }

    Value json(const JsonTape& tape, std::uint32_t index, const Expression& e) const {
        const JsonNode& node = tape[index];
        Value value;
        switch (node.kind) {
            case JsonKind::null: return value;
            case JsonKind::array:
            case JsonKind::object: return {.kind = Value::Kind::inner, .tape = &tape, .index = index};
            case JsonKind::boolean: value.kind = Value::Kind::boolean; break;
            case JsonKind::number: value.kind = Value::Kind::number; break;
            case JsonKind::string: value.kind = Value::Kind::text; break;
        }
        if (node.text_size > max_text_bytes) refuse(e, "key-invalid", "is too long");
        if (!append_scalar(value.text, node, limits_.numbers))
            refuse(e, "key-invalid", "is a number with too many digits");
        return value;
    }

    Value property(const Expression& e) {
        const Value of = evaluate(e.children[0]);
        if (of.is_null()) {
            if (e.null_safe) return {};
            refuse_null(e.children[0]);
        }
        if (of.kind == Value::Kind::headers) {
            const std::string* header = take(request_.header(e.text));
            return header != nullptr ? text(std::string(trim(*header))) : Value{};
        }
        if (of.kind == Value::Kind::parameters) return text_or_null(request_.parameter(e.text));
        if (of.kind != Value::Kind::inner || (*of.tape)[of.index].kind != JsonKind::object) {
            refuse(e.children[0], "key-invalid", "has no members");
        }
        const std::uint32_t found = take(of.tape->child(of.index, e.text));
        return found != 0 ? json(*of.tape, found, e) : Value{};
    }

    Value element(const Expression& e) {
        const Value of = evaluate(e.children[0]);
        if (of.is_null()) {
            if (e.null_safe) return {};
            refuse_null(e.children[0]);
        }
        if (of.kind != Value::Kind::inner || (*of.tape)[of.index].kind != JsonKind::array)
            refuse(e.children[0], "key-invalid", "is no list");
        const std::uint32_t found = take(of.tape->child(of.index, std::to_string(e.from)));
        return found != 0 ? json(*of.tape, found, e) : Value{};
    }

    // ---- pieces -----------------------------------------------------------------------------------------------------

    std::vector<KeyPart> parts(Value value, const Expression& e) const {
        if (value.is_null()) refuse_null(e);
        if (value.kind == Value::Kind::joined) return std::move(value.parts);
        if (value.is_group()) refuse(e, "key-invalid", "is no single value");
        if (!value.fixed && nebis::identify::trim(value.text).empty()) refuse(e, "key-missing", "is blank");
        return {{.text = std::move(value.text), .fixed = value.fixed}};
    }

    Value join(const Expression& e) {
        Value joined{.kind = Value::Kind::joined};
        for (const Expression& child : e.children) {
            auto pieces = parts(evaluate(child), child);
            std::move(pieces.begin(), pieces.end(), std::back_inserter(joined.parts));
        }
        return joined;
    }

    // ---- decisions --------------------------------------------------------------------------------------------------

    bool condition(const Expression& e) {
        const Value value = evaluate(e);
        if (value.kind != Value::Kind::boolean) refuse(e, "key-invalid", "is neither true nor false");
        return value.text == "true";
    }

    Value elvis(const Expression& e) {
        Value value = evaluate(e.children[0]);
        if (value.is_null() || (value.is_text() && plain_text(value).empty())) return evaluate(e.children[1]);
        return value;
    }

    bool equal(const Expression& e) {
        const Value a = evaluate(e.children[0]), b = evaluate(e.children[1]);
        if (a.is_null() || b.is_null()) return a.is_null() == b.is_null();
        if (a.is_group() || b.is_group()) refuse(e, "key-invalid", "compares something that is no single value");
        return (a.is_text() ? b.is_text() : a.kind == b.kind) && plain_text(a) == plain_text(b);
    }

    std::strong_ordering order(const Expression& e) {
        const Value a = evaluate(e.children[0]), b = evaluate(e.children[1]);
        if (a.kind == Value::Kind::number && b.kind == Value::Kind::number) return compare_decimals(a.text, b.text);
        if (a.is_text() && b.is_text()) return plain_text(a).compare(plain_text(b)) <=> 0;
        refuse(e, "key-invalid", "compares what has no order");
    }

    // ---- functions --------------------------------------------------------------------------------------------------

    Value function(const Expression& e) {
        const Expression& argument = e.children[0];
        Value value = evaluate(argument);
        if (value.is_null()) {
            if (e.null_safe) return {};
            refuse_null(argument);
        }
        const bool counts = value.kind == Value::Kind::inner && (e.op == Op::length || e.op == Op::is_empty);
        if (value.is_group() && !counts) {
            refuse(argument, "key-invalid", "is no single value");
        }
        switch (e.op) {
            case Op::lower: return mapped(std::move(value), [](char c) { return nebis::identify::lower(c); });
            case Op::upper: return mapped(std::move(value), [](char c) { return nebis::identify::upper(c); });
            case Op::trim: return trimmed(std::move(value));
            case Op::sha256:
                return text(to_hex(nebis::identify::sha256(take(join_key(parts(std::move(value), argument))))));
            case Op::substring: return substring(e, value);
            case Op::length: return {.kind = Value::Kind::number, .text = std::to_string(length(value))};
            default: return boolean(length(value) == 0);
        }
    }

    /// Letters change piece by piece, so the pieces stay apart.
    template <class Map>
    static Value mapped(Value value, Map map) {
        if (value.kind != Value::Kind::joined) value.kind = Value::Kind::text;
        std::transform(value.text.begin(), value.text.end(), value.text.begin(), map);
        for (KeyPart& part : value.parts) std::transform(part.text.begin(), part.text.end(), part.text.begin(), map);
        return value;
    }

    static Value trimmed(Value value) {
        const auto cut = [](std::string& text, std::string_view kept) { text = std::string(kept); };
        if (value.kind != Value::Kind::joined) {
            value.kind = Value::Kind::text;
            cut(value.text, nebis::identify::trim(value.text));
            return value;
        }
        // The ends of the whole are the front of the first piece and the back of the last.
        std::string& first = value.parts.front().text;
        cut(first, std::string_view(first).substr(std::min(first.size(), first.find_first_not_of(" \t\n\v\f\r"))));
        std::string& last = value.parts.back().text;
        cut(last, std::string_view(last).substr(0, last.find_last_not_of(" \t\n\v\f\r") + 1));
        return value;
    }

    Value substring(const Expression& e, const Value& value) const {
        const std::string whole = plain_text(value);
        const std::size_t from = offset_of(whole, e.from);
        const std::size_t to = e.to == whole.npos ? whole.size() : offset_of(whole, e.to);
        if (from == whole.npos || to == whole.npos)
            refuse(e.children[0], "key-invalid", "is too short for its substring");
        return text(whole.substr(from, to - from));
    }

    static std::size_t length(const Value& value) {
        if (value.kind != Value::Kind::inner) return count_characters(plain_text(value));
        std::size_t count = 0;
        const JsonTape& tape = *value.tape;
        for (std::uint32_t i = value.index + 1; i < tape[value.index].end; i = tape[i].end) ++count;
        return count;
    }

    std::string_view source_;
    const Request& request_;
    Body& body_;
    const HashLimits& limits_;
    TapeLease query_;
};

// ---- what can be known before any request

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void collect_names(const Expression& e, std::vector<std::string>& roots, std::vector<std::string>& members) {
    if (e.op == Op::variable) add_once(roots, e.text);
    for (const Expression& child : e.children) collect_names(child, roots, members);
    if (e.op == Op::property) add_once(members, e.text);
}

/// The fixed text among the pieces of the key, in every branch; tells whether there are branches.
bool collect_fixed(const Expression& e, std::string& fixed) {
    switch (e.op) {
        case Op::string:
        case Op::number:
        case Op::boolean:
            for (const char c : e.text) fixed.append({c, lower(c), upper(c)});
            return false;
        case Op::conditional:
        case Op::elvis:
            for (std::size_t i = e.op == Op::elvis ? 0 : 1; i < e.children.size(); ++i)
                collect_fixed(e.children[i], fixed);
            return true;
        case Op::join:
        case Op::lower:
        case Op::upper:
        case Op::trim: {
            bool branches = false;
            for (const Expression& child : e.children) branches = collect_fixed(child, fixed) || branches;
            return branches;
        }
        default: return false;
    }
}

}  // namespace

std::optional<KeyExpression> KeyExpression::parse(std::string_view text, ParseError& error) {
    auto root = parse_expression(text, error);
    if (!root) return {};
    auto parsed = std::make_shared<Parsed>();
    parsed->text = text;
    collect_names(*root, parsed->roots, parsed->members);
    if (parsed->roots.empty()) {
        error = {0, "the key expression names nothing of the request, so all requests would share one record",
                 "name a field, as in #request.orderId"};
        return {};
    }
    if (!collect_fixed(*root, parsed->further)) parsed->further.clear();
    parsed->root = std::move(*root);
    return KeyExpression(std::move(parsed));
}

Result<std::string> KeyExpression::evaluate(const Request& request, Body& body, const HashLimits& limits) const {
    try {
        Evaluator evaluator(parsed_->text, request, body, limits);
        return join_key(evaluator.key_parts(parsed_->root), parsed_->further);
    } catch (Refusal& refusal) {
        return std::move(refusal.error);
    }
}

}  // namespace nebis::identify
