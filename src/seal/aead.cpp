// SPDX-License-Identifier: Apache-2.0
#include "seal/aead.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <limits>
#include <memory>

namespace nebis::seal {
namespace {

struct Free {
    void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;

/// Looked up once: that takes longer than to seal a small body.
const EVP_CIPHER* aes_256_gcm() {
    static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    return cipher;
}

/// One for each thread. Whoever used it leaves no key in it.
class Lent {
public:
    Lent() {
        if (!own_) own_.reset(EVP_CIPHER_CTX_new());
    }
    ~Lent() {
        if (own_) EVP_CIPHER_CTX_reset(own_.get());
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    EVP_CIPHER_CTX* get() const noexcept { return own_.get(); }

private:
    static thread_local Context own_;
};
thread_local Context Lent::own_;

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

bool fits(std::string_view bytes) {
    return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) - tag_bytes;
}
int length(std::string_view bytes) { return static_cast<int>(bytes.size()); }

bool possible(std::string_view nonce, std::string_view bound, std::string_view bytes) {
    return nonce.size() == nonce_bytes && fits(bound) && fits(bytes);
}

}  // namespace

bool aead_seal(const AeadKey& key, std::string_view nonce, std::string_view bound, std::string_view plain,
               std::string& out) {
    if (!possible(nonce, bound, plain)) return false;
    const Lent context;
    const std::size_t start = out.size();
    out.resize(start + plain.size() + tag_bytes);
    unsigned char* const to = raw(out) + start;
    int done = 0;
    int rest = 0;
    const bool good = context.get() != nullptr &&
                      EVP_EncryptInit_ex2(context.get(), aes_256_gcm(), key.data(), raw(nonce), nullptr) == 1 &&
                      EVP_EncryptUpdate(context.get(), nullptr, &rest, raw(bound), length(bound)) == 1 &&
                      EVP_EncryptUpdate(context.get(), to, &done, raw(plain), length(plain)) == 1 &&
                      EVP_EncryptFinal_ex(context.get(), to + done, &rest) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, to + plain.size()) == 1;
    if (!good) out.resize(start);
    return good;
}

bool aead_open(const AeadKey& key, std::string_view nonce, std::string_view bound, std::string_view sealed,
               std::string& out) {
    out.clear();
    if (sealed.size() < tag_bytes || !possible(nonce, bound, sealed)) return false;
    const std::string_view text = sealed.substr(0, sealed.size() - tag_bytes);
    std::string tag(sealed.substr(text.size()));
    const Lent context;
    out.resize(text.size() + 1);  // never a null pointer, which would mean bound bytes
    int done = 0;
    int rest = 0;
    const bool good = context.get() != nullptr &&
                      EVP_DecryptInit_ex2(context.get(), aes_256_gcm(), key.data(), raw(nonce), nullptr) == 1 &&
                      EVP_DecryptUpdate(context.get(), nullptr, &rest, raw(bound), length(bound)) == 1 &&
                      EVP_DecryptUpdate(context.get(), raw(out), &done, raw(text), length(text)) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, raw(tag)) == 1 &&
                      EVP_DecryptFinal_ex(context.get(), raw(out) + done, &rest) == 1;
    // What was deciphered before its tag was looked at is nobody's to read.
    if (!good) OPENSSL_cleanse(out.data(), out.size());
    out.resize(good ? text.size() : 0);
    return good;
}

}  // namespace nebis::seal
