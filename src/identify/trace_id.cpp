// SPDX-License-Identifier: Apache-2.0
#include "identify/trace_id.hpp"

#include "identify/digest.hpp"
#include "identify/text.hpp"

namespace nebis::identify {
namespace {

constexpr char separator = '|';

bool is_clean(std::string_view text) noexcept {
    // A blank at the end is where databases and people stop looking.
    if (text.starts_with(' ') || text.ends_with(' ')) return false;
    return is_printable(text);
}

bool is_clean_part(std::string_view text) noexcept { return is_clean(text) && text.find(separator) == text.npos; }

}  // namespace

std::string make_trace_id(std::string_view tenant, std::string_view principal, std::string_view operation,
                          std::string_view key) {
    const std::size_t size = tenant.size() + principal.size() + operation.size() + key.size() + 3;
    if (size <= max_trace_id && is_clean_part(tenant) && is_clean_part(principal) && is_clean_part(operation) &&
        is_clean(key) && !tenant.starts_with(hashed_tag) && !key.starts_with(hashed_tag)) {
        std::string id;
        id.reserve(size);
        id.append(tenant).push_back(separator);
        id.append(principal).push_back(separator);
        id.append(operation).push_back(separator);
        id.append(key);
        return id;
    }
    std::string framed;
    for (const std::string_view part : {tenant, principal, operation, key}) append_framed(framed, part);
    return std::string(hashed_tag) + to_hex(sha256(framed));
}

}  // namespace nebis::identify
