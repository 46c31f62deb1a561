// SPDX-License-Identifier: Apache-2.0
#include "runtime/operation_state.hpp"

#include <algorithm>
#include <utility>

namespace nebis::runtime {
namespace {

constexpr protocol::Millis longest_margin = 500;

/// The process counts a lease as over this much before the store does: a tenth of it, half a second at most.
protocol::Millis margin_of(protocol::Millis lease) {
    return std::max<protocol::Millis>(1, std::min(longest_margin, lease / 10));
}

protocol::Rules rules_of(const config::OperationSettings& settings, bool gate) {
    protocol::Rules rules;
    rules.mode = settings.mode;
    rules.claim_inside = settings.mode == Mode::atomic && settings.claim == Claim::inside;
    rules.gate = gate;
    rules.fail_open = settings.fail_open;
    rules.allow_unprotected = settings.on_store_failure == OnStoreFailure::allow;
    rules.wait_for_answer = settings.on_duplicate == OnDuplicate::wait;
    rules.refuse_finished = settings.on_finished == OnFinished::refuse;
    // `hooked`: the coordinator is who knows, so it is asked.
    const bool coordinated = settings.mode == Mode::hooked;
    rules.on_unknown = coordinated ? OnUnknown::ask : settings.on_unknown;
    rules.resolver = coordinated || settings.outcome_resolver.object != nullptr;
    rules.lease = settings.lease.count();
    rules.margin = margin_of(rules.lease);
    rules.wait = settings.wait.count();
    rules.begin_budget = settings.budget.count();
    rules.enter_budget = std::min<protocol::Millis>(250, std::max<protocol::Millis>(1, settings.budget.count() / 4));
    rules.finish_budget = settings.budget.count();
    rules.retention = settings.retention.count();
    return rules;
}

protocol::LeaseBook::Terms terms_of(const config::OperationSettings& settings) {
    protocol::LeaseBook::Terms terms;
    terms.lease = settings.lease.count();
    terms.interval = settings.renew_interval.count();
    terms.max = std::max(settings.lease_max, settings.lease).count();
    terms.margin = margin_of(terms.lease);
    terms.renew = settings.renew;
    return terms;
}

std::string header_of(const KeyRule& key) {
    switch (key.kind()) {
        case KeyRule::Kind::header: return key.text();
        case KeyRule::Kind::token: return key.text();
        case KeyRule::Kind::automatic: return key.text().empty() ? "Idempotency-Key" : key.text();
        default: return {};
    }
}

}  // namespace

OperationState::OperationState(config::OperationSettings with, identify::Identifier who, identify::NoiseFilter hides,
                               std::shared_ptr<StoreLine> to, std::shared_ptr<ChangeWatch> seen,
                               std::shared_ptr<GateLine> through, observe::OperationMetrics& counted)
    : settings(std::move(with)),
      name(std::make_shared<const std::string>(settings.operation)),
      identifier(std::move(who)),
      redact(std::move(hides)),
      store(std::move(to)),
      changes(std::move(seen)),
      gate(std::move(through)),
      rules(rules_of(settings, gate != nullptr)),
      terms(terms_of(settings)),
      key_header(settings.key_generator ? std::string() : header_of(settings.key)),
      warnings(identifier.warnings()),
      metrics(counted) {}

}  // namespace nebis::runtime
