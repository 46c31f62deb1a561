// SPDX-License-Identifier: Apache-2.0
#include "identify/identify.hpp"

#include "identify/digest.hpp"
#include "identify/key_expression.hpp"
#include "identify/key_parts.hpp"
#include "identify/key_rule_lint.hpp"
#include "identify/load.hpp"
#include "identify/pointer.hpp"
#include "identify/structured_field.hpp"
#include "identify/text.hpp"
#include "identify/trace_id.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace nebis::identify {
namespace {

using Kind = KeyRule::Kind;

constexpr const char* key_header = "Idempotency-Key";
constexpr const char* token_header = "X-Idempotent-Token";

/// The scheme that turns all parameters into a key. It stays when `current_scheme` moves on: a fleet that is half
/// upgraded must make equal keys, while a hash made under another scheme can be made again.
constexpr std::uint8_t key_scheme = 2;
static_assert(key_scheme == previous_scheme || key_scheme == current_scheme);

Error misconfigured(const IdentifyRules& rules, std::string message, std::string hint = {}) {
    return Error(ErrorKind::misconfigured, "operation \"" + rules.operation + "\": " + std::move(message), {},
                 std::move(hint));
}

Error no_key(std::string message) {
    return Error(ErrorKind::rejected_input, std::move(message)).with_code("key-missing");
}

bool is_operation(std::string_view name) noexcept {
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
               std::string_view("._:/{} -").find(c) != std::string_view::npos;
    });
}

std::string_view word(Kind kind) noexcept {
    switch (kind) {
        case Kind::automatic: return "automatic";
        case Kind::header: return "header";
        case Kind::token: return "token";
        case Kind::expression: return "expression";
        case Kind::fields: return "fields";
        case Kind::all_parameters: return "all-parameters";
        case Kind::generator: return "generator";
    }
    return "";
}

std::string_view word(Scope scope) noexcept {
    switch (scope) {
        case Scope::caller: return "caller";
        case Scope::tenant: return "tenant";
        case Scope::shared: return "shared";
    }
    return "";
}

/// The rule with its defaults written out.
KeyRule completed(const KeyRule& rule) {
    if (!rule.text().empty()) return rule;
    if (rule.kind() == Kind::header) return {Kind::header, key_header};
    if (rule.kind() == Kind::token) return {Kind::token, token_header, rule.fields()};
    return rule;
}

}  // namespace

struct Identifier::State {
    IdentifyRules rules;
    std::optional<KeyExpression> expression;
    std::vector<std::vector<std::string>> paths;  ///< of rules.key.fields()
    NoiseFilter body_noise;
    NoiseFilter argument_noise;

    Result<void> prepare();
    Result<void> prepare_key();
    Result<void> prepare_noise();

    const NoiseFilter& noise(const Request& request) const noexcept {
        return request.arguments ? argument_noise : body_noise;
    }
    Result<void> check_caller(const Request& request) const;
    std::string trace_id(const Request& request, std::string_view key) const;

    // A key, or empty text when the request brings none.
    using Key = Result<std::string>;
    Key from_header(const Request& request, std::string_view name) const;
    Key from_token(const Request& request, Body& body, std::string_view name) const;
    Key from_fields(Body& body) const;
    Key from_generator(const Request& request) const;
    Key automatic(Identification& work) const;
    Key key(Identification& work) const;
};

// ---- once per operation

Result<void> Identifier::State::prepare() {
    rules.key = completed(rules.key);
    if (!is_operation(rules.operation)) {
        return Error(ErrorKind::misconfigured,
                     "an operation's name must be 1 to 64 characters of A-Z a-z 0-9 . _ : / { } - and blank");
    }
    if (rules.limits.max_depth == 0 || rules.limits.max_depth > 500)
        return misconfigured(rules, "the depth of bodies must be limited to 1 … 500");
    if (rules.key_min == 0 || rules.key_min > rules.key_max || rules.public_key_min > rules.key_max ||
        rules.key_max > max_key_bytes) {
        return misconfigured(rules, "the limits of a key's length contradict each other");
    }
    if (auto prepared = prepare_key(); !prepared) return prepared;
    return prepare_noise();
}

