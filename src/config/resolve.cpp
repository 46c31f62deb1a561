// SPDX-License-Identifier: Apache-2.0
#include "config/checks.hpp"
#include "config/contradictions.hpp"
#include "config/fault.hpp"
#include "config/settings.hpp"
#include "config/table.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace nebis::config {
namespace {

template <class E, std::size_t N>
std::string word(E value, const std::array<const char*, N>& words) {
    return words[static_cast<std::size_t>(value)];
}

std::string flag(bool value) { return value ? "true" : "false"; }
std::string number(std::chrono::milliseconds value) { return std::to_string(value.count()); }

// A policy as if its values had been written under their keys, so that the same rows check them.
Overrides values_of(const Policy& p) {
    Overrides out;
    const auto put = [&out](const char* key, const auto& field, auto to_value) {
        if (field) out.emplace(key, to_value(*field));
    };
    const auto same = [](const auto& value) { return value; };
    const auto size = [](std::size_t value) { return std::to_string(value); };
    put("key-required", p.key_required, flag);
    put("scope", p.scope, [](Scope v) { return word(v, std::array{"caller", "tenant", "public"}); });
    put("mode", p.mode, [](Mode v) { return word(v, std::array{"execute", "atomic", "hooked", "mark"}); });
    put("claim", p.claim, [](Claim v) { return word(v, std::array{"before", "inside"}); });
    put("enforcement", p.enforcement, [](Enforcement v) { return word(v, std::array{"enforce", "observe", "off"}); });
    put("lock-expire-millis", p.lease, number);
    put("lock-renew.max-expire-millis", p.lease_max, number);
    put("lock-renew.enabled", p.renew, flag);
    put("record-expire-millis", p.retention, number);
    put("longest-retry-millis", p.longest_retry, number);
    put("unknown-retention-millis", p.unknown_retention, number);
    put("duplicate-handler", p.on_duplicate, [](OnDuplicate v) {
        return word(v, std::array{"throw", "return", "wait"});
    });
    put("wait-millis", p.wait, number);
    put("on-finished", p.on_finished, [](OnFinished v) { return word(v, std::array{"replay", "refuse"}); });
    put("on-unknown", p.on_unknown, [](OnUnknown v) { return word(v, std::array{"hold", "ask", "retry"}); });
    put("unlisted", p.unlisted, [](Unlisted v) { return word(v, std::array{"unknown", "fail"}); });
    put("on-store-failure", p.on_store_failure, [](OnStoreFailure v) { return word(v, std::array{"deny", "allow"}); });
    put("fail-open", p.fail_open, flag);
    put("retryable-exceptions", p.retryable_exceptions, same);
    put("final-exceptions", p.final_exceptions, same);
    put("unknown-exceptions", p.unknown_exceptions, same);
    put("max-request-bytes", p.max_request_bytes, size);
    put("max-response-bytes", p.max_response_bytes, size);
    put("budget-millis", p.budget, number);
    if (!p.noise.empty()) out.emplace("noise", p.noise);
    return out;
}

Location place_in_code(std::string_view operation) {
    return {.source = "operation '" + std::string(operation.substr(0, 80)) + "'"};
}

// The settings that one operation gets, layer by layer.
class Resolver {
public:
    Resolver(const Settings& settings, const Policy& policy)
        : settings_(settings), policy_(policy), op_(settings.defaults) {
        op_.operation = policy.operation;
        const auto own = settings.operations.find(policy.operation);
        if (own != settings.operations.end()) own_ = &own->second;
    }

    // What is written about this operation and contradicts itself; values that code may still replace are left for
    // `run`.
    std::vector<Fault> check_written() {
        apply_profile();
        apply_own();
        const Checked checked{settings_, op_, [this](std::string_view key) { return layer(key); }, false};
        for (auto& found : contradictions(checked)) {
            const bool written =
                std::ranges::all_of(found.keys, [this](std::string_view key) { return layer(key) != Layer::built_in; });
            const bool own = std::ranges::any_of(
                found.keys, [this](std::string_view key) { return layer(key) == Layer::operation; });
            if (written && own) blame(found.keys.front(), found.complaint.what, found.complaint.hint);
        }
        return std::move(faults_);
    }

