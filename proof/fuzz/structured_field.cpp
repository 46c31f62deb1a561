// SPDX-License-Identifier: Apache-2.0
// The value of an Idempotency-Key field.
#include "identify/structured_field.hpp"

#include "claim.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

using namespace nebis::identify;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view value(reinterpret_cast<const char*>(data), size);
    const auto strict = parse_key_field(value, true), lenient = parse_key_field(value, false);
    claim(!strict || (lenient && *lenient == *strict), "what strict takes, lenient takes as the same key");
    if (!lenient) {
        claim(lenient.error().code() == "key-invalid", "a refusal has its code");
        return 0;
    }
    claim(!lenient->empty() && lenient->size() <= 255, "a key's length is bounded");
    claim(std::all_of(lenient->begin(), lenient->end(), [](char c) { return c >= ' ' && c <= '~'; }),
          "a key is printable ASCII");

    std::string quoted = "\"";
    for (const char c : *lenient) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    const auto back = parse_key_field(quoted + "\"", true);
    claim(back && *back == *lenient, "every key can be written as a Structured Field String");
    return 0;
}
