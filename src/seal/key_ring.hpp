// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Bodies sealed for rest: in rows, in caches, wherever others may read or write them.
namespace nebis::seal {

/// One secret and the name that sealed bytes carry.
struct RingKey {
    std::string id;      ///< 1 to 16 letters, digits, _ or -
    std::string secret;  ///< at least 32 bytes from a random generator, in any spelling
};

/// The keys of a fleet: one seals, all open. **Threads**: safe once made.
class KeyRing {
public:
    /// Without keys: opens nothing and seals nothing. `current` may be empty when there is one key.
    /// **Errors**: `misconfigured`, naming the key, never its secret.
    static Result<KeyRing> make(std::vector<RingKey> keys, std::string current);
    KeyRing() = default;
    ~KeyRing();
    KeyRing(KeyRing&& other) noexcept;
    KeyRing& operator=(KeyRing&& other) noexcept;
    KeyRing(const KeyRing&) = delete;
    KeyRing& operator=(const KeyRing&) = delete;

    bool empty() const noexcept { return keys_.empty(); }
    const std::string& current() const noexcept { return current_; }

    /// `bound` isn't kept: whoever opens must bring the same bytes. Each call gives other bytes.
    /// **Errors**: `unavailable`: no randomness or no memory now.
    Result<std::string> seal(std::string_view plain, std::string_view bound) const;
    /// **Errors**: `corrupt`, code `snapshot-key-missing` (no such key here) or `snapshot-damaged` (altered, or moved
    /// to where something else is bound). Never a part of the answer.
    Result<std::string> open(std::string_view sealed, std::string_view bound) const;

private:
    const RingKey* find(std::string_view id) const noexcept;
    void forget() noexcept;

    std::vector<RingKey> keys_;
    std::string current_;
};

/// Whether bytes are, or were once, what KeyRing::seal gives; by their beginning.
bool is_sealed(std::string_view bytes) noexcept;
/// The id of the key that sealed these bytes; empty when they are no sealed ones.
std::string_view key_id_of(std::string_view sealed) noexcept;

}  // namespace nebis::seal
