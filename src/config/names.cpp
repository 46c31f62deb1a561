// SPDX-License-Identifier: Apache-2.0
#include "config/names.hpp"

#include "config/table.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <regex>
#include <vector>

namespace nebis::config {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string folded(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '_' ? '-' : lower(c);
    return out;
}

// "lockExpireMillis" → "lock-expire-millis"
std::string kebab(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c >= 'A' && c <= 'Z' && !out.empty() && out.back() != '-') out += '-';
        out += c == '_' ? '-' : lower(c);
    }
    return out;
}

std::string without_unit(std::string_view text) {
    for (const std::string_view unit : {"-millis", "-hours", "-seconds", "-minutes", "-ms", "-bytes", "-days"}) {
        if (text.ends_with(unit)) return std::string(text.substr(0, text.size() - unit.size()));
    }
    return std::string(text);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    // Damerau-Levenshtein, the restricted form: three rows are enough.
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

std::optional<std::string_view> nearest(std::string_view name, std::span<const std::string_view> candidates) {
    constexpr std::size_t longest = 128;  // beyond that nobody mistyped a key
    if (name.empty() || name.size() > longest) return std::nullopt;
    for (const auto candidate : candidates) {
        if (kebab(name) == candidate || folded(name) == folded(candidate)) return candidate;
    }
    const auto stem = without_unit(folded(name));
    for (const auto candidate : candidates) {
        if (without_unit(candidate) == stem) return candidate;
    }
    std::optional<std::string_view> best;
    std::size_t fewest = 0;
    for (const auto candidate : candidates) {
        const auto edits = edit_distance(folded(name), folded(candidate));
        const auto allowed = std::max<std::size_t>(1, candidate.size() / 3);
        if (edits <= allowed && (!best || edits < fewest)) {
            best = candidate;
            fewest = edits;
        }
    }
    return best;
}

std::string environment_part(std::string_view part) {
    std::string out;
    for (const char c : part) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        out += letter ? static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c) : digit ? c : '_';
    }
    return out;
}

std::string environment_name(std::string_view path) {
    std::string out = "NEBIS__IDEMPOTENT";
    for (std::size_t from = 0; from <= path.size();) {
        const auto to = std::min(path.find('.', from), path.size());
        const auto part = path.substr(from, to - from);
        out += "__" + (part.starts_with("<") ? std::string(part) : environment_part(part));
        from = to + 1;
    }
    return out;
}

bool reads_as_other_type(std::string_view plain) {
    static constexpr std::array<std::string_view, 10> words{"true", "false", "yes", "no",   "on",
                                                            "off",  "null",  "~",   ".inf", ".nan"};
    if (std::ranges::find(words, folded(plain)) != words.end()) return true;
    // Octal, hexadecimal, binary, digit groups; numbers with point or exponent; sexagesimal numbers; dates. Plain
    // decimal numbers are left out: their digits are the text.
    static const std::regex numbers(
        "[-+]?(0[0-9_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|[0-9]+_[0-9_]*|[0-9_]*\\.[0-9_]+([eE][-+]?[0-9]+)?|[0-9_]+"
        "\\.|[0-9]+[eE][-+]?[0-9]+"
        "|[0-9][0-9_]*(:[0-5]?[0-9])+)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*");
    return plain.size() < 64 && std::regex_match(plain.begin(), plain.end(), numbers);
}

std::string yaml_scalar(std::string_view text) {
    const bool plain = !text.empty() && !reads_as_other_type(text) &&
                       std::ranges::all_of(text,
                                           [](char c) {
                                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                                      (c >= '0' && c <= '9') ||
                                                      std::string_view("._/-").find(c) != std::string_view::npos;
                                           }) &&
                       text[0] != '-' && text[0] != '.';
    if (plain) return std::string(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string yaml_text(const Row& row, const Value& value) {
    if (row.kind == Kind::secret) return "\"********\"";
    if (!value.list && value.items.empty()) return "";
    if (row.kind == Kind::flag || row.kind == Kind::choice) return value.items[0];
    if (!value.list) return yaml_scalar(value.items[0]);
    std::string out = "[";
    for (const auto& item : value.items) out += (out.size() > 1 ? ", " : "") + yaml_scalar(item);
    return out + "]";
}

}  // namespace nebis::config
