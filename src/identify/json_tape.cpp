// SPDX-License-Identifier: Apache-2.0
#include "identify/json_tape.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

namespace nebis::identify {

/// What Boost.JSON's event parser calls. It hands over the text of numbers, which is all we want of them.
struct TapeWriter {
    static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();

    using View = boost::json::string_view;
    using Code = boost::json::error_code;

    JsonTape* tape = nullptr;
    std::string_view body;
    std::size_t max_depth = 0;
    std::vector<std::uint32_t> open;  ///< arrays and objects not yet closed
    std::string_view name;            ///< of the member whose value comes next
    std::size_t part_start = 0;       ///< in the arena: text that comes in parts
    bool in_parts = false;

    void start(JsonTape& target, std::string_view text, std::size_t depth) {
        tape = &target;
        body = text;
        max_depth = depth;
        open.clear();
        name = {};
        in_parts = false;
    }

    bool on_document_begin(Code&) { return true; }
    bool on_document_end(Code&) { return true; }
    bool on_object_begin(Code& code) { return open_node(JsonKind::object, code); }
    bool on_object_end(std::size_t, Code&) { return close_node(); }
    bool on_array_begin(Code& code) { return open_node(JsonKind::array, code); }
    bool on_array_end(std::size_t, Code&) { return close_node(); }

    bool on_key_part(View text, std::size_t, Code&) { return part(text); }
    bool on_key(View text, std::size_t, Code&) {
        name = whole(text);
        return true;
    }
    bool on_string_part(View text, std::size_t, Code&) { return part(text); }
    bool on_string(View text, std::size_t, Code&) { return add(JsonKind::string, whole(text)); }
    bool on_number_part(View text, Code&) { return part(text); }
    bool on_int64(std::int64_t, View text, Code&) { return add(JsonKind::number, whole(text)); }
    bool on_uint64(std::uint64_t, View text, Code&) { return add(JsonKind::number, whole(text)); }
    bool on_double(double, View text, Code&) { return add(JsonKind::number, whole(text)); }
    bool on_bool(bool value, Code&) { return add(JsonKind::boolean, value ? "true" : "false"); }
    bool on_null(Code&) { return add(JsonKind::null, {}); }
    bool on_comment_part(View, Code&) { return true; }
    bool on_comment(View, Code&) { return true; }

    bool add(JsonKind kind, std::string_view text) {
        tape->add(kind, name, text);
        name = {};
        return true;
    }

private:
    bool open_node(JsonKind kind, Code& code) {
        if (open.size() >= max_depth) {
            code = boost::json::error::too_deep;
            return false;
        }
        open.push_back(static_cast<std::uint32_t>(tape->nodes_.size()));
        return add(kind, {});
    }
    bool close_node() {
        tape->nodes_[open.back()].end = static_cast<std::uint32_t>(tape->nodes_.size());
        open.pop_back();
        return true;
    }
    bool part(View text) {
        auto& arena = tape->arena_;
        // Unescaping never lengthens, so this room is enough and the views already handed out stay valid.
        if (arena.capacity() < body.size()) arena.reserve(body.size());
        if (!in_parts) part_start = arena.size();
        in_parts = true;
        arena.append(text.data(), text.size());
        return true;
    }
    std::string_view whole(View text) {
        // The body holds unescaped text itself; the last piece of an escaped one lies in a buffer of the parser that
        // soon is gone.
        const std::string_view last(text.data(), text.size());
        const std::less_equal<const char*> before;
        const bool lasting =
            before(body.data(), last.data()) && before(last.data() + last.size(), body.data() + body.size());
        if (!in_parts && (last.empty() || lasting)) return last;
        part(text);
        in_parts = false;
        return std::string_view(tape->arena_).substr(part_start);
    }
};

namespace {

Error invalid_body(std::string message) {
    return Error(ErrorKind::rejected_input, std::move(message)).with_code("body-invalid");
}

/// The parser recurses, and its own limit can't be changed later: it guards the thread's stack, ours is the setting.
boost::json::parse_options stack_safe() {
    boost::json::parse_options options;
    options.max_depth = 512;
    return options;
}

std::string why(const boost::json::error_code& code, std::size_t depth) {
    if (code == boost::json::error::too_deep) return "is nested deeper than " + std::to_string(depth) + " levels";
    if (code == boost::json::error::exponent_overflow) return "has a number with too large an exponent";
    return "is not JSON in UTF-8";
}

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Percent-decodes into the arena. False for a broken escape.
bool append_decoded(std::string& arena, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            const int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            arena.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        } else {
            arena.push_back(text[i] == '+' ? ' ' : text[i]);
        }
    }
    return true;
}

}  // namespace

