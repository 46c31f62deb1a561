// SPDX-License-Identifier: Apache-2.0
#include "driver/lock_mark.hpp"

#include "identify/digest.hpp"

#include <algorithm>
#include <limits>

namespace nebis::driver {
namespace {

constexpr std::size_t end_bytes = 8;
constexpr std::size_t longest_prefix = 64;
constexpr std::int64_t longest_lease = 100LL * 366 * 24 * 3600 * 1000;

bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:-/").find(c) != std::string_view::npos;
}

}  // namespace

std::string encode(const LockMark& mark) {
    std::string out(identify::as_text(mark.owner.bytes));
    for (std::size_t i = end_bytes; i-- > 0;)
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(mark.until_millis) >> (8 * i)));
    return out;
}

std::optional<LockMark> decode_mark(std::string_view bytes) {
    LockMark mark;
    if (bytes.size() != mark.owner.bytes.size() + end_bytes) return std::nullopt;
    std::copy_n(bytes.begin(), mark.owner.bytes.size(), reinterpret_cast<char*>(mark.owner.bytes.data()));
    std::uint64_t until = 0;
    for (const char c : bytes.substr(mark.owner.bytes.size())) until = until << 8 | static_cast<unsigned char>(c);
    if (until > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    mark.until_millis = static_cast<std::int64_t>(until);
    return mark;
}

std::int64_t wall_millis(const WallClock& clock) {
    const auto now = clock ? clock() : std::chrono::system_clock::now();
    return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count(),
                                  0);
}

std::int64_t end_of_lease(std::int64_t now_millis, std::int64_t lease_millis) {
    return now_millis + std::clamp<std::int64_t>(lease_millis, 1, longest_lease);
}

std::string lock_name(std::string_view prefix, std::string_view trace_id) {
    return std::string(prefix) + "idempotent:lock:" + identify::to_hex(identify::sha256(trace_id));
}

Result<void> check_prefix(std::string_view prefix, const char* word) {
    if (prefix.size() <= longest_prefix && std::ranges::all_of(prefix, plain)) return {};
    return Error(ErrorKind::misconfigured, "the key prefix of the locks can't be used", {},
                 "`key-prefix` takes up to 64 letters, digits, . _ : - and /")
        .with_code(word);
}

}  // namespace nebis::driver
