// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"
#include "config/names.hpp"
#include "config/table.hpp"
#include "config/writer.hpp"

#include <algorithm>
#include <set>

namespace nebis::config {
namespace {

struct Line {
    std::vector<std::string> path;
    std::string text;
    std::string origin;
};

// A URL's password, and whatever a driver calls one.
bool looks_secret(std::string_view key, std::string_view value) {
    for (const std::string_view word : {"password", "secret", "passwd"}) {
        if (key.find(word) != std::string_view::npos) return true;
    }
    const auto scheme = value.find("://");
    return scheme != std::string_view::npos && value.find('@', scheme) != std::string_view::npos;
}

class Describer {
public:
    explicit Describer(const Settings& settings) : shown_(settings), where_(settings.where) {}

    std::vector<Line> lines() && {
        for (const auto& row : table()) {
            if (row.path.find("<name>") == std::string_view::npos) {
                add(row, std::string(row.path), {});
            } else {
                for (const auto& name : names_of(row.path)) add(row, with_name(row.path, name), name);
            }
        }
        for (const auto& [name, source] : shown_.data_sources)
            driver_values("datasources." + name, {"datasources", name}, source);
        driver_values("lock", {"lock"}, shown_.lock);
        for (const auto& [name, overrides] : shown_.operations) {
            for (const auto& [key, value] : overrides) {
                std::vector<std::string> path{"operations", name};
                for (auto& part : parts(key)) path.push_back(std::move(part));
                lines_.push_back(
                    {std::move(path), yaml_text(*find_row(key), value), origin("operations." + name + "." + key, key)});
            }
        }
        return std::move(lines_);
    }

private:
    static std::vector<std::string> parts(std::string_view path) {
        std::vector<std::string> out;
        for (std::size_t from = 0; from <= path.size();) {
            const auto to = std::min(path.find('.', from), path.size());
            out.emplace_back(path.substr(from, to - from));
            from = to + 1;
        }
        return out;
    }

    static std::string with_name(std::string_view path, const std::string& name) {
        std::string out(path);
        return out.replace(out.find("<name>"), 6, name);
    }

    std::vector<std::string> names_of(std::string_view path) const {
        std::vector<std::string> names;
        const auto collect = [&](const auto& map) {
            for (const auto& [name, value] : map) names.push_back(name);
        };
        if (path.starts_with("datasources.")) collect(shown_.data_sources);
        if (path.starts_with("token.keys.")) collect(shown_.token.keys);
        if (path.starts_with("seal.keys.")) collect(shown_.seal.keys);
        if (path.starts_with("messages.overrides.")) collect(shown_.messages.overrides);
        return names;
    }

    void add(const Row& row, const std::string& path, const std::string& name) {
        const auto value = value_of(row, {shown_, shown_.defaults, name});
        if (value.items.empty() && !value.list) return;
        if (!row.alternative.empty()) {
            // Of several spellings of one value: the one that was written, else the first that can say it.
            const auto group = std::string(row.alternative) + " " + name;
            const bool written_otherwise = std::ranges::any_of(table(), [&](const Row& other) {
                return other.alternative == row.alternative && &other != &row &&
                       where_.contains(name.empty() ? std::string(other.path) : with_name(other.path, name));
            });
            if (written_otherwise || !said_.insert(group).second) return;
        }
        std::vector<std::string> line_path = name.empty() ? parts(path) : std::vector<std::string>{};
        if (!name.empty()) {
            for (auto& part : parts(row.path)) line_path.push_back(part == "<name>" ? name : std::move(part));
        }
        lines_.push_back({std::move(line_path), yaml_text(row, value), origin(path, row.path)});
    }

    void driver_values(const std::string& section, const std::vector<std::string>& path, const DataSource& source) {
        for (const auto& [key, value] : source.values) {
            if (key == "create-schema") continue;  // shown as a row of the table
            auto line_path = path;
            line_path.push_back(key);
            const bool secret = shown_.secrets.contains(section + "." + key) || looks_secret(key, value);
            lines_.push_back(
                {std::move(line_path), secret ? "\"********\"" : yaml_scalar(value), origin(section + "." + key, {})});
        }
    }

    std::string origin(const std::string& path, std::string_view key) const {
        if (const auto written = where_.find(path); written != where_.end()) return written->second.text();
        const auto profile = shown_.defaults.profile;
        if (profile == Profile::article && profile_values(profile).contains(key)) return "profile article";
        return "default";
    }

    Settings shown_;  // a copy, since accessors want to write
    const std::map<std::string, Location, std::less<>>& where_;
    std::set<std::string> said_;
    std::vector<Line> lines_;
};

}  // namespace

std::string describe(const Settings& settings, bool origins) {
    auto lines = Describer(settings).lines();
    // Keys of one section stand together; sections in the order in which they first appear.
    std::map<std::string, std::size_t> order;
    for (const auto& line : lines) {
        std::string prefix;
        for (const auto& part : line.path) {
            prefix += part + '\n';
            order.emplace(prefix, order.size());
        }
    }
    std::ranges::stable_sort(lines, [&](const Line& a, const Line& b) {
        std::string prefix_a, prefix_b;
        for (std::size_t i = 0; i < std::min(a.path.size(), b.path.size()); ++i) {
            prefix_a += a.path[i] + '\n';
            prefix_b += b.path[i] + '\n';
            if (a.path[i] != b.path[i]) return order.at(prefix_a) < order.at(prefix_b);
        }
        return a.path.size() < b.path.size();
    });
    std::string out = "nebis:\n  idempotent:\n";
    std::vector<std::string> open;
    for (const auto& line : lines) {
        std::size_t common = 0;
        while (common < open.size() && common + 1 < line.path.size() && open[common] == line.path[common]) ++common;
        open.assign(line.path.begin(), line.path.end() - 1);
        for (std::size_t i = common; i < open.size(); ++i)
            out += std::string(4 + 2 * i, ' ') + yaml_scalar(open[i]) + ":\n";
        out += std::string(4 + 2 * open.size(), ' ') + line.path.back() + ": " + line.text;
        if (origins) out += "  # " + line.origin;
        out += '\n';
    }
    return out;
}

std::string setting_text(const Settings& settings, std::string_view path) {
    const Row* row = find_row(path);
    if (!row || row->kind == Kind::secret || path.find('<') != std::string_view::npos) return {};
    Settings copy = settings;  // accessors want to write
    std::string out;
    for (const auto& item : value_of(*row, {copy, copy.defaults, {}}).items) out += (out.empty() ? "" : ", ") + item;
    return out;
}

}  // namespace nebis::config
