// SPDX-License-Identifier: Apache-2.0
#include "config/names.hpp"
#include "config/table.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

/// Texts of the configuration to typed fields, and back.
namespace nebis::config {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t hour_millis = 3'600'000;

bool is_number(Kind kind) {
    return kind == Kind::count || kind == Kind::bytes || kind == Kind::millis || kind == Kind::hours;
}

std::string_view unit_of(Kind kind) {
    switch (kind) {
        case Kind::bytes: return "bytes";
        case Kind::millis: return "milliseconds";
        case Kind::hours: return "hours";
        default: return "";
    }
}

std::string range_text(const Row& row) { return std::to_string(row.min) + " to " + std::to_string(row.max); }

std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 80;  // an error line stays a line
    return "'" + std::string(text.substr(0, shown)) + (text.size() > shown ? "…'" : "'");
}

std::string must_be(const Row& row) {
    std::string text = "write a whole number";
    if (is_number(row.kind) && !unit_of(row.kind).empty()) text += " of " + std::string(unit_of(row.kind));
    return text + " from " + range_text(row);
}

std::optional<Complaint> read_number(const Row& row, std::string_view text, std::int64_t& number) {
    const auto digits = text.substr(text.starts_with("-") ? 1 : 0);
    const bool all_digits = !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (!all_digits) {
        const bool unit_behind =
            !text.empty() && text[0] >= '0' && text[0] <= '9' &&
            text.find_first_not_of("0123456789 abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                std::string_view::npos &&
            !text.starts_with("0x") && !text.starts_with("0o") && !text.starts_with("0b");
        auto hint = must_be(row);
        if (unit_behind) hint += "; the unit stands in the key, not in the value";
        return Complaint{quoted(text) + " is no whole number", hint};
    }
    if (digits.size() > 1 && digits[0] == '0') {
        return Complaint{quoted(text) + " begins with 0, which some readers take for octal",
                         "write it without leading zeros"};
    }
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault == std::errc::result_out_of_range || number < row.min || number > row.max) {
        const bool low = text.starts_with("-") || (fault == std::errc{} && number < row.min);
        return Complaint{quoted(text) + (low ? " is too low" : " is too high"), must_be(row)};
    }
    return std::nullopt;
}

std::optional<Complaint> check_text(const Row& row, std::string_view text) {
    const auto size = static_cast<std::int64_t>(text.size());
    const bool measured = row.kind != Kind::list;  // min and max of a list count its items
    if (measured && size < row.min) {
        if (size == 0) return Complaint{"is empty", "leave the key out to have the default"};
        return Complaint{"is too short: " + std::to_string(size) + " bytes",
                         "at least " + std::to_string(row.min) + " are needed"};
    }
    if (measured && row.max > 0 && size > row.max) {
        return Complaint{"is too long: " + std::to_string(size) + " bytes",
                         "at most " + std::to_string(row.max) + " are allowed"};
    }
    if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
        return Complaint{"holds control characters", "use printable text"};
    }
    if (row.check && !(text.empty() && row.min == 0)) {
        if (auto complaint = row.check(text)) {
            if (row.kind != Kind::secret) complaint->what = quoted(text) + " " + complaint->what;
            return complaint;
        }
    }
    return std::nullopt;
}

KeyRule make_rule(KeyRule::Kind kind, const Value& value) {
    switch (kind) {
        case KeyRule::Kind::automatic: return value.items[0] == "automatic" ? KeyRule{} : all_parameters();
        case KeyRule::Kind::fields: return fields(value.items);
        case KeyRule::Kind::token: {
            std::string header;
            std::vector<std::string> pointers;
            for (const auto& item : value.items) {
                if (item.starts_with("/")) {
                    pointers.push_back(item);
                } else {
                    header = item;
                }
            }
            return {kind, std::move(header), std::move(pointers)};
        }
        default: return {kind, value.items[0]};
    }
}

Value value_of_rule(const KeyRule& rule, KeyRule::Kind kind) {
    if (kind == KeyRule::Kind::automatic && rule.kind() == KeyRule::Kind::all_parameters) return "all-parameters";
    if (rule.kind() != kind || kind == KeyRule::Kind::automatic) return {};
    if (kind == KeyRule::Kind::fields) return rule.fields();
    if (kind != KeyRule::Kind::token) return rule.text();
    std::vector<std::string> items;
    if (!rule.text().empty()) items.push_back(rule.text());
    items.insert(items.end(), rule.fields().begin(), rule.fields().end());
    return items;
}

// One overload for each kind of field: store a checked value.
struct Store {
    const Row& row;
    const Target& target;
    const Value& value;
    std::int64_t number;

    milliseconds duration() const { return milliseconds{row.kind == Kind::hours ? number * hour_millis : number}; }

