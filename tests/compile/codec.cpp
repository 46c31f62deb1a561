// SPDX-License-Identifier: Apache-2.0
#include "nebis/nebis.hpp"

// A wrapped function whose result or argument nobody taught us to keep. Compiled by ctest three times: as it is it
// must compile; with NO_CODEC or NO_JSON the compiler must say the sentence that helps, and fail.

struct Plain {
    int number = 0;
};

#ifndef NO_CODEC
template <>
struct nebis::Codec<Plain> {
    static std::string encode(const Plain& value) { return Codec<int>::encode(value.number); }
    static Result<Plain> decode(std::string_view bytes) { return Plain{Codec<int>::decode(bytes).value()}; }
};
#endif
#ifndef NO_JSON
template <>
struct nebis::JsonOf<Plain> {
    static void write(std::string& out, const Plain& value) { out += std::to_string(value.number); }
};
#endif

Plain wrapped(const nebis::Engine& engine) {
    auto twice = engine.idempotent({.operation = "twice", .key = "#id"}, nebis::args("id", "value"),
                                   [](long, Plain value) { return Plain{2 * value.number}; });
    return twice(1, Plain{21});
}