void JsonTape::add(JsonKind kind, std::string_view name, std::string_view text) {
    // Filled in place: a node copied right after its members were written would wait for them.
    JsonNode& node = nodes_.emplace_back();
    node.name = name.data();
    node.text = text.data();
    node.name_size = static_cast<std::uint32_t>(name.size());
    node.text_size = static_cast<std::uint32_t>(text.size());
    node.end = static_cast<std::uint32_t>(nodes_.size());
    node.kind = kind;
}

Result<void> JsonTape::start(std::string_view body, const HashLimits& limits) {
    nodes_.clear();
    arena_.clear();
    // Nodes count in 32 bits.
    const auto limit = std::min<std::size_t>(limits.max_bytes, std::numeric_limits<std::uint32_t>::max() - 1);
    if (body.size() <= limit) return {};
    return Error(ErrorKind::rejected_input, "the body is larger than " + std::to_string(limit) + " bytes")
        .with_code("body-too-large");
}

Result<void> JsonTape::parse_json(std::string_view body, const HashLimits& limits) {
    if (auto started = start(body, limits); !started) return started;
    thread_local boost::json::basic_parser<TapeWriter> parser{stack_safe()};
    parser.reset();
    parser.handler().start(*this, body, limits.max_depth);
    boost::json::error_code code;
    const std::size_t used = parser.write_some(false, body.data(), body.size(), code);
    if (code) return invalid_body("the body " + why(code, limits.max_depth));
    if (used != body.size()) return invalid_body("the body goes on after its JSON value");
    return {};
}

Result<void> JsonTape::parse_form(std::string_view body, const HashLimits& limits) {
    if (auto started = start(body, limits); !started) return started;
    arena_.reserve(body.size());
    add(JsonKind::object, {}, {});
    while (!body.empty()) {
        const std::string_view pair = body.substr(0, body.find('&'));
        body.remove_prefix(std::min(body.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::string_view name = pair.substr(0, pair.find('='));
        const std::string_view value = pair.substr(std::min(pair.size(), name.size() + 1));
        const std::size_t name_start = arena_.size();
        if (!append_decoded(arena_, name)) return invalid_body("the form has a % that two hex digits don't follow");
        const std::size_t value_start = arena_.size();
        if (!append_decoded(arena_, value)) return invalid_body("the form has a % that two hex digits don't follow");
        const std::string_view arena(arena_);
        add(JsonKind::string, arena.substr(name_start, value_start - name_start), arena.substr(value_start));
    }
    nodes_.front().end = static_cast<std::uint32_t>(nodes_.size());
    return {};
}

Result<std::uint32_t> JsonTape::child(std::uint32_t parent, std::string_view segment) const {
    const JsonNode& node = nodes_[parent];
    if (node.kind == JsonKind::array) {
        std::uint32_t index = 0;
        const auto [rest, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
        const bool canonical = segment == "0" || !segment.starts_with('0');
        if (error != std::errc{} || rest != segment.data() + segment.size() || !canonical) return 0u;
        for (std::uint32_t i = parent + 1; i < node.end; i = nodes_[i].end) {
            if (index-- == 0) return i;
        }
        return 0u;
    }
    std::uint32_t found = 0;
    if (node.kind != JsonKind::object) return found;
    for (std::uint32_t i = parent + 1; i < node.end; i = nodes_[i].end) {
        if (nodes_[i].name_view() != segment) continue;
        if (found != 0) return invalid_body("the body has a member twice that must be there once");
        found = i;
    }
    return found;
}

namespace {
thread_local std::unique_ptr<JsonTape> spare;
constexpr std::size_t kept_bytes = 256 * 1024;
}  // namespace

TapeLease::TapeLease() : tape_(std::move(spare)) {
    if (!tape_) tape_ = std::make_unique<JsonTape>();
}

TapeLease::~TapeLease() {
    if (tape_->footprint() <= kept_bytes) spare = std::move(tape_);
}

bool append_scalar(std::string& out, const JsonNode& node, const DecimalLimits& limits) {
    switch (node.kind) {
        case JsonKind::string:
        case JsonKind::boolean: out.append(node.text_view()); return true;
        case JsonKind::number: return append_decimal(out, node.text_view(), limits);
        case JsonKind::null:
        case JsonKind::array:
        case JsonKind::object: return false;
    }
    return false;
}

}  // namespace nebis::identify
