// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// SHA-256, HMAC and the encodings of bytes as text. OpenSSL stays behind this header.
namespace nebis::identify {

using Digest = std::array<unsigned char, 32>;

/// Incremental SHA-256; allocates nothing.
class Sha256 {
public:
    Sha256() noexcept;
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    void update(std::string_view bytes) noexcept;
    Digest finish() noexcept;  ///< once

private:
    alignas(8) std::array<unsigned char, 112> state_;  ///< a SHA256_CTX
};

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view secret, std::string_view bytes);

/// Equal, in a time that doesn't depend on where they differ.
bool constant_time_equal(std::string_view a, std::string_view b) noexcept;
/// False when the generator has no randomness.
bool fill_random(std::span<unsigned char> out) noexcept;

std::string to_hex(std::span<const unsigned char> bytes);
std::string to_base64url(std::string_view bytes);  ///< RFC 4648 §5 without padding
/// False for a foreign character, an impossible length, or stray bits in the last one: each byte string has one text.
bool from_base64url(std::string_view text, std::string& out);

inline std::string_view as_text(std::span<const unsigned char> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Length first, then the bytes: what is appended one after the other this way can be taken apart in one way only.
void append_framed(std::string& out, std::string_view bytes);

}  // namespace nebis::identify