    Result<OperationSettings> run() {
        if (auto complaint = check_operation_name(policy_.operation)) {
            blame({}, "'" + policy_.operation.substr(0, 80) + "' " + complaint->what, complaint->hint);
            return to_error(faults_);
        }
        apply_profile();
        apply_policy();
        apply_own();
        if (faults_.empty()) check();
        if (!faults_.empty()) return to_error(faults_);
        bend();
        return std::move(op_);
    }

private:
    // An operation's own profile replaces what the general profile set, but nothing that was written for all
    // operations.
    void apply_profile() {
        if (!own_ || !own_->contains("profile")) return;
        put("profile", own_->at("profile"), Layer::operation);
        if (op_.profile == settings_.defaults.profile) return;
        for (const auto& [key, value] : profile_values(op_.profile)) {
            if (!settings_.where.contains(key)) put(key, value, Layer::built_in);
        }
    }

    void apply_policy() {
        for (const auto& [key, value] : values_of(policy_)) put(key, value, Layer::policy);
        if (policy_.key_generator && policy_.key.kind() != KeyRule::Kind::automatic) {
            blame("key-generator", "the policy gives both a key rule and a key generator", "give one of them");
        }
        if (policy_.key.kind() != KeyRule::Kind::automatic) op_.key = policy_.key;
        op_.key_generator = policy_.key_generator;
        take(op_.response_producer, policy_.response_producer);
        take(op_.exception_classifier, policy_.exception_classifier);
        take(op_.outcome_resolver, policy_.outcome_resolver);
        take(op_.transaction_hooks, policy_.transaction_hooks);
        take(op_.redactor, policy_.redactor);
    }

    void apply_own() {
        if (!own_) return;
        // A name written for this operation wins over an object given in code.
        if (own_->contains("response-producer")) op_.response_producer.object.reset();
        if (own_->contains("exception-classifier")) op_.exception_classifier.object.reset();
        if (own_->contains("outcome-resolver")) op_.outcome_resolver.object.reset();
        if (own_->contains("transaction-hooks")) op_.transaction_hooks.object.reset();
        if (own_->contains("redactor")) op_.redactor.object.reset();
        for (const auto& [key, value] : *own_) put(key, value, Layer::operation);
    }

    template <class T>
    static void take(Extension<T>& extension, const std::shared_ptr<T>& object) {
        if (!object) return;
        extension.name.clear();
        extension.object = object;
    }

    void put(std::string_view key, const Value& value, Layer layer) {
        const Row* row = find_row(key);
        if (!row || !row->operation) {
            blame(key, "'" + std::string(key) + "' is no key of an operation", "see docs/configuration.md");
            return;
        }
        if (layer != Layer::built_in) layers_.insert_or_assign(std::string(key), layer);
        auto noise = key == "noise" ? op_.noise : std::vector<std::string>{};
        // The table's accessors want a Settings to reach into; rows of an operation never do.
        if (auto complaint = assign(*row, {unused_, op_, {}}, value)) {
            blame(key, std::string(key) + ": " + complaint->what, complaint->hint);
        }
        for (auto& more : noise) {
            if (std::ranges::find(op_.noise, more) == op_.noise.end()) op_.noise.push_back(std::move(more));
        }
    }

    Layer layer(std::string_view key) const {
        const auto found = layers_.find(key);
        if (found != layers_.end()) return found->second;
        return settings_.where.contains(key) ? Layer::general : Layer::built_in;
    }

    void check() {
        const Checked checked{settings_, op_, [this](std::string_view key) { return layer(key); }};
        for (auto& found : contradictions(checked))
            blame(found.keys.front(), found.complaint.what, found.complaint.hint);
    }

    // General values that don't fit what was said about this operation more precisely give way.
    void bend() {
        op_.lease_max = std::max(op_.lease_max, op_.lease);
        op_.renew_interval = std::max(std::chrono::milliseconds{1}, std::min(op_.renew_interval, op_.lease / 3));
        if (op_.mode != Mode::mark && op_.budget >= op_.lease) op_.budget = op_.lease / 2;
        if (layer("budget-millis") == Layer::built_in && op_.mode != Mode::mark)
            op_.budget = std::min(op_.budget, op_.lease / 2);
        op_.local_cache = std::min(op_.local_cache, op_.retention);
        if (op_.mode != Mode::atomic) op_.claim = Claim::before;
        if (op_.mode == Mode::atomic && layer("unlisted") == Layer::built_in) op_.unlisted = Unlisted::fail;
        if (!op_.enabled) op_.enforcement = Enforcement::off;
    }

