// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/canonical.hpp"
#include "identify/limits.hpp"
#include "nebis/extend.hpp"
#include "nebis/policy.hpp"
#include "nebis/request.hpp"
#include "nebis/token.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Step 1 of the protocol: who is this request? Decided once, here, and carried from then on (C08).
namespace nebis::identify {

/// How the requests of one operation are identified: its policy and the settings, merged.
struct IdentifyRules {
    std::string operation = {};
    KeyRule key = {};
    bool key_required = true;             ///< false: a request without a key is not protected (`Identity::keyed`)
    bool strict_key_header = false;       ///< only quoted Structured Field Strings
    std::vector<std::string> noise = {};  ///< further JSON pointers
    bool default_noise = true;            ///< `default_noise_names()` too
    Scope scope = Scope::caller;
    bool caller_required = false;  ///< refuse a request that lacks what the scope is made of
    HashLimits limits = {};
    std::size_t key_min = 1;  ///< characters of a key from a header
    std::size_t key_max = 255;
    std::size_t public_key_min = 2;  ///< the same where everybody shares one scope and short keys are guessed (B009)
    std::shared_ptr<const KeyGenerator> generator = {};       ///< for KeyRule::Kind::generator
    std::shared_ptr<const TokenService> tokens = {};          ///< for tokens; without it `automatic` looks for none
    std::optional<std::chrono::milliseconds> retention = {};  ///< tokens must not outlive it
};

/// What identifies one request.
struct Identity {
    std::string key = {};       ///< as the client gave it or the rule made it. Never log it.
    std::string trace_id = {};  ///< stored form of scope, operation and key
    RequestHash hash = {};
    bool keyed = true;  ///< false: there is no key and none is required; the rest is empty
};

class Identification;

/// **Threads**: safe, it never changes. Copies share their state.
class Identifier {
public:
    /// **Errors**: `misconfigured`: an operation name outside [A-Za-z0-9._:/{} -]{1,64}, a key expression that doesn't
    /// parse (the message has its column), a bad pointer, no generator or token service where the rule needs one,
    /// tokens that outlive the record.
    static Result<Identifier> make(IdentifyRules rules);

    /// **Errors**: `rejected_input`, by code: "key-missing", "key-invalid", "body-invalid", "body-too-large",
    /// "caller-missing", "token-unknown", "token-forged", "token-foreign", "token-expired"; whatever a KeyGenerator
    /// answers ("key-invalid" when it throws). Never holds key, token or body.
    Result<Identity> identify(const Request& request) const;

    /// The request hash under another scheme, for a record written with it. **Errors**: `unsupported`, code
    /// "scheme-unknown". Under `no_scheme` all requests are equal.
    Result<RequestHash> hash(const Request& request, std::uint8_t scheme = current_scheme) const;

    /// S64: hex SHA-256 of all that decides which requests meet: key rule, scope rule, noise, key scheme. Not of
    /// anything else, so that instances of different versions agree.
    std::string rule_digest() const;

    /// S4: fields of the key rule that look like time or chance, and other rules that look unstable. For `nebis lint`
    /// and the start.
    std::vector<std::string> warnings() const;

    /// Names after '#' in the key expression ("request"); empty for other rules. A wrapped callable checks them against
    /// its argument names.
    std::vector<std::string> roots() const;

    const IdentifyRules& rules() const noexcept;

private:
    friend class Identification;
    struct State;
    explicit Identifier(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

/// `Identifier::identify` in its two steps, for callers who may know the hash already when they know the key.
/// **Lifetime**: views; identifier and request must outlive it.
class Identification {
public:
    Identification(const Identifier& identifier, const Request& request);

    /// All but the hash. **Errors**: as `Identifier::identify`.
    Result<Identity> key();
    /// After `key`. **Errors**: as `Identifier::identify`.
    Result<RequestHash> hash();
    /// The hash was made on the way to the key: to ask for it costs nothing.
    bool hashed() const noexcept { return made_.has_value() && made_->hash.scheme == current_scheme; }
    /// See `verbatim_digest`.
    Digest verbatim() const { return verbatim_digest(request_, body_.kind()); }

private:
    friend class Identifier;
    Result<CanonicalHash> canonical(std::uint8_t scheme);
    Result<std::string> all_parameters();

    const Identifier::State& state_;
    const Request& request_;
    Body body_;  ///< parsed once
    std::optional<CanonicalHash> made_ = {};
};

/// S6: `request.request_id` when it is sane (1–128 visible ASCII characters), else one derived from the trace id, the
/// same on every retry. For tracing; never identity.
std::string request_id_for(const Request& request, const Identity& identity);

/// The message of a failed `Identifier::make` for a wrapped callable: null when every root is an argument or one of the
/// names a call has anyway (`principal`, `tenant`).
std::optional<Error> check_roots(const Identifier& identifier, const std::vector<std::string>& arguments);

}  // namespace nebis::identify
