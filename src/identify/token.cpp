// SPDX-License-Identifier: Apache-2.0
// A token is the base64url of:  version (1 byte) · length of the key id (1) · key id · expiry in ms since the epoch (8,
// big endian) · random id (16) · binding (16) · HMAC-SHA-256 of all before (32). The binding is a keyed hash of
// operation, tenant and principal, apart from the signature so that somebody else's good token can be told from a
// forged one, and keyed so that nobody reads the caller out of it.
#include "nebis/token.hpp"

#include "identify/digest.hpp"
#include "identify/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nebis {
namespace {

using namespace identify;

constexpr char format_version = 1;
constexpr std::size_t expiry_size = 8;
constexpr std::size_t id_size = 16;
constexpr std::size_t binding_size = 16;
constexpr std::size_t mac_size = std::tuple_size_v<Digest>;
constexpr std::size_t max_key_id = 16;
constexpr std::size_t min_secret = 32;
constexpr std::size_t max_token_text = 256;

Error token_error(const char* code, const char* message) {
    return Error(ErrorKind::rejected_input, message).with_code(code);
}
Error bad_keys(std::string message, std::string hint = {}) {
    return Error(ErrorKind::misconfigured, "one-time tokens: " + std::move(message), {}, std::move(hint));
}

bool is_key_id(std::string_view id) noexcept {
    return !id.empty() && id.size() <= max_key_id && std::all_of(id.begin(), id.end(), [](char c) {
        return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

/// A label in front keeps the two uses of one secret apart.
std::string keyed_hash(const TokenKey& key, std::string_view use, std::initializer_list<std::string_view> parts) {
    std::string framed;
    append_framed(framed, use);
    for (const std::string_view part : parts) append_framed(framed, part);
    return std::string(as_text(hmac_sha256(key.secret, framed)));
}

std::string binding(const TokenKey& key, std::string_view operation, std::string_view principal,
                    std::string_view tenant) {
    return keyed_hash(key, "nebis token binding", {operation, tenant, principal}).substr(0, binding_size);
}

std::string signature(const TokenKey& key, std::string_view signed_part) {
    return keyed_hash(key, "nebis token", {signed_part});
}

std::int64_t to_millis(TokenService::Clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// A token taken apart; views into its bytes.
struct Parsed {
    std::string_view key_id, id, binding, mac, signed_part;
    std::int64_t expiry = 0;
};

bool parse(std::string_view bytes, Parsed& out) noexcept {
    if (bytes.size() < 2 || bytes[0] != format_version) return false;
    const std::size_t key_id_size = static_cast<unsigned char>(bytes[1]);
    if (bytes.size() != 2 + key_id_size + expiry_size + id_size + binding_size + mac_size) return false;
    out.signed_part = bytes.substr(0, bytes.size() - mac_size);
    out.mac = bytes.substr(bytes.size() - mac_size);
    bytes.remove_prefix(2);
    const auto next = [&bytes](std::size_t size) {
        const std::string_view piece = bytes.substr(0, size);
        bytes.remove_prefix(size);
        return piece;
    };
    out.key_id = next(key_id_size);
    std::uint64_t expiry = 0;
    for (const char c : next(expiry_size)) expiry = (expiry << 8) | static_cast<unsigned char>(c);
    out.expiry = static_cast<std::int64_t>(expiry);
    out.id = next(id_size);
    out.binding = next(binding_size);
    return true;
}

}  // namespace

Result<std::shared_ptr<const TokenService>> TokenService::make(TokenKeys keys, Options options) {
    if (keys.keys.empty()) return bad_keys("no key is set");
    for (auto key = keys.keys.begin(); key != keys.keys.end(); ++key) {
        if (!is_key_id(key->id)) return bad_keys("a key id is not 1 to 16 letters, digits, _ or -");
        if (key->secret.size() < min_secret) {
            return bad_keys("the secret of key " + key->id + " has fewer than 32 bytes",
                            "make one with: openssl rand -base64 48");
        }
        if (std::any_of(keys.keys.begin(), key, [&](const TokenKey& other) { return other.id == key->id; })) {
            return bad_keys("the key id " + key->id + " is there twice");
        }
    }
    if (options.lifetime < std::chrono::seconds(1)) return bad_keys("the lifetime is under one second");
    if (!options.now) options.now = Clock::now;
    if (!options.fill_random) options.fill_random = identify::fill_random;
    std::shared_ptr<const TokenService> service(new TokenService(std::move(keys), std::move(options)));
    if (service->find(service->keys_.current) == nullptr) return bad_keys("the current key id names none of the keys");
    return service;
}

const TokenKey* TokenService::find(std::string_view id) const noexcept {
    const auto key =
        std::find_if(keys_.keys.begin(), keys_.keys.end(), [id](const TokenKey& one) { return one.id == id; });
    return key != keys_.keys.end() ? &*key : nullptr;
}

Result<std::string> TokenService::create(std::string_view operation, std::string_view principal,
                                         std::string_view tenant) const {
    const TokenKey& key = *find(keys_.current);
    std::array<unsigned char, id_size> id{};
    if (!options_.fill_random(id)) return Error(ErrorKind::unavailable, "the random generator gives nothing now");
    const auto expiry = static_cast<std::uint64_t>(to_millis(options_.now() + options_.lifetime));

    std::string bytes{format_version, static_cast<char>(key.id.size())};
    bytes += key.id;
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(expiry >> shift));
    bytes += as_text(id);
    bytes += binding(key, operation, principal, tenant);
    bytes += signature(key, bytes);
    return to_base64url(bytes);
}

Result<std::string> TokenService::verify(std::string_view token, std::string_view operation, std::string_view principal,
                                         std::string_view tenant) const {
    std::string bytes;
    Parsed parsed;
    if (token.size() > max_token_text || !from_base64url(token, bytes) || !parse(bytes, parsed)) {
        return token_error("token-unknown", "this is no one-time token of ours");
    }
    const TokenKey* key = find(parsed.key_id);
    if (key == nullptr)
        return token_error("token-unknown", "the one-time token was signed with a key that is not in use");
    if (!constant_time_equal(parsed.mac, signature(*key, parsed.signed_part))) {
        return token_error("token-forged", "the one-time token's signature doesn't fit");
    }
    if (!constant_time_equal(parsed.binding, binding(*key, operation, principal, tenant))) {
        return token_error("token-foreign", "the one-time token was made for another operation or another caller");
    }
    if (to_millis(options_.now()) >= parsed.expiry)
        return token_error("token-expired", "the one-time token has expired");
    return to_base64url(parsed.id);
}

Result<void> TokenService::check_retention(std::chrono::milliseconds retention) const {
    if (options_.lifetime < retention) return {};
    return bad_keys("the lifetime is not shorter than the retention of the records, so a spent token could run again",
                    "shorten the token lifetime or lengthen record-expire-hours");
}

}  // namespace nebis
