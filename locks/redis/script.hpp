// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::redis {

/// A fixed script; Redis knows it by the SHA-1 of its text.
struct Script {
    std::string text;
    std::string sha1;
    explicit Script(const char* text);
};

/// All of them, hashed once.
struct Scripts {
    Script enter, leave, renew, evict, fetch, put;
    static const Scripts& all();
};

/// The two names of one key. The hash tag puts them into one slot of a Cluster.
struct Names {
    std::string lock;
    std::string result;
    std::string_view tag() const noexcept;  ///< what is between the braces
};

/// One call of a script. Its views live until the reply is there.
struct Call {
    const Script* script = nullptr;
    Names names;
    std::vector<std::string> arguments;
};

/// As EVALSHA or, where the server didn't know the script, with its text, which it then remembers.
void append(Commands& out, const Call& call, bool with_text);

}  // namespace nebis::redis
