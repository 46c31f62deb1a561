// SPDX-License-Identifier: Apache-2.0
// The plain functions of SHA-256 are marked as deprecated in favour of EVP, which allocates, locks and looks up for
// each hash: a fifth of the whole cost for a body of 300 bytes. The name must stand before OpenSSL's headers.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "identify/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <new>

namespace nebis::identify {
namespace {

static_assert(sizeof(SHA256_CTX) == 112 && alignof(SHA256_CTX) <= 8);

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<signed char, 256> reverse_alphabet() {
    std::array<signed char, 256> table{};
    for (auto& value : table) value = -1;
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        table[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
    return table;
}

}  // namespace

Sha256::Sha256() noexcept { SHA256_Init(new (state_.data()) SHA256_CTX); }

void Sha256::update(std::string_view bytes) noexcept {
    SHA256_Update(std::launder(reinterpret_cast<SHA256_CTX*>(state_.data())), bytes.data(), bytes.size());
}

Digest Sha256::finish() noexcept {
    Digest digest;
    SHA256_Final(digest.data(), std::launder(reinterpret_cast<SHA256_CTX*>(state_.data())));
    return digest;
}

Digest sha256(std::string_view bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

Digest hmac_sha256(std::string_view secret, std::string_view bytes) {
    Digest digest{};
    if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data(), nullptr) == nullptr) {
        throw std::bad_alloc();
    }
    return digest;
}

bool constant_time_equal(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool fill_random(std::span<unsigned char> out) noexcept {
    return RAND_bytes(out.data(), static_cast<int>(out.size())) == 1;
}

std::string to_hex(std::span<const unsigned char> bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(bytes.size() * 2, '0');
    char* out = text.data();
    for (const unsigned char byte : bytes) {
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return text;
}

std::string to_base64url(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        for (held += 8; held >= 6; held -= 6) text.push_back(alphabet[(bits >> (held - 6)) & 63]);
    }
    if (held > 0) text.push_back(alphabet[(bits << (6 - held)) & 63]);
    return text;
}

bool from_base64url(std::string_view text, std::string& out) {
    static constexpr auto values = reverse_alphabet();
    out.clear();
    out.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : text) {
        const signed char value = values[static_cast<unsigned char>(c)];
        if (value < 0) return false;
        bits = (bits << 6) | static_cast<std::uint32_t>(value);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out.push_back(static_cast<char>(bits >> held));
        }
    }
    // A lone last character holds no whole byte; left-over bits must be zero, or one value would have several texts.
    return held < 6 && (bits & ((1u << held) - 1)) == 0;
}

void append_framed(std::string& out, std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(size >> shift));
    out.append(bytes);
}

}  // namespace nebis::identify
