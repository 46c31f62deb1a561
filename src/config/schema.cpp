// SPDX-License-Identifier: Apache-2.0
#include "config/names.hpp"
#include "config/reference.hpp"
#include "config/writer.hpp"
#include "observe/messages.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <map>

namespace nebis::config {
namespace {

namespace json = boost::json;

// YAML reads digits as a number, so that is what an editor compares.
json::value chosen(std::string_view choice) {
    const bool digits = std::ranges::all_of(choice, [](char c) { return c >= '0' && c <= '9'; });
    if (digits) return std::stoll(std::string(choice));
    return json::string(choice);
}

json::value of_row(const Row& row, Settings& defaults) {
    json::object out;
    out["description"] = json::string(row.about);
    switch (row.kind) {
        case Kind::flag: out["type"] = "boolean"; break;
        case Kind::count:
        case Kind::bytes:
        case Kind::millis:
        case Kind::hours:
            out["type"] = "integer";
            out["minimum"] = row.min;
            out["maximum"] = row.max;
            break;
        case Kind::choice: {
            json::array choices;
            for (const auto choice : row.choices) choices.push_back(chosen(choice));
            out["enum"] = std::move(choices);
            break;
        }
        case Kind::text:
        case Kind::secret:
            out["type"] = "string";
            if (row.min > 0) out["minLength"] = row.min;
            if (row.max > 0) out["maxLength"] = row.max;
            break;
        case Kind::list:
            out["type"] = "array";
            out["items"] = json::object{{"type", "string"}};
            out["uniqueItems"] = true;
            if (row.min > 0) out["minItems"] = row.min;
            out["maxItems"] = row.max;
            break;
    }
    if (row.path.find('<') == std::string_view::npos && row.unset.empty()) {
        const auto value = value_of(row, {defaults, defaults.defaults, {}});
        if (row.kind == Kind::flag) {
            out["default"] = value.items[0] == "true";
        } else if (out.contains("minimum")) {
            out["default"] = std::stoll(value.items[0]);
        } else if (row.kind == Kind::list) {
            out["default"] = json::array(value.items.begin(), value.items.end());
        } else if (!value.items.empty()) {
            out["default"] = row.kind == Kind::choice ? chosen(value.items[0]) : json::string(value.items[0]);
        }
    }
    return out;
}

json::value of_driver_key(const DriverKey& key) {
    json::object out{{"description", json::string(key.about)}};
    switch (key.kind) {
        case DriverKey::Kind::flag: out["type"] = "boolean"; break;
        case DriverKey::Kind::integer:
            out["type"] = "integer";
            out["minimum"] = key.min;
            out["maximum"] = key.max;
            break;
        case DriverKey::Kind::choice: out["enum"] = json::array(key.choices.begin(), key.choices.end()); break;
        case DriverKey::Kind::text:
        case DriverKey::Kind::secret: out["type"] = "string"; break;
    }
    return out;
}

// Keys of all drivers of one kind; which driver takes which is for the loader to say.
void add_driver_keys(json::object& properties,
                     const std::map<std::string, std::vector<DriverKey>, std::less<>>& drivers) {
    for (const auto& [driver, keys] : drivers) {
        for (const auto& key : keys) {
            if (!properties.contains(key.name)) properties[key.name] = of_driver_key(key);
        }
    }
}

class Maker {
public:
    explicit Maker(const Drivers& drivers) : drivers_(drivers) {}

    json::value of_slot(const Slot& slot, const std::string& path) {
        if (slot.row) return of_row(*slot.row, defaults_);
        json::object out{{"type", json::array{"object", "null"}}, {"additionalProperties", false}};
        if (slot.named) {
            out["patternProperties"] = json::object{{name_pattern(path), of_slot(*slot.named, path + "*.")}};
            return out;
        }
        json::object properties;
        for (const auto& [name, child] : slot.children) properties[name] = of_slot(*child, path + name + ".");
        if (slot.driver) add_driver_keys(properties, path == "lock." ? drivers_.gate_keys : drivers_.store_keys);
        out["properties"] = std::move(properties);
        return out;
    }

private:
    static std::string name_pattern(const std::string& path) {
        if (path == "operations.") return "^[A-Za-z0-9._:/{} -]{1,64}$";
        if (path == "token.keys." || path == "seal.keys.") return "^[A-Za-z0-9_-]{1,16}$";
        if (path != "messages.overrides.") return "^[A-Za-z0-9._-]+$";
        std::string ids;
        for (const auto& row : observe::message_table()) ids += (ids.empty() ? "" : "|") + std::string(row.id);
        return "^(" + ids + ")$";
    }

    const Drivers& drivers_;
    Settings defaults_ = default_settings();
};

// Indented, so that a change shows as a change of lines.
void print(std::string& out, const json::value& value, std::size_t depth) {
    const auto indent = [&](std::size_t by) { return "\n" + std::string(2 * by, ' '); };
    const auto* object = value.if_object();
    if (!object || object->empty()) {
        out += json::serialize(value);
        return;
    }
    out += '{';
    bool first = true;
    for (const auto& [key, member] : *object) {
        out += (first ? "" : ",") + indent(depth + 1) + json::serialize(json::string(key)) + ": ";
        print(out, member, depth + 1);
        first = false;
    }
    out += indent(depth) + '}';
}

json::object shell(json::value inner, const char* name) {
    return {{"type", json::array{"object", "null"}},
            {"additionalProperties", false},
            {"properties", json::object{{name, std::move(inner)}}}};
}

}  // namespace

std::string json_schema(const Drivers& drivers) {
    json::object root{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Configuration of Nebis"}};
    for (auto& [key, value] : shell(shell(Maker(drivers).of_slot(slots(), ""), "idempotent"), "nebis"))
        root[key] = value;
    std::string out;
    print(out, root, 0);
    return out + "\n";
}

}  // namespace nebis::config
