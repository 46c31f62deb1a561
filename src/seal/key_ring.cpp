// SPDX-License-Identifier: Apache-2.0
#include "seal/key_ring.hpp"

#include "identify/digest.hpp"
#include "seal/aead.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

// Format 2 of a snapshot:
//   0xE7 2 | length of the key's id, 1 | key's id | salt, 16 | nonce, 12 | AES-256-GCM of the snapshot | tag, 16
// The key of one snapshot is HMAC-SHA-256(secret, "nebis seal 2" | salt): with a random nonce alone, one key could seal
// 2^32 snapshots before two nonces may meet, a matter of days for a busy fleet. All bytes before the ciphertext are
// bound along with what the caller binds.
namespace nebis::seal {
namespace {

constexpr std::string_view magic("\xE7\x02");
constexpr std::string_view purpose = "nebis seal 2";
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t least_secret = 32;
constexpr std::size_t longest_id = 16;

bool is_key_id(std::string_view id) {
    return !id.empty() && id.size() <= longest_id && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

/// The parts before the ciphertext; views into the sealed bytes.
struct Head {
    std::string_view id, salt, nonce;
    std::size_t size = 0;
};

bool parse(std::string_view sealed, Head& head) noexcept {
    if (!sealed.starts_with(magic) || sealed.size() <= magic.size()) return false;
    const std::size_t id_size = static_cast<unsigned char>(sealed[magic.size()]);
    head.size = magic.size() + 1 + id_size + salt_bytes + nonce_bytes;
    if (sealed.size() < head.size + tag_bytes) return false;
    head.id = sealed.substr(magic.size() + 1, id_size);
    head.salt = sealed.substr(head.size - nonce_bytes - salt_bytes, salt_bytes);
    head.nonce = sealed.substr(head.size - nonce_bytes, nonce_bytes);
    return is_key_id(head.id);
}

/// The key of one snapshot, for as long as it is used.
class MessageKey {
public:
    MessageKey(const RingKey& key, std::string_view salt)
        : bytes_(identify::hmac_sha256(key.secret, std::string(purpose).append(salt))) {}
    ~MessageKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
    MessageKey(const MessageKey&) = delete;
    MessageKey& operator=(const MessageKey&) = delete;
    const AeadKey& get() const noexcept { return bytes_; }

private:
    AeadKey bytes_;
};

std::string all_bound(std::string_view head, std::string_view bound) { return std::string(head).append(bound); }

Error bad_ring(std::string what, std::string hint = {}) {
    return Error(ErrorKind::misconfigured, "the keys that seal snapshots can't be used", std::move(what),
                 std::move(hint));
}

}  // namespace

Result<KeyRing> KeyRing::make(std::vector<RingKey> keys, std::string current) {
    KeyRing ring;
    ring.keys_ = std::move(keys);
    ring.current_ = std::move(current);
    if (ring.keys_.size() == 1 && ring.current_.empty()) ring.current_ = ring.keys_[0].id;
    for (const RingKey& key : ring.keys_) {
        if (!is_key_id(key.id)) return bad_ring("a key's id is not 1 to 16 letters, digits, _ or -");
        if (key.secret.size() < least_secret)
            return bad_ring("the secret of key " + key.id + " has fewer than 32 bytes",
                            "make one with: openssl rand -base64 48");
        if (std::ranges::count(ring.keys_, key.id, &RingKey::id) > 1)
            return bad_ring("the id " + key.id + " is there twice");
    }
    if (!ring.keys_.empty() && !ring.find(ring.current_)) return bad_ring("the current id names none of the keys");
    return ring;
}

KeyRing::~KeyRing() { forget(); }
KeyRing::KeyRing(KeyRing&& other) noexcept : keys_(std::move(other.keys_)), current_(std::move(other.current_)) {}
KeyRing& KeyRing::operator=(KeyRing&& other) noexcept {
    if (this == &other) return *this;
    forget();
    keys_ = std::move(other.keys_);
    current_ = std::move(other.current_);
    return *this;
}

void KeyRing::forget() noexcept {
    for (RingKey& key : keys_) OPENSSL_cleanse(key.secret.data(), key.secret.size());
    keys_.clear();
}

const RingKey* KeyRing::find(std::string_view id) const noexcept {
    const auto key = std::ranges::find(keys_, id, &RingKey::id);
    return key == keys_.end() ? nullptr : &*key;
}

Result<std::string> KeyRing::seal(std::string_view plain, std::string_view bound) const {
    const RingKey* const key = find(current_);
    if (!key) return Error(ErrorKind::misconfigured, "there is no key to seal snapshots with");
    std::array<unsigned char, salt_bytes + nonce_bytes> chance{};
    if (!identify::fill_random(chance))
        return Error(ErrorKind::unavailable, "the random generator gives nothing now, so no snapshot can be sealed");
    std::string out(magic);
    out.reserve(magic.size() + 1 + key->id.size() + chance.size() + plain.size() + tag_bytes);
    out.push_back(static_cast<char>(key->id.size()));
    out.append(key->id).append(identify::as_text(chance));
    const std::string_view salt = identify::as_text(std::span(chance).first<salt_bytes>());
    const std::string_view nonce = identify::as_text(std::span(chance).last<nonce_bytes>());
    if (!aead_seal(MessageKey(*key, salt).get(), nonce, all_bound(out, bound), plain, out))
        return Error(ErrorKind::unavailable, "OpenSSL could not seal a snapshot");
    return out;
}

Result<std::string> KeyRing::open(std::string_view sealed, std::string_view bound) const {
    Head head;
    const auto damaged = [] {
        return Error(ErrorKind::corrupt, "a sealed snapshot doesn't open",
                     "it was altered, or belongs to another record or version",
                     "look at the record, and purge it by hand")
            .with_code("snapshot-damaged");
    };
    if (!parse(sealed, head)) return damaged();
    const RingKey* const key = find(head.id);
    if (!key)
        return Error(ErrorKind::corrupt, "a snapshot is sealed with a key that isn't here",
                     "key " + std::string(head.id),
                     "put the key back under seal.keys, or purge the records that need it")
            .with_code("snapshot-key-missing");
    std::string plain;
    if (!aead_open(MessageKey(*key, head.salt).get(), head.nonce, all_bound(sealed.substr(0, head.size), bound),
                   sealed.substr(head.size), plain))
        return damaged();
    return plain;
}

bool is_sealed(std::string_view bytes) noexcept { return bytes.starts_with(magic); }

std::string_view key_id_of(std::string_view sealed) noexcept {
    Head head;
    return parse(sealed, head) ? head.id : std::string_view();
}

}  // namespace nebis::seal
