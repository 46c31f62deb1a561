// SPDX-License-Identifier: Apache-2.0
#include "runtime/extensions.hpp"

#include "config/fault.hpp"
#include "config/names.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nebis::runtime {
namespace {

/// Looks names of one operation up, and keeps what it didn't find.
class LookUp {
public:
    LookUp(const config::Settings& all, const std::string& operation) : all_(all), operation_(operation) {}

    template <class Map>
    typename Map::mapped_type find(const std::string& name, const Map& registered, const std::string& key) {
        const auto place = registered.find(name);
        if (place != registered.end() && place->second) return place->second;
        std::vector<std::string_view> names;
        std::string list;
        for (const auto& [known, object] : registered) {
            if (!object) continue;
            names.push_back(known);
            list += (list.empty() ? "" : ", ") + known;
        }
        const auto near = config::nearest(name, names);
        faults_.push_back({config::place_of(all_, operation_, key),
                           key + ": '" + name + "' isn't registered (operation '" + operation_ + "')",
                           (near ? "did you mean '" + std::string(*near) + "'? " : std::string()) + "registered are: " +
                               (list.empty() ? "none" : list) + "; put it into Drivers before the engine is opened"});
        return nullptr;
    }

    template <class T, class Map>
    void fill(config::Extension<T>& extension, const Map& registered, const std::string& key) {
        if (!extension.object && !extension.name.empty()) extension.object = find(extension.name, registered, key);
    }

    Result<void> verdict() const {
        if (!faults_.empty()) return config::to_error(faults_);
        return {};
    }

private:
    const config::Settings& all_;
    const std::string& operation_;
    std::vector<config::Fault> faults_;
};

}  // namespace

Result<void> find_extensions(const config::Settings& all, config::OperationSettings& settings, const Drivers& drivers) {
    LookUp names(all, settings.operation);
    names.fill(settings.response_producer, drivers.response_producers, "response-producer");
    names.fill(settings.exception_classifier, drivers.exception_classifiers, "exception-classifier");
    names.fill(settings.outcome_resolver, drivers.outcome_resolvers, "outcome-resolver");
    names.fill(settings.transaction_hooks, drivers.transaction_hooks, "transaction-hooks");
    names.fill(settings.redactor, drivers.redactors, "redactor");
    return names.verdict();
}

Result<std::shared_ptr<const KeyGenerator>> find_generator(const config::Settings& all,
                                                           const config::OperationSettings& settings,
                                                           const Drivers& drivers) {
    if (settings.key_generator || settings.key.kind() != KeyRule::Kind::generator) return settings.key_generator;
    LookUp names(all, settings.operation);
    auto found = names.find(settings.key.text(), drivers.key_generators, "key-generator");
    if (auto all_found = names.verdict(); !all_found) return std::move(all_found).error();
    return found;
}

}  // namespace nebis::runtime
