// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/settings.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The one table of settings (D7). Loader, environment names, `--set`, `config show`, reference page and JSON schema
/// are all read from it.
namespace nebis::config {

enum class Kind : std::uint8_t { flag, count, bytes, millis, hours, text, choice, list, secret };

/// A key rule is one value written under several keys, one for each kind of rule.
struct KeyField {
    KeyRule* rule;
    KeyRule::Kind kind;
};

/// Where a row's value lives. `unsigned char*` is an enum whose enumerators stand in the order of the row's choices.
using Field =
    std::variant<bool*, unsigned char*, std::size_t*, std::optional<std::size_t>*, std::chrono::milliseconds*,
                 std::optional<std::chrono::milliseconds>*, std::string*, std::vector<std::string>*, KeyField>;

/// What an accessor picks its field from; `name` is what `<name>` stands for in the row's path.
struct Target {
    Settings& settings;
    OperationSettings& operation;
    std::string_view name;
};

/// What is wrong with a value, and what to do about it.
struct Complaint {
    std::string what;
    std::string hint = {};
    std::size_t offset = 0;  ///< bytes into the value where the trouble begins
};

struct Row {
    std::string_view path;  ///< below nebis.idempotent, dotted; `<name>` is chosen by the user
    Field (*field)(Target&) = nullptr;
    Kind kind = Kind::text;
    bool operation = false;  ///< may stand under `operations.<name>` too
    std::int64_t min = 0;    ///< numbers: of the value as written; texts: of the length
    std::int64_t max = 0;
    std::vector<std::string_view> choices{};
    std::optional<Complaint> (*check)(std::string_view) = nullptr;  ///< each text or item
    std::string_view alternative{};  ///< keys of one group stand for the same value: only one of them may be written
    bool reload = false;             ///< may change while requests are in flight
    bool fleet = false;              ///< all instances that share a store must agree
    std::string_view unset{};        ///< what an absent value means, where no default can be shown
    std::string_view about{};
    std::string_view too_low{};
    std::string_view too_high{};
};

/// Every row, in the order of the reference page.
std::span<const Row> table();

/// The row of a path below nebis.idempotent, written as in the table ("datasources.<name>.driver"). Null: there is
/// none.
const Row* find_row(std::string_view path);

/// Check and store a value.
std::optional<Complaint> assign(const Row& row, Target target, const Value& value);

/// The value as the configuration would spell it; empty when there is none.
Value value_of(const Row& row, Target target);

/// "milliseconds, 10 … 60000".
std::string type_text(const Row& row);

/// A value as one line of YAML; secrets are masked.
std::string yaml_text(const Row& row, const Value& value);

}  // namespace nebis::config
