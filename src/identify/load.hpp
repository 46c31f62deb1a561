// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace nebis::identify {

/// Four or eight bytes as the number they spell: it sorts as they do, and is the same on every machine.
template <class Word>
std::uint64_t load_big_endian(const char* bytes) noexcept {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::big) return word;
    if constexpr (sizeof word == 8) return __builtin_bswap64(word);
    return __builtin_bswap32(static_cast<std::uint32_t>(word));
}

}  // namespace nebis::identify
