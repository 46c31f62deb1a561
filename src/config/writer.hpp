// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fault.hpp"
#include "config/load.hpp"
#include "config/table.hpp"
#include "config/yaml.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// From three sources (file, environment, flags) to one set of values by path.
namespace nebis::config {

/// The table as a tree: what may stand under what.
struct Slot {
    std::map<std::string, std::unique_ptr<Slot>, std::less<>> children;
    std::unique_ptr<Slot> named;  ///< under any name the user chooses
    const Row* row = nullptr;     ///< a value
    bool driver = false;          ///< takes the keys of a driver too

    std::vector<std::string_view> names() const;
};

/// The tree below nebis.idempotent.
const Slot& slots();

enum class Source : std::uint8_t { file, environment, flag };

/// One value that was written.
struct Written {
    const Row* row = nullptr;       ///< null: a driver's own key
    std::vector<std::string> path;  ///< below nebis.idempotent
    Value value;
    Location at;
    Source source = Source::file;
    bool quoted = false;  ///< the text begins one column behind `at`
};

/// Collects what was written. A higher source replaces what a lower one said; two spellings of one value in the same
/// source are a fault.
class Writer {
public:
    explicit Writer(std::vector<Fault>& faults) : faults_(faults) {}

    void read_file(const Node& root);
    void read_environment(const std::map<std::string, std::string>& environment);
    void read_sets(const std::vector<std::string>& sets);

    const std::map<std::string, Written>& all() const noexcept { return all_; }

private:
    void walk(const Node& node, const Slot& slot, std::vector<std::string>& path);
    void member(const Node& key, const Node& value, const Slot& slot, std::vector<std::string>& path);
    void leaf(const Node& node, const Row* row, const std::vector<std::string>& path);
    void unknown(const Node& key, const Slot& slot, const std::vector<std::string>& path);
    bool good_name(const std::vector<std::string>& path, const std::string& name, const Location& at);
    std::optional<std::string> known_name(const std::vector<std::string>& path, std::string_view part) const;
    void text(const Row* row, std::vector<std::string> path, const std::string& text, Location at, Source source);
    void add(Written written);
    void blame(Location at, std::string what, std::string hint) {
        faults_.push_back({std::move(at), std::move(what), std::move(hint)});
    }

    std::vector<Fault>& faults_;
    std::map<std::string, Written> all_;  // by dotted path
};

/// Parts with dots between them.
std::string dotted(const std::vector<std::string>& path);

}  // namespace nebis::config
