// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <string>
#include <string_view>

namespace nebis::http {

/// What a request target asks for, in the one spelling that this server knows of it.
struct Target {
    std::string
        path;  ///< begins with '/'; unreserved characters unescaped, others in %XX; no empty, "." or last empty segment
    std::string query;      ///< as it came, without '?'
    std::string authority;  ///< of an absolute target ("http://host:80/x"); empty otherwise
};

/// Several spellings of a path must never be several operations (N28, B067): `//`, `/./`, `%70`, a last `/` become one;
/// what other servers read in different ways (`..`, `;x=1`, `%2F`, `%5C`, `\`, control characters) is refused.
/// **Errors**: `rejected_input` with the rule that was broken.
Result<Target> parse_target(std::string_view target);

/// `host[:port]` and nothing else (B065).
bool valid_authority(std::string_view text) noexcept;

/// `%XX` of one segment undone.
std::string unescaped(std::string_view segment);

}  // namespace nebis::http
