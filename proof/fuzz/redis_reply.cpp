// SPDX-License-Identifier: Apache-2.0
// What a hostile Redis may send: the reply parser behind our limits, and everything that is made of a reply.
#include "claim.hpp"
#include "locks/redis/entry.hpp"
#include "redis_client/errors.hpp"
#include "redis_client/reply.hpp"
#include "redis_client/slots.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace nebis;
using namespace nebis::redis;

namespace {

constexpr ReplyLimits limits{.depth = 3, .elements = 64, .text_bytes = 256, .reply_bytes = 1024};

struct Shape {
    std::size_t elements = 0;
    std::size_t depth = 0;
};

Shape shape_of(const Reply& reply) {
    Shape shape;
    if (reply.kind != Reply::Kind::array) {
        claim(reply.text.size() <= limits.text_bytes || reply.kind != Reply::Kind::text, "a text is bounded");
        return shape;
    }
    shape.elements = reply.elements.size();
    for (const Reply& one : reply.elements) {
        const Shape inner = shape_of(one);
        shape.elements += inner.elements;
        shape.depth = std::max(shape.depth, inner.depth);
    }
    ++shape.depth;
    return shape;
}

bool same(const Reply& a, const Reply& b) {
    return a.kind == b.kind && a.integer == b.integer && a.text == b.text &&
           std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), same);
}

/// All replies, and whether the rest was refused.
struct Heard {
    std::vector<Reply> replies;
    bool broken = false;
};

Heard hear(std::string_view bytes, std::size_t slice) {
    Heard heard;
    ReplyReader reader(limits);
    while (!bytes.empty() && !heard.broken) {
        const auto part = bytes.substr(0, slice);
        bytes.remove_prefix(part.size());
        reader.feed(part);
        for (;;) {
            auto next = reader.next();
            if (!next) {
                claim(next.error().kind() == ErrorKind::corrupt, "what can't be read is corrupt");
                claim(!reader.next(), "a spent reader stays spent");
                heard.broken = true;
                break;
            }
            if (!*next) break;
            heard.replies.push_back(**std::move(next));
        }
    }
    return heard;
}

void use(const Reply& reply) {
    const Address teller{"10.0.0.1", 7000};
    if (const auto map = SlotMap::from(reply, teller))
        for (std::uint16_t slot = 0; slot < slot_count; slot = static_cast<std::uint16_t>(slot + 1023))
            if (const auto* owner = map->owner(slot)) claim(owner->port != 0, "an owner has a port");
    if (const auto where = redirection_of(reply, teller)) {
        claim(reply.is_error(), "only an error sends on");
        claim(where->slot < slot_count && where->to.port != 0 && !where->to.host.empty(), "to a place that exists");
    }
    if (reply.is_error()) {
        const Error error = error_of(reply, "x");
        claim(error.detail().size() <= 203, "an error is bounded");
        claim(std::ranges::all_of(error.text(), [](char c) { return c >= ' ' && c <= '~'; }), "and printable");
    }
    if (const auto result = decode(reply.text, "key"))
        claim(is_terminal(result->status) && result->trace_id == "key", "only a terminal result of this very key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t slice = data[0] % 7 + 1;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const Heard whole = hear(bytes, std::max<std::size_t>(bytes.size(), 1)), sliced = hear(bytes, slice);
    for (const Reply& reply : whole.replies) {
        const Shape shape = shape_of(reply);
        claim(shape.elements <= limits.elements && shape.depth <= limits.depth, "an array is bounded");
        use(reply);
    }
    // Whole, one reply may end and the next be refused at once; in slices the same replies come, at least as many.
    claim(sliced.replies.size() >= whole.replies.size(), "slices lose nothing");
    for (std::size_t i = 0; i < whole.replies.size(); ++i)
        claim(same(whole.replies[i], sliced.replies[i]), "slices change nothing");
    use({.kind = Reply::Kind::text, .integer = 0, .text = std::string(bytes), .elements = {}});
    return 0;
}
