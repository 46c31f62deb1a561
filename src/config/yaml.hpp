// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fault.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The YAML that a configuration may be written in: maps, lists and scalars. Anchors, aliases, merge keys, tags,
/// several documents, repeated keys and tabs in the indentation are refused, since each of them says something else
/// than a reader sees.
namespace nebis::config {

struct Node {
    enum class Kind : std::uint8_t { nothing, scalar, list, map };

    Kind kind = Kind::nothing;
    Location at;
    std::string text;         ///< scalar
    bool quoted = false;      ///< scalar: in quotes or a block, so surely meant as text
    std::vector<Node> items;  ///< list
    struct Member;
    std::vector<Member> members;  ///< map, in order; keys are scalars, each once
};

struct Node::Member {
    Node first;   ///< key
    Node second;  ///< value
};

constexpr std::size_t largest_file = 1024 * 1024;
constexpr std::size_t deepest_nesting = 16;

/// The document's root; adds what is wrong to `faults` and reads on as far as it can. An empty document is a Node of
/// kind `nothing`.
Node read_yaml(std::string_view text, const std::string& name, std::vector<Fault>& faults);

}  // namespace nebis::config
