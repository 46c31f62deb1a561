// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/standard.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nebis {

class KeyGenerator;
class ResponseProducer;
class ExceptionClassifier;
class OutcomeResolver;
class TransactionHooks;
class Redactor;

/// How business effect and record meet. Source: protocol, "Modes of effect".
enum class Mode : std::uint8_t {
    execute,  ///< record before, result after, separate commits
    atomic,   ///< the finish statement runs inside the handler's own transaction on the same database
    hooked,   ///< a transaction coordinator decides; hooks move the record
    mark,     ///< duplicates inside the window are refused; nothing is replayed
};

/// When an `atomic` operation inserts its record.
enum class Claim : std::uint8_t {
    before,  ///< committed first: duplicates see PROCESSING at once
    inside,  ///< in the handler's own transaction, which begins by looking for the key: one commit in all
};

/// What a duplicate meets when the record is UNKNOWN.
enum class OnUnknown : std::uint8_t {
    hold,   ///< "outcome unknown", until settled
    ask,    ///< the OutcomeResolver looks in the business data
    retry,  ///< run again: at-least-once
};

/// What a duplicate gets while the first attempt is in progress, its outcome unknown, or the record marked
/// (`duplicate-handler`).
enum class OnDuplicate : std::uint8_t {
    refuse,  ///< throw RepeatSubmitException ("throw" in the configuration)
    give,    ///< a value made by the ResponseProducer ("return")
    wait,    ///< wait a bounded time for the answer, then as `refuse`
};

enum class OnFinished : std::uint8_t { replay, refuse };
enum class Unlisted : std::uint8_t { unknown, fail };  ///< status of a handler's exception that no list names
enum class Profile : std::uint8_t { strict, article };
enum class OnStoreFailure : std::uint8_t { deny, allow };
enum class Scope : std::uint8_t {
    caller,  ///< tenant and principal; a request without a principal is refused where one is required, else scope is
             ///< the tenant
    tenant,  ///< tenant alone
    shared,  ///< one scope for everybody ("public" in the configuration)
};
enum class Enforcement : std::uint8_t {
    enforce,
    observe,
    off
};  ///< S50: observe counts what would have happened and touches nothing

/// Where the idempotency key comes from. Converts from text: a key expression in the article's spelling.
class KeyRule {
public:
    enum class Kind : std::uint8_t {
        automatic,       ///< by priority: header or one-time token, marked fields, all parameters
        header,          ///< a header
        token,           ///< a one-time token from a header or a body path
        expression,      ///< a key expression
        fields,          ///< fields marked as key parts, by JSON pointer
        all_parameters,  ///< canonical hash of everything but noise
        generator,       ///< a KeyGenerator by its registered name
    };
    KeyRule() = default;
    KeyRule(const char* expression) : kind_(Kind::expression), text_(expression) {}  // NOLINT: implicit on purpose
    KeyRule(std::string expression)
        : kind_(Kind::expression), text_(std::move(expression)) {}  // NOLINT: implicit on purpose
    KeyRule(Kind kind, std::string text, std::vector<std::string> fields = {})
        : kind_(kind), text_(std::move(text)), fields_(std::move(fields)) {}

    Kind kind() const noexcept { return kind_; }
    const std::string& text() const noexcept {
        return text_;
    }  ///< header name, expression, generator name, token header
    const std::vector<std::string>& fields() const noexcept {
        return fields_;
    }  ///< JSON pointers; for token: body path if any

    friend bool operator==(const KeyRule&, const KeyRule&) = default;

private:
    Kind kind_ = Kind::automatic;
    std::string text_;
    std::vector<std::string> fields_;
};

/// The key is the value of this header: a Structured Field String ("k") or, unless strict, bare text.
inline KeyRule header(std::string name) { return {KeyRule::Kind::header, std::move(name)}; }
/// The key is a one-time token taken from this header, else from this JSON pointer of the body.
inline KeyRule one_time_token(std::string header = "X-Idempotent-Token", std::string body_path = {}) {
    return {KeyRule::Kind::token, std::move(header),
            body_path.empty() ? std::vector<std::string>{} : std::vector{std::move(body_path)}};
}
/// The key is made of these fields (JSON pointers, "/orderId"): the article's `@IdempotentKey`.
inline KeyRule fields(std::vector<std::string> pointers) { return {KeyRule::Kind::fields, {}, std::move(pointers)}; }
/// The key is the canonical hash of the whole request without noise.
inline KeyRule all_parameters() { return {KeyRule::Kind::all_parameters, {}}; }
/// The key comes from the KeyGenerator registered under this name.
inline KeyRule generator(std::string name) { return {KeyRule::Kind::generator, std::move(name)}; }