Result<void> Identifier::State::prepare_key() {
    const Kind kind = rules.key.kind();
    if (kind == Kind::expression) {
        ParseError error;
        expression = KeyExpression::parse(rules.key.text(), error);
        if (!expression) {
            return misconfigured(rules,
                                 "key expression, column " + std::to_string(error.offset + 1) + ": " + error.message,
                                 std::move(error.hint));
        }
    }
    if (kind == Kind::fields && rules.key.fields().empty()) return misconfigured(rules, "its key is made of no field");
    for (const std::string& pointer : rules.key.fields()) {
        auto path = split_pointer(pointer);
        if (!path) return misconfigured(rules, path.error().message(), path.error().hint());
        paths.push_back(std::move(*path));
    }
    if (kind == Kind::generator && !rules.generator) {
        return misconfigured(rules, "no key generator is registered as \"" + rules.key.text() + "\"",
                             "add it to Drivers::key_generators");
    }
    if (kind == Kind::token && !rules.tokens)
        return misconfigured(rules, "its key is a one-time token, but no token keys are set");
    if (rules.tokens && rules.retention && (kind == Kind::token || kind == Kind::automatic)) {
        if (auto fits = rules.tokens->check_retention(*rules.retention); !fits) {
            return misconfigured(rules, fits.error().message(), fits.error().hint());
        }
    }
    return {};
}

Result<void> Identifier::State::prepare_noise() {
    const auto filter = [this](std::string_view prefix) {
        std::vector<std::string> pointers = rules.noise;
        if (rules.default_noise) {
            for (const std::string_view name : default_noise_names())
                pointers.push_back(std::string(prefix).append(name));
        }
        return NoiseFilter::make(pointers);
    };
    auto body = filter("/"), arguments = filter("/*/");
    if (!body) return misconfigured(rules, body.error().message(), body.error().hint());
    body_noise = std::move(*body);
    argument_noise = std::move(*arguments);
    return {};
}

Result<Identifier> Identifier::make(IdentifyRules rules) {
    auto state = std::make_shared<State>();
    state->rules = std::move(rules);
    if (auto prepared = state->prepare(); !prepared) return std::move(prepared).error();
    return Identifier(std::move(state));
}

// ---- once per request

Result<void> Identifier::State::check_caller(const Request& request) const {
    if (!rules.caller_required) return {};
    if (rules.scope == Scope::caller && request.principal.empty()) {
        return Error(ErrorKind::rejected_input, "the request has no verified caller").with_code("caller-missing");
    }
    if (rules.scope == Scope::tenant && request.tenant.empty()) {
        return Error(ErrorKind::rejected_input, "the request has no verified tenant").with_code("caller-missing");
    }
    return {};
}

std::string Identifier::State::trace_id(const Request& request, std::string_view key) const {
    const std::string_view tenant = rules.scope == Scope::shared ? std::string_view() : request.tenant;
    const std::string_view principal =
        rules.scope == Scope::caller ? std::string_view(request.principal) : std::string_view();
    return make_trace_id(tenant, principal, rules.operation, key);
}

Result<std::string> Identifier::State::from_header(const Request& request, std::string_view name) const {
    auto value = request.header(name);
    if (!value) return std::move(value).error();
    if (*value == nullptr) return std::string();
    const std::size_t min =
        rules.scope == Scope::shared ? std::max(rules.key_min, rules.public_key_min) : rules.key_min;
    auto key = parse_key_field(**value, rules.strict_key_header, {.min = min, .max = rules.key_max});
    if (key) return key;
    // Who sends a malformed key learns where it stood and what one looks like.
    const Error& fault = key.error();
    return Error(fault.kind(),
                 "header " + std::string(name) + ": " + fault.message() + " (it is " + std::to_string(min) + " to " +
                     std::to_string(rules.key_max) + " printable ASCII characters in double quotes" +
                     (rules.strict_key_header ? ")" : ", or bare)"),
                 fault.detail(), fault.hint())
        .with_code(fault.code());
}