    void blame(std::string_view key, std::string what, std::string hint) {
        // What code says replaces what is written for all operations: that place isn't to blame.
        auto at = layer(key) == Layer::policy ? place_in_code(policy_.operation)
                                              : place_of(settings_, policy_.operation, key);
        if (layer(key) == Layer::general) what += " for operation '" + policy_.operation + "'";
        faults_.push_back({std::move(at), std::move(what), std::move(hint)});
    }

    const Settings& settings_;
    const Policy& policy_;
    const Overrides* own_ = nullptr;
    OperationSettings op_;
    Settings unused_;
    std::map<std::string, Layer, std::less<>> layers_;
    std::vector<Fault> faults_;
};

}  // namespace

const Overrides& profile_values(Profile profile) {
    static const Overrides strict{
        {"on-unknown", "hold"},
        {"unlisted", "unknown"},
        {"lock-renew.enabled", "true"},
        {"fail-open", "true"},
        {"retryable-exceptions", std::vector<std::string>{}},
        {"final-exceptions", std::vector<std::string>{}},
    };
    // The original component's own lists, in the nearest C++ types: remote access and time-out may run again, illegal
    // arguments may not.
    static const Overrides article{
        {"on-unknown", "retry"},
        {"unlisted", "fail"},
        {"lock-renew.enabled", "false"},
        {"fail-open", "false"},
        {"retryable-exceptions", std::vector<std::string>{"std::system_error", "boost::system::system_error"}},
        {"final-exceptions", std::vector<std::string>{"std::invalid_argument"}},
    };
    return profile == Profile::strict ? strict : article;
}

Settings default_settings() {
    Settings settings;
    settings.data_sources.emplace("primary", DataSource{.driver = "sqlite",
                                                        .values = {{"path", "nebis.db"}, {"create-schema", "true"}},
                                                        .create_schema = true});
    return settings;
}

Location place_of(const Settings& settings, std::string_view operation, std::string_view key) {
    const auto own = settings.where.find("operations." + std::string(operation) + "." + std::string(key));
    if (own != settings.where.end()) return own->second;
    const auto general = settings.where.find(key);
    return general != settings.where.end() ? general->second : place_in_code(operation);
}

std::vector<Fault> contradictions_written(const Settings& settings) {
    std::vector<Fault> faults;
    const auto layer = [&](std::string_view key) {
        return settings.where.contains(key) ? Layer::general : Layer::built_in;
    };
    for (auto& found : contradictions({settings, settings.defaults, layer, false})) {
        const auto key =
            std::ranges::find_if(found.keys, [&](std::string_view k) { return settings.where.contains(k); });
        const auto at = key == found.keys.end() ? Location{} : settings.where.find(*key)->second;
        faults.push_back({at, found.complaint.what, found.complaint.hint});
    }
    for (const auto& [name, overrides] : settings.operations) {
        const Policy policy{.operation = name};
        auto more = Resolver(settings, policy).check_written();
        faults.insert(faults.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return faults;
}

Result<OperationSettings> resolve(const Settings& settings, const Policy& policy) {
    return Resolver(settings, policy).run();
}

TokenKeys token_keys(const TokenSettings& token) {
    TokenKeys keys{.current = token.current, .keys = {}};
    for (const auto& [id, secret] : token.keys) keys.keys.push_back({.id = id, .secret = secret.secret});
    if (keys.current.empty() && keys.keys.size() == 1) keys.current = keys.keys[0].id;
    return keys;
}

std::vector<seal::RingKey> seal_keys(const SealSettings& seal) {
    std::vector<seal::RingKey> keys;
    for (const auto& [id, secret] : seal.keys) keys.push_back({.id = id, .secret = secret.secret});
    return keys;
}

}  // namespace nebis::config
