// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/standard.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nebis {

/// One secret that signs tokens, and the short name that tokens carry to find it again.
struct TokenKey {
    std::string id;      ///< [A-Za-z0-9_-]{1,16}; never used again for another secret
    std::string secret;  ///< at least 32 random bytes
};

/// The secrets in use. To rotate: add the new key everywhere, then make it `current`, and drop the old one a lifetime
/// later.
struct TokenKeys {
    std::string current;         ///< id of the key that signs
    std::vector<TokenKey> keys;  ///< all keys that verify
};

/// Hands out one-time tokens and tells them apart from forgeries (S5, the article's `IdempotentTokenService`).
///
/// A token is bound to an operation and a caller, expires, and carries a random id; HMAC-SHA-256 over all of it keeps
/// it from being made up. The service stores nothing: the id becomes the idempotency key, so `begin` itself spends the
/// token, and a spent token replays. Its text is URL-safe base64 without padding, about 110 characters. Never log it.
///
/// **Threads**: safe. **Time**: a few microseconds, never waits. The wall clock of the machine decides about expiry.
class TokenService {
public:
    using Clock = std::chrono::system_clock;

    struct Options {
        std::chrono::milliseconds lifetime{std::chrono::minutes(30)};
        std::function<Clock::time_point()> now = {};  ///< default: the system clock
        std::function<bool(std::span<unsigned char>)> fill_random =
            {};  ///< default: OpenSSL's generator; false: no randomness now
    };

    /// **Errors**: `misconfigured` for no key, an unknown current id, a bad or repeated id, a secret under 32 bytes, a
    /// lifetime under one second.
    static Result<std::shared_ptr<const TokenService>> make(TokenKeys keys, Options options);
    static Result<std::shared_ptr<const TokenService>> make(TokenKeys keys) { return make(std::move(keys), Options{}); }

    /// A new token for this operation and caller. **Errors**: `unavailable` when there is no randomness.
    Result<std::string> create(std::string_view operation, std::string_view principal = {},
                               std::string_view tenant = {}) const;

    /// The idempotency key of a good token: its random id, 22 characters.
    /// **Errors**: `rejected_input`, told apart by `code()`:
    /// "token-unknown" (no token of ours, or its key is gone), "token-forged" (the signature doesn't fit),
    /// "token-foreign" (another operation's or caller's), "token-expired". None of them holds any part of the token.
    Result<std::string> verify(std::string_view token, std::string_view operation, std::string_view principal = {},
                               std::string_view tenant = {}) const;

    /// A token must die before its record does, else it would run a second time.
    /// **Errors**: `misconfigured` unless the lifetime is shorter than `retention`.
    Result<void> check_retention(std::chrono::milliseconds retention) const;

    std::chrono::milliseconds lifetime() const noexcept { return options_.lifetime; }

private:
    TokenService(TokenKeys keys, Options options) : keys_(std::move(keys)), options_(std::move(options)) {}
    const TokenKey* find(std::string_view id) const noexcept;

    TokenKeys keys_;
    Options options_;
};

}  // namespace nebis
