// SPDX-License-Identifier: Apache-2.0
#include "config/writer.hpp"

#include "config/checks.hpp"
#include "config/names.hpp"
#include "observe/messages.hpp"

#include <algorithm>

namespace nebis::config {
namespace {

constexpr std::string_view root_prefix = "nebis.idempotent.";
constexpr std::string_view environment_prefix = "NEBIS__IDEMPOTENT__";

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    for (;;) {
        const auto at = text.find(separator);
        parts.emplace_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + separator.size());
    }
}

Slot& child(Slot& slot, std::string_view part) {
    auto& place = part.starts_with("<") ? slot.named : slot.children[std::string(part)];
    if (!place) place = std::make_unique<Slot>();
    return *place;
}

void plant(Slot& root, std::string_view path, const Row& row) {
    Slot* slot = &root;
    for (const auto& part : split(path, ".")) slot = &child(*slot, part);
    slot->row = &row;
}

std::string shown(std::string_view text) { return "'" + std::string(text.substr(0, 80)) + "'"; }

// A row that stands elsewhere under the same last part.
std::optional<std::string_view> same_key_elsewhere(std::string_view key) {
    for (const auto& row : table()) {
        if (row.path.ends_with(key) && row.path.size() > key.size() &&
            row.path[row.path.size() - key.size() - 1] == '.')
            return row.path;
    }
    return std::nullopt;
}

std::string as_kebab(std::string_view environment_part) {
    std::string out;
    for (const char c : environment_part)
        out += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

// "[a, b]" or "a,b", as people type lists into a shell.
std::vector<std::string> list_of(std::string_view text) {
    const auto trim = [](std::string_view t) {
        const auto from = t.find_first_not_of(" \t");
        if (from == std::string_view::npos) return std::string_view{};
        return t.substr(from, t.find_last_not_of(" \t") - from + 1);
    };
    text = trim(text);
    if (text.starts_with("[") && text.ends_with("]") && text.size() >= 2) text = trim(text.substr(1, text.size() - 2));
    std::vector<std::string> items;
    if (text.empty()) return items;
    for (const auto& item : split(text, ",")) items.emplace_back(trim(item));
    return items;
}

// Numbers and flags, which quotes would make a text.
bool is_plain(const Row* row) {
    return row && row->kind != Kind::text && row->kind != Kind::secret && row->kind != Kind::list &&
           row->kind != Kind::choice;
}

// A text that some reader takes for a number, flag or date.
bool means_another_type(const Node& scalar, const Row* row) {
    if (scalar.quoted || is_plain(row) || !reads_as_other_type(scalar.text)) return false;
    if (row) return row->kind != Kind::choice || std::ranges::find(row->choices, scalar.text) == row->choices.end();
    return scalar.text != "true" && scalar.text != "false";  // a driver's flag is a flag, whichever driver it is
}

}  // namespace

std::string dotted(const std::vector<std::string>& path) {
    std::string out;
    for (const auto& part : path) out += (out.empty() ? "" : ".") + part;
    return out;
}

std::vector<std::string_view> Slot::names() const {
    std::vector<std::string_view> out;
    for (const auto& [name, slot] : children) out.push_back(name);
    return out;
}

const Slot& slots() {
    static const std::unique_ptr<Slot> root = [] {
        auto made = std::make_unique<Slot>();
        for (const auto& row : table()) {
            plant(*made, row.path, row);
            if (row.operation) plant(*made, "operations.<name>." + std::string(row.path), row);
        }
        made->children["datasources"]->named->driver = true;
        made->children["lock"]->driver = true;
        return made;
    }();
    return *root;
}

// ---- the file