    void operator()(bool* field) const { *field = value.items[0] == "true"; }
    void operator()(unsigned char* field) const {
        *field = static_cast<unsigned char>(std::ranges::find(row.choices, value.items[0]) - row.choices.begin());
    }
    void operator()(std::size_t* field) const { *field = static_cast<std::size_t>(number); }
    void operator()(std::optional<std::size_t>* field) const { *field = static_cast<std::size_t>(number); }
    void operator()(milliseconds* field) const { *field = duration(); }
    void operator()(std::optional<milliseconds>* field) const { *field = duration(); }
    void operator()(std::string* field) const { *field = value.items[0]; }
    void operator()(std::vector<std::string>* field) const { *field = value.items; }
    void operator()(const KeyField& field) const {
        *field.rule = make_rule(field.kind, value);
        target.operation.key_generator = nullptr;  // the later layer's rule wins over an object given in code
    }
};

// And read it back. A value in milliseconds that isn't whole hours is not shown by the key in hours.
struct Read {
    const Row& row;

    Value duration(milliseconds value) const {
        if (row.kind != Kind::hours) return std::to_string(value.count());
        if (value.count() % hour_millis != 0) return {};
        return std::to_string(value.count() / hour_millis);
    }

    Value operator()(const bool* field) const { return *field ? "true" : "false"; }
    Value operator()(const unsigned char* field) const { return std::string(row.choices[*field]); }
    Value operator()(const std::size_t* field) const { return std::to_string(*field); }
    Value operator()(const std::optional<std::size_t>* field) const {
        return *field ? Value(std::to_string(**field)) : Value();
    }
    Value operator()(const milliseconds* field) const { return duration(*field); }
    Value operator()(const std::optional<milliseconds>* field) const { return *field ? duration(**field) : Value(); }
    Value operator()(const std::string* field) const { return field->empty() ? Value() : Value(*field); }
    Value operator()(const std::vector<std::string>* field) const { return *field; }
    Value operator()(const KeyField& field) const { return value_of_rule(*field.rule, field.kind); }
};

std::optional<Complaint> check_shape(const Row& row, const Value& value) {
    const bool list = row.kind == Kind::list;
    if (list != value.list) {
        if (list) return Complaint{"must be a list", "write [" + (value.items.empty() ? "" : value.items[0]) + "]"};
        return Complaint{"must be one value, not a list", "expected: " + type_text(row)};
    }
    if (!list && value.items.size() != 1) return Complaint{"has no value", "expected: " + type_text(row)};
    if (!list) return std::nullopt;
    const auto count = static_cast<std::int64_t>(value.items.size());
    if (count < row.min || count > row.max) {
        return Complaint{"has " + std::to_string(count) + " items", range_text(row) + " are allowed"};
    }
    for (auto item = value.items.begin(); item != value.items.end(); ++item) {
        if (std::find(value.items.begin(), item, *item) != item)
            return Complaint{quoted(*item) + " stands twice in the list", "drop one"};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Complaint> assign(const Row& row, Target target, const Value& value) {
    if (auto complaint = check_shape(row, value)) return complaint;
    std::int64_t number = 0;
    for (const auto& item : value.items) {
        if (is_number(row.kind)) {
            if (auto complaint = read_number(row, item, number)) return complaint;
        } else if (row.kind == Kind::flag) {
            if (item != "true" && item != "false")
                return Complaint{quoted(item) + " is neither true nor false", "write true or false"};
        } else if (row.kind == Kind::choice) {
            if (std::ranges::find(row.choices, item) == row.choices.end()) {
                auto hint = "one of: " + type_text(row);
                if (const auto near = nearest(item, row.choices))
                    hint = "did you mean '" + std::string(*near) + "'? " + hint;
                return Complaint{quoted(item) + " is not known here", hint};
            }
        } else if (auto complaint = check_text(row, item)) {
            return complaint;
        }
    }
    std::visit(Store{row, target, value, number}, row.field(target));
    return std::nullopt;
}

Value value_of(const Row& row, Target target) { return std::visit(Read{row}, row.field(target)); }

std::string type_text(const Row& row) {
    switch (row.kind) {
        case Kind::flag: return "true or false";
        case Kind::text: return "text";
        case Kind::secret: return "text, secret";
        case Kind::list: return "list of texts";
        case Kind::choice: {
            std::string text;
            for (const auto choice : row.choices) text += (text.empty() ? "" : ", ") + std::string(choice);
            return text;
        }
        default: break;
    }
    const auto unit = unit_of(row.kind);
    return (unit.empty() ? std::string("number") : std::string(unit)) + ", " + range_text(row);
}

}  // namespace nebis::config
