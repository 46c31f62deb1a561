// SPDX-License-Identifier: Apache-2.0
#include "driver/shown_key.hpp"

#include "identify/digest.hpp"

namespace nebis::driver {

std::string shown(std::string_view trace_id) { return shown_digest(identify::to_hex(identify::sha256(trace_id))); }

std::string shown_digest(std::string_view hex) {
    std::string text = "key ";
    return text.append(hex.substr(0, 12)).append("…");
}

Error damaged(std::string_view trace_id, std::string_view what) {
    return damaged_digest(identify::to_hex(identify::sha256(trace_id)), what);
}

Error damaged_digest(std::string_view hex, std::string_view what) {
    return Error(ErrorKind::corrupt, "the record of " + shown_digest(hex) + " can't be trusted: " + std::string(what),
                 {},
                 "it was altered from outside or written by a newer version; nothing runs for this key until the row "
                 "is mended or purged")
        .with_code("record-damaged");
}

}  // namespace nebis::driver
