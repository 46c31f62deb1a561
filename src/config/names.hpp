// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Names that people mistype.
namespace nebis::config {

/// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that was probably meant: few edits for its length, or the same words with another unit or order.
std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates);

/// How a path is written as an environment variable: "lock-renew.enabled" is NEBIS__IDEMPOTENT__LOCK_RENEW__ENABLED.
std::string environment_name(std::string_view path);

/// One part of a path as environment names spell it: upper case, everything but letters and digits is `_`.
std::string environment_part(std::string_view part);

/// A text as a YAML scalar: plain where every reader takes it for that very text, else in double quotes.
std::string yaml_scalar(std::string_view text);

/// True when a plain scalar is read as something else than text by some YAML reader (true, yes, null, 012, 1e3 …).
bool reads_as_other_type(std::string_view plain);

}  // namespace nebis::config