Result<std::string> Identifier::State::from_token(const Request& request, Body& body, std::string_view name) const {
    auto header = request.header(name);
    if (!header) return std::move(header).error();
    std::string token;
    if (*header != nullptr) {
        token = trim(**header);
        if (token.empty())
            return Error(ErrorKind::rejected_input, "the one-time token is empty").with_code("token-unknown");
    } else if (rules.key.kind() == Kind::token && !paths.empty() && body.kind() != BodyKind::empty) {
        auto found = body.text(paths.front(), rules.key.fields().front());
        if (!found && found.error().code() != "key-missing") return found;
        if (found) token = std::move(*found);
    }
    if (token.empty()) return token;
    return rules.tokens->verify(token, rules.operation, request.principal, request.tenant);
}

Result<std::string> Identifier::State::from_fields(Body& body) const {
    std::vector<KeyPart> parts;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        auto text = body.text(paths[i], rules.key.fields()[i]);
        if (!text) return text;
        if (i > 0) parts.push_back({.text = ":", .fixed = true});
        parts.push_back({.text = std::move(*text)});
    }
    return join_key(parts);
}

Result<std::string> Identifier::State::from_generator(const Request& request) const {
    try {
        auto key = rules.generator->generate(request);
        if (!key) return key;
        if (trim(*key).empty()) return no_key("the key generator made a blank key");
        if (key->size() > max_key_bytes) {
            return Error(ErrorKind::rejected_input, "the key generator made too long a key").with_code("key-invalid");
        }
        return key;
    } catch (...) {
        // What it threw may hold the key.
        return Error(ErrorKind::unavailable, "the key generator failed with an exception")
            .with_code("key-generator-failed");
    }
}

Result<std::string> Identifier::State::automatic(Identification& work) const {
    auto key = from_header(work.request_, key_header);
    if (key && key->empty() && rules.tokens) key = from_token(work.request_, work.body_, token_header);
    if (!key || !key->empty()) return key;
    return paths.empty() ? work.all_parameters() : from_fields(work.body_);
}

Result<std::string> Identifier::State::key(Identification& work) const {
    switch (rules.key.kind()) {
        case Kind::automatic: return automatic(work);
        case Kind::header: return from_header(work.request_, rules.key.text());
        case Kind::token: return from_token(work.request_, work.body_, rules.key.text());
        case Kind::expression: return expression->evaluate(work.request_, work.body_, rules.limits);
        case Kind::fields: return from_fields(work.body_);
        case Kind::all_parameters: return work.all_parameters();
        case Kind::generator: return from_generator(work.request_);
    }
    return std::string();
}

Identification::Identification(const Identifier& identifier, const Request& request)
    : state_(*identifier.state_), request_(request), body_(request, state_.rules.limits) {}

Result<CanonicalHash> Identification::canonical(std::uint8_t scheme) {
    if (made_ && made_->hash.scheme == scheme) return *made_;
    auto result = canonical_hash(request_, body_, state_.noise(request_), state_.rules.limits, scheme);
    if (result) made_ = *result;
    return result;
}

Result<std::string> Identification::all_parameters() {
    auto made = canonical(key_scheme);
    if (!made) return std::move(made).error();
    return made->parameters > 0 ? to_hex(made->hash.digest) : std::string();
}

Result<Identity> Identification::key() {
    if (auto caller = state_.check_caller(request_); !caller) return std::move(caller).error();
    auto key = state_.key(*this);
    if (!key) return std::move(key).error();
    if (key->empty()) {
        if (!state_.rules.key_required) return Identity{.keyed = false};
        return no_key(missing_key_text(state_.rules.key));
    }
    std::string trace_id = state_.trace_id(request_, *key);
    return Identity{.key = *std::move(key), .trace_id = std::move(trace_id)};
}

Result<RequestHash> Identification::hash() {
    auto made = canonical(current_scheme);
    if (!made) return std::move(made).error();
    return made->hash;
}

