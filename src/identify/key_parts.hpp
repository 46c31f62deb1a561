// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::identify {

/// A piece of a key: text written in the rule (`fixed`), or taken from the request.
struct KeyPart {
    std::string text;
    bool fixed = false;
};

/// Natural keys longer than this are a mistake, not a key.
inline constexpr std::size_t max_key_bytes = 4096;

/// The pieces as one key, so that different pieces never make the same key (Z21: "1:2" + ":" + "3" against "1" + ":" +
/// "2:3").
///
/// Usually that is the plain text, "7:3". It is unambiguous when no taken piece holds a character of a fixed piece that
/// stands between two taken ones (or of `further`, for rules whose pieces vary), taken pieces never touch, and it
/// doesn't begin with '~'. Otherwise each piece is written with its length, behind a '~': "~3:1:21=:1:3".
/// **Errors**: `rejected_input`: "key-missing" when a taken piece is blank or nothing is taken at all (such a key would
/// be shared by strangers, C01, B024); "key-invalid" when the key gets longer than `max_key_bytes`.
Result<std::string> join_key(const std::vector<KeyPart>& parts, std::string_view further = {});

}  // namespace nebis::identify