void Writer::read_file(const Node& root) {
    if (root.kind == Node::Kind::nothing) return;
    if (root.kind != Node::Kind::map)
        return blame(root.at, "a configuration is a map of keys", "begin with nebis: and idempotent: below it");
    for (const auto& [key, value] : root.members) {
        if (key.text == "forgeadmin") {
            blame(key.at, "'forgeadmin' is the original component's name",
                  "write nebis: in its place; the keys below it are the same");
        } else if (key.text != "nebis") {
            const bool known = slots().children.contains(key.text);
            blame(key.at, "unknown key " + shown(key.text),
                  known ? "it belongs under nebis: and idempotent:" : "the only key here is 'nebis'");
        } else if (value.kind == Node::Kind::map) {
            for (const auto& [inner, settings] : value.members) {
                if (inner.text != "idempotent") {
                    blame(inner.at, "unknown key " + shown(inner.text), "the only key under nebis: is 'idempotent'");
                } else {
                    std::vector<std::string> path;
                    walk(settings, slots(), path);
                }
            }
        } else if (value.kind != Node::Kind::nothing) {
            blame(value.at, "'nebis' must be a map of keys", "write idempotent: below it");
        }
    }
}

void Writer::walk(const Node& node, const Slot& slot, std::vector<std::string>& path) {
    if (node.kind == Node::Kind::nothing) return;
    if (node.kind != Node::Kind::map) {
        return blame(node.at,
                     shown(path.empty() ? "idempotent" : dotted(path)) + " must be a map of keys, not one value",
                     "write its keys below it, indented");
    }
    for (const auto& [key, value] : node.members) {
        if (key.kind == Node::Kind::scalar && !(key.text == "<<" && !key.quoted)) member(key, value, slot, path);
    }
}

void Writer::member(const Node& key, const Node& value, const Slot& slot, std::vector<std::string>& path) {
    const auto found = slot.children.find(key.text);
    const Slot* next = found != slot.children.end() ? found->second.get() : slot.named.get();
    if (!next && !slot.driver) return unknown(key, slot, path);
    if (next && found == slot.children.end() && !good_name(path, key.text, key.at)) return;
    path.push_back(key.text);
    if (next && !next->row) {
        walk(value, *next, path);
    } else if (value.kind == Node::Kind::nothing) {
        blame(key.at, shown(dotted(path)) + " has no value", "leave the key out to have the default");
    } else {
        leaf(value, next ? next->row : nullptr, path);
    }
    path.pop_back();
}

void Writer::leaf(const Node& node, const Row* row, const std::vector<std::string>& path) {
    const auto name = shown(dotted(path));
    const auto unclear = [&](const Node& scalar) {
        if (!means_another_type(scalar, row)) return false;
        // A driver's own key may hold a password, so its value isn't shown.
        const bool show = row && row->kind != Kind::secret;
        blame(scalar.at,
              "the value of " + name + (show ? ", " + scalar.text + "," : "") + " is not a text to every YAML reader",
              row && row->kind == Kind::choice ? "one of: " + type_text(*row) : "put it in double quotes");
        return true;
    };
    switch (node.kind) {
        case Node::Kind::nothing: return;
        case Node::Kind::map:
            return blame(node.at, name + " must be one value, not a map",
                         row ? "expected: " + type_text(*row) : "write key: value");
        case Node::Kind::scalar: {
            if (node.quoted && is_plain(row))
                return blame(node.at, name + " is in quotes, which makes it a text", "write it without quotes");
            if (unclear(node)) return;
            return add({row, path, Value(node.text), node.at, Source::file, node.quoted});
        }
        case Node::Kind::list: break;
    }
    std::vector<std::string> items;
    for (const auto& item : node.items) {
        if (item.kind != Node::Kind::scalar)
            return blame(item.at, "the items of " + name + " must be texts",
                         "expected: " + (row ? type_text(*row) : "text"));
        if (unclear(item)) return;
        items.push_back(item.text);
    }
    add({row, path, Value(std::move(items)), node.at, Source::file});
}