Result<Identity> Identifier::identify(const Request& request) const {
    Identification work(*this, request);
    auto identity = work.key();
    if (!identity || !identity->keyed) return identity;
    auto hash = work.hash();
    if (!hash) return std::move(hash).error();
    identity->hash = *hash;
    return identity;
}

Result<RequestHash> Identifier::hash(const Request& request, std::uint8_t scheme) const {
    if (scheme == no_scheme) return RequestHash{};
    return hash_request(request, state_->noise(request), state_->rules.limits, scheme);
}

// ---- about the rule

std::string Identifier::rule_digest() const {
    const IdentifyRules& rules = state_->rules;
    std::vector<std::string> noise = rules.noise;
    if (rules.default_noise) {
        const auto defaults = default_noise();
        noise.insert(noise.end(), defaults.begin(), defaults.end());
    }
    std::sort(noise.begin(), noise.end());
    noise.erase(std::unique(noise.begin(), noise.end()), noise.end());

    std::string framed;
    append_framed(framed, "nebis key rule 1");
    append_framed(framed, std::to_string(key_scheme));
    append_framed(framed, word(rules.scope));
    append_framed(framed, word(rules.key.kind()));
    append_framed(framed, rules.key.text());
    append_framed(framed, std::to_string(rules.key.fields().size()));
    for (const std::string& field : rules.key.fields()) append_framed(framed, field);
    for (const std::string& pointer : noise) append_framed(framed, pointer);
    return to_hex(sha256(framed));
}

std::vector<std::string> Identifier::warnings() const {
    const State& state = *state_;
    return lint_key_rule(state.rules.key, state.expression ? state.expression->members() : std::vector<std::string>{});
}

std::vector<std::string> Identifier::roots() const {
    return state_->expression ? state_->expression->roots() : std::vector<std::string>{};
}

const IdentifyRules& Identifier::rules() const noexcept { return state_->rules; }

std::string request_id_for(const Request& request, const Identity& identity) {
    constexpr std::size_t longest = 128;
    const std::string& given = request.request_id;
    const bool sane = !given.empty() && given.size() <= longest && is_printable(given) && given.find(' ') == given.npos;
    if (sane) return given;
    if (!identity.keyed) return {};
    // A name for traces, not a secret and never identity: two lanes of multiply and fold do, and cost a small part of a
    // digest on every call.
    constexpr std::uint64_t primes[2] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f};
    std::uint64_t lanes[2] = {identity.trace_id.size(), ~identity.trace_id.size()};
    const auto mix = [&](std::uint64_t word) {
        for (int i = 0; i < 2; ++i) {
            lanes[i] = (lanes[i] ^ word) * primes[i];
            lanes[i] ^= lanes[i] >> 29;
        }
    };
    std::string_view rest = identity.trace_id;
    for (; rest.size() >= 8; rest.remove_prefix(8)) mix(load_big_endian<std::uint64_t>(rest.data()));
    if (!rest.empty()) {
        char bytes[8] = {};
        std::memcpy(bytes, rest.data(), rest.size());
        mix(load_big_endian<std::uint64_t>(bytes));
    }
    std::array<unsigned char, 16> name{};
    for (std::size_t i = 0; i < name.size(); ++i)
        name[i] = static_cast<unsigned char>(lanes[i / 8] >> (8 * (7 - i % 8)));
    return to_hex(name);
}

std::optional<Error> check_roots(const Identifier& identifier, const std::vector<std::string>& arguments) {
    for (const std::string& root : identifier.roots()) {
        if (root == "principal" || root == "tenant" ||
            std::find(arguments.begin(), arguments.end(), root) != arguments.end())
            continue;
        std::string names;
        for (const std::string& argument : arguments) names.append(names.empty() ? "#" : ", #").append(argument);
        return misconfigured(identifier.rules(),
                             "its key expression names #" + root + ", but the function has no such argument",
                             names.empty() ? "name the arguments with nebis::args(…)" : "there are " + names);
    }
    return {};
}

}  // namespace nebis::identify
