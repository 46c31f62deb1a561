// SPDX-License-Identifier: Apache-2.0
#include "config/contradictions.hpp"

#include "config/names.hpp"

#include <algorithm>
#include <array>

namespace nebis::config {
namespace {

using Found = std::vector<Contradiction>;

std::string millis(std::chrono::milliseconds value) { return std::to_string(value.count()) + " ms"; }

bool has_lease(const OperationSettings& op) { return op.mode != Mode::mark; }

std::string_view retention_key(const Checked& c) {
    return c.layer("record-expire-millis") >= c.layer("record-expire-hours") ? "record-expire-millis"
                                                                             : "record-expire-hours";
}

void lease_and_retention(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (!has_lease(op) || op.lease < op.retention) return;
    found.push_back({{retention_key(c), "lock-expire-millis"},
                     {"the retention (" + millis(op.retention) +
                          ") must be longer than the lease (lock-expire-millis, " + millis(op.lease) + ")",
                      "make lock-expire-millis smaller or record-expire-hours greater"}});
}

// C53: a retry that comes when its record is forgotten runs a second time.
void retention_and_retries(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (!op.longest_retry || op.retention > *op.longest_retry) return;
    found.push_back({{"longest-retry-millis", retention_key(c)},
                     {"retries may come after " + millis(*op.longest_retry) + ", but the retention is " +
                          millis(op.retention) + ": a late one would run a second time",
                      "make " + std::string(retention_key(c)) + " greater"}});
}

// A general value bends to a more specific lease (see resolve); what was written for this very lease must fit it.
bool meant_for_this_lease(const Checked& c, std::string_view key) {
    return c.layer(key) != Layer::built_in && c.layer(key) >= c.layer("lock-expire-millis");
}

void renewal(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (!has_lease(op) || !op.renew) return;
    if (meant_for_this_lease(c, "lock-renew.renew-interval-millis") && op.renew_interval >= op.lease) {
        found.push_back({{"lock-renew.renew-interval-millis", "lock-expire-millis"},
                         {"the renewal interval (" + millis(op.renew_interval) +
                              ") must be shorter than the lease (lock-expire-millis, " + millis(op.lease) + ")",
                          "a third of the lease is right: " + millis(op.lease / 3)}});
    }
    if (meant_for_this_lease(c, "lock-renew.max-expire-millis") && op.lease_max < op.lease) {
        found.push_back({{"lock-renew.max-expire-millis", "lock-expire-millis"},
                         {"the longest life of an attempt (" + millis(op.lease_max) +
                              ") is shorter than its first lease (lock-expire-millis, " + millis(op.lease) + ")",
                          "make it greater, or set lock-renew.enabled: false"}});
    }
}

void budget(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (!has_lease(op) || op.budget < op.lease || !meant_for_this_lease(c, "budget-millis")) return;
    found.push_back({{"budget-millis", "lock-expire-millis"},
                     {"the time budget (" + millis(op.budget) +
                          ") must be shorter than the lease (lock-expire-millis, " + millis(op.lease) + ")",
                      "half of the lease is plenty: " + millis(op.lease / 2)}});
}

void effect(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (op.claim == Claim::inside && op.mode != Mode::atomic && c.layer("claim") > Layer::general) {
        found.push_back({{"claim", "mode"},
                         {"'claim: inside' needs 'mode: atomic'",
                          "the record can only be inserted inside the handler's transaction when Nebis owns it"}});
    }
    if (op.mode == Mode::mark && op.on_duplicate == OnDuplicate::wait) {
        found.push_back({{"duplicate-handler", "mode"},
                         {"'duplicate-handler: wait' makes no sense with 'mode: mark'",
                          "a mark keeps no answer to wait for: use throw or return"}});
    }
}

void extensions(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (!c.whole) return;
    // `hooked` asks its coordinator.
    if (op.on_unknown == OnUnknown::ask && op.mode != Mode::hooked && !op.outcome_resolver.given()) {
        found.push_back({{"on-unknown"},
                         {"'on-unknown: ask' needs an outcome resolver",
                          "name one with outcome-resolver, or give one in the policy"}});
    }
    if (op.mode == Mode::hooked && !op.transaction_hooks.given()) {
        found.push_back({{"mode"},
                         {"'mode: hooked' needs transaction hooks",
                          "name them with transaction-hooks, or give them in the policy"}});
    }
}

void exception_lists(const Checked& c, Found& found) {
    const auto& op = c.operation;
    if (op.profile == Profile::strict && op.on_unknown != OnUnknown::retry) {
        for (const auto& type : op.retryable_exceptions) {
            if (!leaves_outcome_open(type)) continue;
            found.push_back({{"retryable-exceptions"},
                             {"'" + type + "' leaves open whether the effect happened, so it can't be retryable",
                              "list it under unknown-exceptions, or accept running twice with on-unknown: retry"}});
        }
    }
    struct List {
        std::string_view key;
        const std::vector<std::string>& types;
    };
    const std::array lists{List{"retryable-exceptions", op.retryable_exceptions},
                           List{"final-exceptions", op.final_exceptions},
                           List{"unknown-exceptions", op.unknown_exceptions}};
    for (std::size_t a = 0; a < lists.size(); ++a) {
        for (std::size_t b = a + 1; b < lists.size(); ++b) {
            for (const auto& type : lists[a].types) {
                if (std::ranges::find(lists[b].types, type) == lists[b].types.end()) continue;
                found.push_back(
                    {{lists[a].key, lists[b].key},
                     {"'" + type + "' stands in " + std::string(lists[a].key) + " and in " + std::string(lists[b].key),
                      "keep it in the list that tells the truth about it"}});
            }
        }
    }
}

void tokens(const Checked& c, Found& found) {
    const auto& op = c.operation;
    const auto& token = c.settings.token;
    const bool must = !op.key_generator && op.key.kind() == KeyRule::Kind::token;
    const bool may = !op.key_generator && op.key.kind() == KeyRule::Kind::automatic;
    if (must && token.keys.empty()) {
        found.push_back(
            {{"key-from-token"}, {"one-time tokens need a signing key", "set token.keys.<id>.secret-file"}});
    }
    if ((must || may) && !token.keys.empty() && token.lifetime >= op.retention) {
        found.push_back({{"token.lifetime-millis", retention_key(c)},
                         {"one-time tokens (token.lifetime-millis, " + millis(token.lifetime) +
                              ") would outlive the record that remembers them (" + millis(op.retention) +
                              ") and could be spent twice",
                          "make token.lifetime-millis smaller or the retention greater"}});
    }
}

void data_source(const Checked& c, Found& found) {
    const auto& sources = c.settings.data_sources;
    if (sources.empty() || sources.contains(c.operation.data_source)) return;
    std::vector<std::string_view> names;
    std::string list;
    for (const auto& [name, source] : sources) {
        names.push_back(name);
        list += (list.empty() ? "" : ", ") + name;
    }
    const auto near = nearest(c.operation.data_source, names);
    found.push_back(
        {{"datasource-name"},
         {"there is no data source '" + c.operation.data_source + "'",
          (near ? "did you mean '" + std::string(*near) + "'? " : std::string()) + "datasources has: " + list}});
}

}  // namespace

bool leaves_outcome_open(std::string_view exception_type) {
    // By the words people use in such names. A miss costs nothing in `strict`: an exception that no list names is
    // UNKNOWN there.
    static constexpr std::array<std::string_view, 15> words{
        "timeout", "timedout",  "deadline", "connect",      "disconnect",
        "network", "remote",    "socket",   "unreachable",  "brokenpipe",
        "reset",   "transport", "rpc",      "system_error", "ios_base::failure"};
    std::string flat;
    std::string lowered;
    for (const char c : exception_type) {
        const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        lowered += low;
        if (low != '_') flat += low;
    }
    return std::ranges::any_of(words, [&](std::string_view word) {
        return flat.find(word) != std::string::npos || lowered.find(word) != std::string::npos;
    });
}

std::vector<Contradiction> contradictions(const Checked& checked) {
    Found found;
    for (const auto check : {lease_and_retention, retention_and_retries, renewal, budget, effect, extensions,
                             exception_lists, tokens, data_source})
        check(checked, found);
    return found;
}

}  // namespace nebis::config