void Writer::unknown(const Node& key, const Slot& slot, const std::vector<std::string>& path) {
    const auto names = slot.names();
    std::string hint;
    if (const auto elsewhere = same_key_elsewhere(key.text)) {
        hint = "there is '" + std::string(*elsewhere) + "'";
    } else if (const auto near = nearest(key.text, names)) {
        hint = "did you mean '" + std::string(*near) + "'?";
    } else if (path.size() == 2 && path[0] == "operations" && slots().children.contains(key.text)) {
        hint = "it holds for the whole instance, not for one operation";
    } else {
        hint = "docs/configuration.md lists every key";
    }
    blame(key.at, "unknown key " + shown(key.text) + (path.empty() ? "" : " under " + shown(dotted(path))), hint);
}

bool Writer::good_name(const std::vector<std::string>& path, const std::string& name, const Location& at) {
    const auto section = dotted(path);
    std::optional<Complaint> complaint;
    if (section == "operations") {
        complaint = check_operation_name(name);
    } else if (section == "messages.overrides") {
        if (!observe::message_of(name)) {
            std::vector<std::string_view> ids;
            for (const auto& row : observe::message_table()) ids.push_back(row.id);
            const auto near = nearest(name, ids);
            complaint = Complaint{"is no message", near ? "did you mean '" + std::string(*near) + "'?"
                                                        : "docs/configuration.md lists their ids"};
        }
    } else if (section == "token.keys" || section == "seal.keys") {
        complaint = check_plain_name(name);
        if (!complaint && (name.size() > 16 || name.find('.') != std::string::npos))
            complaint = Complaint{"is no key id", ""};
        if (complaint) complaint->hint = "use 1 to 16 letters, digits, _ and -";
    } else {
        complaint = check_plain_name(name);
    }
    if (complaint) blame(at, shown(name) + " " + complaint->what, complaint->hint);
    return !complaint;
}

// ---- environment and flags