/// A field of a policy: a value, or left to the configuration. Used like `std::optional`, of which it is the part that
/// a plain value needs: the whole one, made for thirteen types, costs whoever compiles this more than all of `<map>`.
template <class T>
class Choice {
public:
    Choice() = default;
    Choice(std::nullopt_t) noexcept {}  // NOLINT: implicit on purpose
    template <class U = T>
    requires std::is_convertible_v<U, T> Choice(U&& value)  // NOLINT: implicit on purpose
        : value_(static_cast<T>(std::forward<U>(value))), made_(true) {}

    bool has_value() const noexcept { return made_; }
    explicit operator bool() const noexcept { return made_; }
    const T& operator*() const noexcept { return value_; }
    const T* operator->() const noexcept { return &value_; }
    T value_or(T otherwise) const { return made_ ? value_ : std::move(otherwise); }
    void reset() { *this = Choice(); }
    friend bool operator==(const Choice&, const Choice&) = default;

private:
    T value_{};
    bool made_ = false;
};

/// How one operation is protected. Every field left unset takes the configuration's value; `operations.<name>.*` in the
/// configuration overrides what is written here, so that an operator has the last word. A plain value.
struct Policy {
    std::string operation = {};  ///< business operation; column `biz_type`; [A-Za-z0-9._:/{} -]{1,64}
    KeyRule key = {};
    Choice<bool> key_required = {};  ///< false: a request without a key runs unprotected and is counted
    std::vector<std::string> noise =
        {};  ///< further exact JSON pointers left out of the request hash ("*" matches one level)
    Choice<Scope> scope = {};
    Choice<Mode> mode = {};
    Choice<Claim> claim = {};
    Choice<Enforcement> enforcement = {};
    Choice<std::chrono::milliseconds> lease = {};      ///< `lock-expire-millis`
    Choice<std::chrono::milliseconds> lease_max = {};  ///< `lock-renew.max-expire-millis`: renewals in all
    Choice<bool> renew = {};                           ///< `lock-renew.enabled`
    Choice<std::chrono::milliseconds> retention = {};  ///< `record-expire-hours` / `record-expire-millis`
    /// How late a client or broker may still repeat a request; the retention must be longer.
    Choice<std::chrono::milliseconds> longest_retry = {};
    Choice<std::chrono::milliseconds> unknown_retention = {};
    Choice<OnDuplicate> on_duplicate = {};        ///< `duplicate-handler`
    Choice<std::chrono::milliseconds> wait = {};  ///< bound of `on_duplicate: wait`
    Choice<OnFinished> on_finished = {};
    Choice<OnUnknown> on_unknown = {};
    Choice<Unlisted> unlisted = {};
    Choice<OnStoreFailure> on_store_failure = {};
    Choice<bool> fail_open = {};
    Choice<std::vector<std::string>> retryable_exceptions = {};  ///< demangled type names → FAIL
    Choice<std::vector<std::string>> final_exceptions = {};      ///< → REJECTED
    Choice<std::vector<std::string>> unknown_exceptions = {};    ///< → UNKNOWN
    Choice<std::size_t> max_request_bytes = {};
    Choice<std::size_t> max_response_bytes = {};  ///< larger answers leave a tombstone
    Choice<std::chrono::milliseconds> budget =
        {};  ///< time a call may spend in Nebis itself, handler and waiting not counted

    // Extension points in code (S34); by name in the configuration they are `key-generator`, `response-producer`, …
    std::shared_ptr<const KeyGenerator> key_generator = {};
    std::shared_ptr<const ResponseProducer> response_producer = {};
    std::shared_ptr<const ExceptionClassifier> exception_classifier = {};
    std::shared_ptr<OutcomeResolver> outcome_resolver = {};
    std::shared_ptr<TransactionHooks> transaction_hooks = {};
    std::shared_ptr<const Redactor> redactor = {};
};

}  // namespace nebis
