// SPDX-License-Identifier: Apache-2.0
// What stands in front of a flood of new keys: a filter that spares the gate (S30), a quota for each caller (S59).
// Neither says whether a request may run: that is the begin's to say, always.
#include "observe/mark.hpp"
#include "runtime/call.hpp"

namespace nebis::runtime {
namespace {

CallerQuota::Terms terms_of(const config::OperationSettings& settings) {
    return {settings.quota_new_keys, settings.quota_window};
}

}  // namespace

protocol::Event Call::first_event() {
    Event first = event(Event::Kind::start, false);
    first.over_quota = !take_new_key();
    SeenKeys& seen = services_->seen_keys;
    // A gate in this very process answers as fast as the filter.
    if (first.over_quota || !seen.on() || !operation_->rules.gate_is_optional() || operation_->gate->direct())
        return first;
    first.unseen = !seen.meet(key());
    operation_->metrics.filter[first.unseen ? observe::FilterDecision::skipped : observe::FilterDecision::asked].add();
    return first;
}

/// True where there is no quota, too.
bool Call::take_new_key() {
    const auto terms = terms_of(operation_->settings);
    if (terms.keys == 0) return true;
    caller_ = CallerQuota::caller(*operation_->name, request_->tenant, request_->principal);
    quota_wait_ = services_->quota.take(*caller_, terms, now_);
    key_taken_ = quota_wait_.count() == 0;
    return key_taken_;
}

/// What became of the key: a record of its own (`made`), or it was there before, or nothing came of it.
void Call::key_is(bool made) {
    if (!caller_ || key_counted_ || (!made && !key_taken_)) return;
    const auto terms = terms_of(operation_->settings);
    if (!made) {
        services_->quota.give_back(*caller_, terms);
    } else {
        if (!key_taken_) {
            NEBIS_MARK("a key became new between the look and the begin");
            services_->quota.count(*caller_, terms, now_);
        }
        key_counted_ = true;
        operation_->metrics.quota[observe::QuotaDecision::counted].add();
    }
    key_taken_ = false;
}

void Call::count_over_quota(protocol::Verdict verdict) {
    if (quota_wait_.count() == 0 || verdict == protocol::Verdict::unavailable) return;
    const bool refused = verdict == protocol::Verdict::over_quota;
    operation_->metrics.quota[refused ? observe::QuotaDecision::refused : observe::QuotaDecision::known].add();
}

}  // namespace nebis::runtime