// A name that the file gave (or that every configuration has), spelled as the environment spells it.
std::optional<std::string> Writer::known_name(const std::vector<std::string>& path, std::string_view part) const {
    std::vector<std::string> names;
    if (dotted(path) == "datasources") names.emplace_back("primary");
    if (dotted(path) == "messages.overrides") {
        for (const auto& row : observe::message_table()) names.emplace_back(row.id);
    }
    for (const auto& [text, written] : all_) {
        if (written.path.size() > path.size() && std::equal(path.begin(), path.end(), written.path.begin()))
            names.push_back(written.path[path.size()]);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (std::ranges::find(names, part) != names.end()) return std::string(part);
    std::erase_if(names, [&](const std::string& name) { return environment_part(name) != environment_part(part); });
    if (names.size() == 1) return names[0];
    if (names.empty()) return std::string(part);
    return std::nullopt;
}

void Writer::read_environment(const std::map<std::string, std::string>& environment) {
    for (const auto& [variable, value] : environment) {
        if (!variable.starts_with("NEBIS__")) continue;
        const Location at{.source = "environment variable " + variable.substr(0, 200)};
        const Slot* slot = &slots();
        std::vector<std::string> path;
        bool understood = variable.starts_with(environment_prefix) && variable.size() > environment_prefix.size();
        bool ambiguous = false;
        for (const auto& part : understood ? split(std::string_view(variable).substr(environment_prefix.size()), "__")
                                           : std::vector<std::string>{}) {
            const auto next = std::ranges::find_if(
                slot->children, [&](const auto& c) { return environment_part(c.first) == environment_part(part); });
            if (next != slot->children.end()) {
                path.push_back(next->first);
                slot = next->second.get();
            } else if (slot->named && !part.empty()) {
                const auto name = known_name(path, part);
                ambiguous = !name;
                if (!name || !good_name(path, *name, at)) {
                    slot = nullptr;
                    break;
                }
                path.push_back(*name);
                slot = slot->named.get();
            } else if (slot->driver && !part.empty()) {
                path.push_back(as_kebab(part));
                static const Slot drivers_key;
                slot = &drivers_key;
            } else {
                understood = false;
                break;
            }
        }
        if (ambiguous) {
            blame(at, "several names are spelled like this",
                  "write the name in its own spelling, with lower case where it has lower case");
        } else if (!understood || (slot && !slot->row && (!slot->children.empty() || slot->named))) {
            std::vector<std::string> names;
            for (const auto& row : table()) names.push_back(environment_name(row.path));
            const std::vector<std::string_view> views(names.begin(), names.end());
            const auto near = nearest(variable, views);
            blame(at, "no setting has this name",
                  near ? "did you mean " + std::string(*near) + "?" : "docs/configuration.md lists every name");
        } else if (slot) {
            text(slot->row, std::move(path), value, at, Source::environment);
        }
    }
}

namespace {

// The path that a flag means. Names may hold dots themselves, so every split is tried; the longest key wins.
bool match(const Slot& slot, std::string_view rest, std::vector<std::string>& path, const Row*& row) {
    for (auto dot = rest.find('.');; dot = rest.find('.', dot + 1)) {
        const auto part = rest.substr(0, dot);
        const auto behind = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
        const auto found = slot.children.find(part);
        const Slot* next = found != slot.children.end() ? found->second.get() : slot.named.get();
        path.emplace_back(part);
        if (next && behind.empty() && next->row) {
            row = next->row;
            return true;
        }
        if (next && !behind.empty() && match(*next, behind, path, row)) return true;
        if (!next && slot.driver && behind.empty() && !part.empty()) {
            row = nullptr;
            return true;
        }
        path.pop_back();
        if (dot == std::string_view::npos) return false;
    }
}

}  // namespace

void Writer::read_sets(const std::vector<std::string>& sets) {
    for (const auto& set : sets) {
        const auto equals = set.find('=');
        std::string_view name = std::string_view(set).substr(0, equals);
        const Location at{.source = "--set " + std::string(name.substr(0, 200))};
        if (equals == std::string::npos) {
            blame(at, "a setting needs a value", "write --set lock-expire-millis=5000");
            continue;
        }
        if (name.starts_with(root_prefix)) name.remove_prefix(root_prefix.size());
        std::vector<std::string> path;
        const Row* row = nullptr;
        if (name.empty() || !match(slots(), name, path, row)) {
            std::vector<std::string_view> names;
            for (const auto& known : table()) names.push_back(known.path);
            const auto near = nearest(name, names);
            blame(at, "no setting has this name",
                  near ? "did you mean '" + std::string(*near) + "'?" : "docs/configuration.md lists every name");
            continue;
        }
        bool good = true;
        std::vector<std::string> before;
        const Slot* slot = &slots();
        for (const auto& part : path) {
            const auto found = slot->children.find(part);
            if (found == slot->children.end() && slot->named) good = good && good_name(before, part, at);
            slot = found != slot->children.end() ? found->second.get() : slot->named.get();
            before.push_back(part);
            if (!slot) break;
        }
        if (good) text(row, std::move(path), set.substr(equals + 1), at, Source::flag);
    }
}

void Writer::text(const Row* row, std::vector<std::string> path, const std::string& text, Location at, Source source) {
    Value value = row && row->kind == Kind::list ? Value(list_of(text)) : Value(text);
    add({row, std::move(path), std::move(value), std::move(at), source});
}

void Writer::add(Written written) {
    auto path = dotted(written.path);
    if (written.row && !written.row->alternative.empty()) {
        for (auto other = all_.begin(); other != all_.end();) {
            const auto& [other_path, there] = *other;
            const bool same_value = there.row && there.row != written.row &&
                                    there.row->alternative == written.row->alternative &&
                                    there.path.size() == written.path.size() &&
                                    std::equal(there.path.begin(), there.path.end() - 1, written.path.begin());
            if (same_value && there.source == written.source) {
                blame(written.at, shown(path) + " and " + shown(other_path) + " say the same thing twice",
                      "keep one of them; the other stands at " + there.at.text());
            }
            other = same_value && there.source < written.source ? all_.erase(other) : std::next(other);
        }
    }
    all_.insert_or_assign(std::move(path), std::move(written));
}

}  // namespace nebis::config
