// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "identify/limits.hpp"
#include "nebis/error.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nebis::identify {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

/// One value on the tape, named when it is an object's member.
struct JsonNode {
    const char* name = nullptr;  ///< unescaped
    const char* text = nullptr;  ///< string: unescaped; number: as written; boolean: "true" or "false"
    std::uint32_t name_size = 0;
    std::uint32_t text_size = 0;
    std::uint32_t end = 0;  ///< index after the last node inside this one
    JsonKind kind = JsonKind::null;

    std::string_view name_view() const noexcept { return {name, name_size}; }
    std::string_view text_view() const noexcept { return {text, text_size}; }
};

/// A parsed document as one flat array in document order: the first child of node i is i + 1, its next sibling is
/// nodes()[i].end. Names and texts are views: into the body where it needs no unescaping, else into the tape. Both must
/// outlive their use. A tape is meant to be used again and again: then parsing allocates nothing.
class JsonTape {
public:
    /// JSON as RFC 8259 has it: UTF-8 without a byte order mark, no lone surrogates, nothing after the value. Members
    /// may repeat here; who looks at them refuses that.
    /// **Errors**: `rejected_input`, code "body-invalid" or "body-too-large". Never quotes the body.
    Result<void> parse_json(std::string_view body, const HashLimits& limits);

    /// application/x-www-form-urlencoded as an object of strings, in the order sent.
    /// **Errors**: as `parse_json`; a '%' without two hex digits is refused, since parsers disagree about it.
    Result<void> parse_form(std::string_view body, const HashLimits& limits);

    std::span<const JsonNode> nodes() const noexcept { return nodes_; }
    const JsonNode& operator[](std::uint32_t index) const noexcept { return nodes_[index]; }

    /// The member or element of node `parent` with that name or index; 0 when there is none (the root is nobody's
    /// child).
    /// **Errors**: `rejected_input` when an object has the member twice.
    Result<std::uint32_t> child(std::uint32_t parent, std::string_view segment) const;

    /// What it keeps for the next document.
    std::size_t footprint() const noexcept { return nodes_.capacity() * sizeof(JsonNode) + arena_.capacity(); }

private:
    friend struct TapeWriter;
    Result<void> start(std::string_view body, const HashLimits& limits);
    void add(JsonKind kind, std::string_view name, std::string_view text);

    std::vector<JsonNode> nodes_;
    std::string arena_;  ///< unescaped text; reserved before use so that views into it stay
};

/// A tape for the time being, from a per-thread spare. May be nested. A tape that grew large isn't kept for the life of
/// the thread.
class TapeLease {
public:
    TapeLease();
    ~TapeLease();
    TapeLease(const TapeLease&) = delete;
    TapeLease& operator=(const TapeLease&) = delete;

    JsonTape* operator->() const noexcept { return tape_.get(); }
    JsonTape& operator*() const noexcept { return *tape_; }

private:
    std::unique_ptr<JsonTape> tape_;
};

/// A scalar as text: strings as they are, numbers canonical, true and false. False for null, arrays, objects and
/// numbers out of bounds.
bool append_scalar(std::string& out, const JsonNode& node, const DecimalLimits& limits);

}  // namespace nebis::identify
