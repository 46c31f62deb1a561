// SPDX-License-Identifier: Apache-2.0
#include "script.hpp"

#include "identify/digest.hpp"

#include <openssl/evp.h>

#include <array>

namespace nebis::redis {

extern const char* const enter_text;
extern const char* const leave_text;
extern const char* const renew_text;
extern const char* const evict_text;
extern const char* const fetch_text;
extern const char* const put_text;

Script::Script(const char* text) : text(text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    // Redis' choice of a name, not a protection.
    ::EVP_Digest(this->text.data(), this->text.size(), digest.data(), &size, ::EVP_sha1(), nullptr);
    sha1 = identify::to_hex({digest.data(), size});
}

const Scripts& Scripts::all() {
    static const Scripts scripts{Script(enter_text), Script(leave_text), Script(renew_text),
                                 Script(evict_text), Script(fetch_text), Script(put_text)};
    return scripts;
}

std::string_view Names::tag() const noexcept {
    const auto open = lock.rfind('{') + 1;
    return std::string_view(lock).substr(open, lock.rfind('}') - open);
}

void append(Commands& out, const Call& call, bool with_text) {
    out.begin(5 + call.arguments.size());
    out.word(with_text ? "EVAL" : "EVALSHA");
    out.word(with_text ? call.script->text : call.script->sha1);
    out.word("2");
    out.word(call.names.lock);
    out.word(call.names.result);
    for (const auto& argument : call.arguments) out.word(argument);
}

}  // namespace nebis::redis
