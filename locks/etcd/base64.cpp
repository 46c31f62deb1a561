// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"

#include <openssl/evp.h>

#include <limits>

namespace nebis::etcd {

std::string to_base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the encoder ends with a zero
    const int size =
        ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.empty()) return std::string();
    if (text.size() % 4 != 0 || text.size() > std::numeric_limits<int>::max()) return std::nullopt;
    // The decoder forgives blanks at both ends, and so would lose count.
    const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
    if (text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") <
        text.size() - padding)
        return std::nullopt;
    std::string out(text.size() / 4 * 3, '\0');
    const int size =
        ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0 || static_cast<std::size_t>(size) < padding) return std::nullopt;
    out.resize(static_cast<std::size_t>(size) - padding);
    return out;
}

}  // namespace nebis::etcd
