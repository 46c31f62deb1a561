// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// AES-256-GCM. OpenSSL stays behind this header. **Threads**: safe.
namespace nebis::seal {

constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
using AeadKey = std::array<unsigned char, 32>;

/// Appends the ciphertext and its tag to `out`. `bound` isn't kept, but must be the same to open. `nonce` has
/// `nonce_bytes` and is never used twice under one key. False, and `out` as it was: OpenSSL refused (no memory).
bool aead_seal(const AeadKey& key, std::string_view nonce, std::string_view bound, std::string_view plain,
               std::string& out);

/// False, and nothing in `out`: not what was sealed with these, or OpenSSL refused.
bool aead_open(const AeadKey& key, std::string_view nonce, std::string_view bound, std::string_view sealed,
               std::string& out);

}  // namespace nebis::seal
