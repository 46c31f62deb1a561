// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"
#include "scripts.hpp"

#include <algorithm>
#include <utility>

namespace nebis::redis::records {
namespace {

/// Of a lease or retention: beyond it sums of times would leave what Lua counts exactly.
constexpr std::int64_t longest_span = 1'000'000'000'000'000;
/// A final row that clean-up didn't fetch goes by itself, a day after its retention.
constexpr std::int64_t grace = 86'400'000;
std::string span_of(std::int64_t millis) { return std::to_string(std::clamp<std::int64_t>(millis, 0, longest_span)); }
std::string bytes_of(const Owner& owner) { return std::string(identify::as_text(owner.bytes)); }
std::string bytes_of(const RequestHash& hash) {
    std::string out(1, static_cast<char>(hash.scheme));
    return out.append(identify::as_text(hash.digest));
}
std::string flag(bool on) { return on ? "1" : "0"; }
std::string number_of(RecordStatus status) { return std::to_string(static_cast<int>(status)); }

}  // namespace

Call begin_call(const Names& names, const BeginRequest& one) {
    const std::string member = member_of(one.trace_id);
    const std::size_t bucket = bucket_of(member);
    return {&Scripts::all().begin,
            {names.row(member), names.leases(bucket), names.expiries(bucket), names.floor(bucket)},
            {member, std::string(one.trace_id), std::string(one.operation), bytes_of(one.owner),
             bytes_of(one.request_hash), number_of(one.status), span_of(one.lease_millis),
             span_of(one.retention_millis), span_of(one.unknown_retention_millis),
             flag(one.take_over_lease) + flag(one.take_over_unknown) + flag(one.lapse), std::to_string(one.not_after),
             std::string(one.instance), std::string(one.request_snapshot), std::to_string(grace)}};
}

Call finish_call(const Names& names, const FinishRequest& one) {
    const std::string member = member_of(one.trace_id);
    const std::size_t bucket = bucket_of(member);
    return {&Scripts::all().finish,
            {names.row(member), names.leases(bucket), names.expiries(bucket)},
            {member, std::string(one.trace_id), std::to_string(one.version), bytes_of(one.owner), number_of(one.status),
             flag(one.from_processing) + flag(one.from_unknown) + flag(one.from_marked), span_of(one.retention_millis),
             std::string(one.outcome_ref), one.new_owner ? bytes_of(*one.new_owner) : std::string(),
             std::to_string(grace), one.response ? runtime::encode_response(*one.response) : std::string()}};
}

Call renew_call(const Names& names, const RenewRequest& one) {
    const std::string member = member_of(one.trace_id);
    return {&Scripts::all().renew,
            {names.row(member), names.leases(bucket_of(member))},
            {member, std::string(one.trace_id), std::to_string(one.version), bytes_of(one.owner),
             span_of(one.lease_millis), flag(one.ask)}};
}

Call find_call(const Names& names, std::string_view member) { return {&Scripts::all().find, {names.row(member)}, {}}; }

Call purge_call(const Names& names, std::string_view trace_id, std::uint64_t version) {
    const std::string member = member_of(trace_id);
    const std::size_t bucket = bucket_of(member);
    return {&Scripts::all().purge,
            {names.row(member), names.leases(bucket), names.expiries(bucket)},
            {member, std::to_string(version)}};
}

Call lapse_call(const Names& names, const std::string& member, const RecoverRequest& request) {
    return {&Scripts::all().lapse,
            {names.row(member), names.leases(bucket_of(member))},
            {member, span_of(request.min_age_millis), std::string(request.own_instance)}};
}

Call clean_call(const Names& names, const std::string& member) {
    return {&Scripts::all().clean, {names.row(member), names.expiries(bucket_of(member))}, {member}};
}

Call due_call(std::string index, std::size_t pass_over, std::size_t limit) {
    return {&Scripts::all().due, {std::move(index)}, {std::to_string(pass_over), std::to_string(limit)}};
}

Call rule_call(const Names& names, std::string_view operation, std::string_view digest, bool accept) {
    return {&Scripts::all().rule, {names.rule(operation)}, {std::string(digest), flag(accept)}};
}

Call now_call(const Names& names) { return {&Scripts::all().now, {names.floor(0)}, {}}; }

Call probe_call(const Names& names, std::size_t bucket) { return {&Scripts::all().probe, {names.probe(bucket)}, {}}; }

}  // namespace nebis::redis::records
