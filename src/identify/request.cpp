// SPDX-License-Identifier: Apache-2.0
#include "nebis/request.hpp"

#include "identify/body.hpp"
#include "identify/pointer.hpp"
#include "identify/text.hpp"

#include <limits>

namespace nebis {

Result<const std::string*> Request::header(std::string_view name) const {
    const std::string* found = nullptr;
    for (const Header& header : headers) {
        if (!identify::equal_ignoring_case(header.name, name)) continue;
        if (found != nullptr) {
            return Error(ErrorKind::rejected_input, "the header " + std::string(name) + " is there more than once")
                .with_code("key-invalid");
        }
        found = &header.value;
    }
    return found;
}

Result<std::string> Request::text(std::string_view json_pointer) const {
    // Whoever filled the request has bounded its body.
    static const identify::HashLimits limits{.max_bytes = std::numeric_limits<std::size_t>::max()};
    const auto path = identify::split_pointer(json_pointer);
    if (!path) return Error(ErrorKind::rejected_input, path.error().message());
    return identify::Body(*this, limits).text(*path, json_pointer);
}

}  // namespace nebis
