// SPDX-License-Identifier: Apache-2.0
#include "identify/key_parts.hpp"

#include "identify/text.hpp"

#include <algorithm>
#include <bitset>

namespace nebis::identify {
namespace {

constexpr char framed_mark = '~';

/// Could other pieces give the same plain text?
bool is_ambiguous(const std::vector<KeyPart>& parts, std::string_view further) {
    std::bitset<256> reserved;
    const auto reserve = [&reserved](std::string_view text) {
        for (const char c : text) reserved.set(static_cast<unsigned char>(c));
    };
    reserve(further);
    std::string between;  // fixed text since the last taken piece
    bool taken_before = false;
    for (const KeyPart& part : parts) {
        if (part.fixed) {
            between += part.text;
            continue;
        }
        if (taken_before) {
            if (between.empty()) return true;
            reserve(between);
        }
        between.clear();
        taken_before = true;
    }
    return std::any_of(parts.begin(), parts.end(), [&reserved](const KeyPart& part) {
        return !part.fixed && std::any_of(part.text.begin(), part.text.end(),
                                          [&reserved](char c) { return reserved.test(static_cast<unsigned char>(c)); });
    });
}

}  // namespace

Result<std::string> join_key(const std::vector<KeyPart>& parts, std::string_view further) {
    bool taken = false;
    std::string key;
    for (const KeyPart& part : parts) {
        if (!part.fixed && trim(part.text).empty()) {
            return Error(ErrorKind::rejected_input, "a part of the idempotency key is blank").with_code("key-missing");
        }
        taken = taken || !part.fixed;
        key += part.text;
        if (key.size() > max_key_bytes) {
            return Error(ErrorKind::rejected_input,
                         "the idempotency key is longer than " + std::to_string(max_key_bytes) + " bytes")
                .with_code("key-invalid");
        }
    }
    if (!taken)
        return Error(ErrorKind::rejected_input, "nothing of the request went into the idempotency key")
            .with_code("key-missing");
    if (!key.starts_with(framed_mark) && !is_ambiguous(parts, further)) return key;

    std::string framed(1, framed_mark);
    for (const KeyPart& part : parts) {
        framed += std::to_string(part.text.size());
        framed += part.fixed ? '=' : ':';
        framed += part.text;
    }
    return framed;
}

}  // namespace nebis::identify
