// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include "identify/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <utility>

namespace nebis::redis {

Script::Script(std::string text) : text(std::move(text)) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    // Redis' choice of a name, not a protection.
    ::EVP_Digest(this->text.data(), this->text.size(), digest.data(), &size, ::EVP_sha1(), nullptr);
    sha1 = identify::to_hex({digest.data(), size});
}

std::string_view tag_of(std::string_view name) noexcept {
    const auto open = name.find('{');
    if (open == std::string_view::npos) return name;
    const auto close = name.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1) return name;
    return name.substr(open + 1, close - open - 1);
}

void append(Commands& out, const Call& call, bool with_text) {
    out.begin(3 + call.keys.size() + call.arguments.size());
    out.word(with_text ? "EVAL" : "EVALSHA");
    out.word(with_text ? call.script->text : call.script->sha1);
    out.word(std::to_string(call.keys.size()));
    for (const auto& key : call.keys) out.word(key);
    for (const auto& argument : call.arguments) out.word(argument);
}

}  // namespace nebis::redis
