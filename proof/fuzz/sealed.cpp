// SPDX-License-Identifier: Apache-2.0
// Bytes where a sealed snapshot should be. The first byte chooses: the rest as it is, or laid over a real one.
#include "claim.hpp"
#include "seal/key_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace nebis;
using namespace nebis::seal;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static const KeyRing ring =
        KeyRing::make({{"k1", std::string(32, 'a')}, {"k2", std::string(32, 'b')}}, "k1").value();
    static const std::string real = ring.seal("the answer", "row").value();

    std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if ((data[0] & 1) != 0) {
        std::string laid = real;
        for (std::size_t i = 0; i < std::min(bytes.size(), laid.size()); ++i)
            laid[i] = static_cast<char>(laid[i] ^ bytes[i]);
        if (bytes.size() > laid.size()) laid.append(bytes, laid.size());
        bytes = laid;
    }
    const auto opened = ring.open(bytes, "row");
    claim(opened.has_value() == (bytes == real), "nothing opens but what was sealed");
    claim(key_id_of(bytes).empty() || is_sealed(bytes), "only sealed bytes name a key");
    if (opened) return 0;
    claim(opened.error().kind() == ErrorKind::corrupt, "what doesn't open is corrupt");
    claim(opened.error().code() == "snapshot-damaged" || opened.error().code() == "snapshot-key-missing",
          "a refusal has its code");
    return 0;
}
