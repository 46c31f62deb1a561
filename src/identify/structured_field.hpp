// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace nebis::identify {

struct KeyLength {
    std::size_t min = 1;
    std::size_t max = 255;
};

/// The key in one `Idempotency-Key` field value.
///
/// A Structured Field String (RFC 8941 §3.3.3: `"k"`, printable ASCII, `\"` and `\\` the only escapes). Unless
/// `strict`, parameters after it are ignored, and bare text (`k`) is taken as it stands, blanks around it cut off; a
/// comma in bare text is a list and refused. The quoted and the bare spelling of a text are one key.
/// **Errors**: `rejected_input`, code "key-invalid". Never quotes the value.
Result<std::string> parse_key_field(std::string_view value, bool strict, KeyLength length = {});

}  // namespace nebis::identify
