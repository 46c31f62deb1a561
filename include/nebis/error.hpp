// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/standard.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace nebis {

/// Faults sorted by what the caller should do about them, not by where they arose.
/// Outcomes ("somebody else holds it") are never errors; see store.hpp and answer.hpp.
enum class ErrorKind : std::uint8_t {
    unavailable,     ///< surely not applied; the part is down or too slow. Try later.
    overloaded,      ///< surely not applied; a bound was reached. Try later, more slowly.
    maybe_applied,   ///< nobody knows whether the write happened. Read back by owner before anything else.
    rejected_input,  ///< the request itself is wrong. Correct it; trying again is useless.
    misconfigured,   ///< settings, schema or wiring are wrong. An operator must act.
    unsupported,     ///< this part can't do that. Choose another.
    corrupt,         ///< stored data can't be trusted. Never executed, never guessed.
    internal,        ///< a bug in Nebis. Please report it.
};

/// Stable text of a kind ("unavailable", …), used in metrics, logs and problem types.
std::string_view to_string(ErrorKind kind) noexcept;

/// A fault: kind, a sentence of ours, the detail of the part that failed, and a hint that names the key or command to
/// use.
///
/// `message` and `hint` are safe to log and to show. `detail` may hold foreign text (a driver's message): log it, don't
/// show it to callers. None of them ever holds a raw idempotency key, a token, or a body.
class [[nodiscard]] Error {
public:
    Error(ErrorKind kind, std::string message, std::string detail = {}, std::string hint = {})
        : kind_(kind), message_(std::move(message)), detail_(std::move(detail)), hint_(std::move(hint)) {}

    ErrorKind kind() const noexcept { return kind_; }
    const std::string& message() const noexcept { return message_; }
    const std::string& detail() const noexcept { return detail_; }
    const std::string& hint() const noexcept { return hint_; }
    /// A stable word for this very fault where one exists ("key-missing", "token-expired", …), else empty. Problem
    /// types use it.
    const std::string& code() const noexcept { return code_; }

    Error&& with_code(std::string code) && {
        code_ = std::move(code);
        return std::move(*this);
    }
    Error&& with_hint(std::string hint) && {
        hint_ = std::move(hint);
        return std::move(*this);
    }

    /// "message: detail (hint)". For logs and terminals.
    std::string text() const;

private:
    ErrorKind kind_;
    std::string message_;
    std::string detail_;
    std::string hint_;
    std::string code_;
};

/// Thrown by the user-facing wrapper for every fault and refusal that isn't one of the more precise types below.
/// (The article's `IdempotentException`.)
class IdempotentException : public std::runtime_error {
public:
    explicit IdempotentException(Error error) : std::runtime_error(error.text()), error_(std::move(error)) {}
    const Error& error() const noexcept { return error_; }

private:
    Error error_;
};

/// A value or an `Error`.
///
/// **Errors**: `value()` on an error throws `IdempotentException`; `*` and `->` on an error are undefined.
template <class T>
class [[nodiscard]] Result {
public:
    using value_type = T;

    Result(T value) : has_value_(true) { std::construct_at(&value_, std::move(value)); }  // NOLINT: implicit on purpose
    Result(Error error) : has_value_(false) {
        std::construct_at(&error_, std::move(error));
    }  // NOLINT: implicit on purpose
    Result(const Result& other) requires std::is_copy_constructible_v<T> : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, other.value_);
        else
            std::construct_at(&error_, other.error_);
    }
    Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
        if (has_value_)
            std::construct_at(&value_, std::move(other.value_));
        else
            std::construct_at(&error_, std::move(other.error_));
    }
    /// Only where a move can't fail: the old content is gone before the new one comes.
    Result& operator=(Result other) noexcept requires std::is_nothrow_move_constructible_v<T> {
        std::destroy_at(this);
        return *std::construct_at(this, std::move(other));
    }
    ~Result() {
        if (has_value_)
            std::destroy_at(&value_);
        else
            std::destroy_at(&error_);
    }

    bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    T& value() & { return check(), value_; }
    const T& value() const& { return check(), value_; }
    T&& value() && { return check(), std::move(value_); }

    T& operator*() & noexcept { return value_; }
    const T& operator*() const& noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

    const Error& error() const& noexcept { return error_; }
    Error&& error() && noexcept { return std::move(error_); }

private:
    void check() const {
        if (!has_value_) throw IdempotentException(error_);
    }
    bool has_value_;
    union {
        T value_;
        Error error_;
    };
};

template <>
class [[nodiscard]] Result<void> {
public:
    using value_type = void;

    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

    bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (error_) throw IdempotentException(*error_);
    }
    const Error& error() const& noexcept { return *error_; }
    Error&& error() && noexcept { return std::move(*error_); }

private:
    std::optional<Error> error_;
};

// ---- what a handler throws to say what it knows ----------------------------------------------------------------

/// The handler knows that nothing happened and nothing can happen any more. Record: FAIL; the same key may run again at
/// once.
class NotExecuted : public std::runtime_error {
public:
    explicit NotExecuted(const std::string& why) : std::runtime_error(why) {}
};

/// The business refuses for good (validation, insufficient balance …). Record: REJECTED; every duplicate gets the same
/// refusal. `status` is the HTTP status that adapters answer with (default 422).
class Rejected : public std::runtime_error {
public:
    explicit Rejected(const std::string& why, int status = 422) : std::runtime_error(why), status_(status) {}
    int status() const noexcept { return status_; }

private:
    int status_;
};

/// Nobody knows whether the effect happened (a time-out after sending, a connection lost). Record: UNKNOWN; then by
/// `on-unknown`. The wrapper throws it too, to a duplicate that meets such a record.
class OutcomeUnknown : public std::runtime_error {
public:
    explicit OutcomeUnknown(const std::string& why) : std::runtime_error(why) {}
};

/// Thrown to a duplicate that is refused: in progress, or seen before in `mark` mode. Thrown by a handler, it means
/// "the business doesn't accept this now": record FAIL. Source: the article, §4.1 and §4.3.
class RepeatSubmitException : public std::runtime_error {
public:
    explicit RepeatSubmitException(const std::string& why, std::int64_t retry_after_millis = 0)
        : std::runtime_error(why), retry_after_millis_(retry_after_millis) {}
    /// When trying again makes sense, in milliseconds; 0 when unknown.
    std::int64_t retry_after_millis() const noexcept { return retry_after_millis_; }

private:
    std::int64_t retry_after_millis_;
};

}  // namespace nebis
