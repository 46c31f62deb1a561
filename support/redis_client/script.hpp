// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nebis::redis {

/// A fixed script; Redis knows it by the SHA-1 of its text.
struct Script {
    std::string text;
    std::string sha1;
    explicit Script(std::string text);
};

/// One call of a script. All names have the same hash tag: they lie in one slot of a Cluster.
struct Call {
    const Script* script = nullptr;
    std::vector<std::string> keys;  ///< KEYS; at least one
    std::vector<std::string> arguments;
};

/// What a Cluster's slots go by: what is between the first brace of a name and the next one, else the whole name.
/// Source: Redis Cluster specification, "Hash tags".
std::string_view tag_of(std::string_view name) noexcept;

/// As EVALSHA or, where the server didn't know the script, with its text, which it then remembers.
void append(Commands& out, const Call& call, bool with_text);

}  // namespace nebis::redis
