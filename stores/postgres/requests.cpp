// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include "runtime/snapshot.hpp"

#include <utility>

namespace nebis::postgres {

using runtime::BeginVerdict;
using runtime::RowHead;

Result<BeginOutcome> refused(const Rows& rows, int row, const RowHead& head, BeginVerdict verdict, StoreMillis now) {
    BeginOutcome out = runtime::refused_begin(head, verdict, now);
    if (out.kind != BeginOutcome::Kind::in_progress && out.kind != BeginOutcome::Kind::mismatch) {
        auto record = read_record(rows, row, record_column, now);
        if (!record) return std::move(record).error();
        out.record = *std::move(record);
    }
    return out;
}

Params new_rows(std::span<const BeginRequest> in) {
    Array keys(bytea_type), operations(text_type), status(int8_type), owners(bytea_type), hashes(bytea_type),
        leases(int8_type), retentions(int8_type), not_after(int8_type), instances(text_type), bodies(bytea_type);
    for (const auto& one : in) {
        keys.add(one.trace_id);
        operations.add(one.operation);
        status.add(std::int64_t{static_cast<int>(one.status)});
        owners.add(bytes_of(one.owner));
        hashes.add(stored(one.request_hash));
        leases.add(one.lease_millis);
        retentions.add(one.retention_millis);
        not_after.add(one.not_after);
        instances.add(one.instance);
        bodies.add(one.request_snapshot);
    }
    Params params;
    for (Array* column :
         {&keys, &operations, &status, &owners, &hashes, &leases, &retentions, &not_after, &instances, &bodies})
        params.add(std::move(*column));
    return params;
}

Params rewritten_rows(std::span<const RewriteRequest> in) {
    Array keys(bytea_type), versions(int8_type), owners(bytea_type), statuses(int8_type), times(int8_type),
        requests(bytea_type), responses(bytea_type);
    for (const RewriteRequest& one : in) {
        const Record& seen = *one.seen;
        keys.add(seen.trace_id);
        versions.add(to_signed(seen.version));
        owners.add(bytes_of(seen.owner));
        statuses.add(static_cast<std::int64_t>(seen.status));
        times.add(seen.update_time);
        requests.add(one.request_body);
        one.response ? responses.add(runtime::encode_response(*one.response)) : responses.add_null();
    }
    Params params;
    for (Array* const array : {&keys, &versions, &owners, &statuses, &times, &requests, &responses})
        params.add(std::move(*array));
    return params;
}

Params finished_rows(std::span<const FinishRequest> in) {
    const auto bit = [](RecordStatus status, bool set) {
        return set ? std::int64_t{1} << static_cast<int>(status) : std::int64_t{0};
    };
    Array keys(bytea_type), versions(int8_type), owners(bytea_type), froms(int8_type), status(int8_type),
        responses(bytea_type), retentions(int8_type), new_owners(bytea_type), references(text_type);
    for (const auto& one : in) {
        keys.add(one.trace_id);
        versions.add(to_signed(one.version));
        owners.add(bytes_of(one.owner));
        froms.add(bit(RecordStatus::processing, one.from_processing) | bit(RecordStatus::unknown, one.from_unknown) |
                  bit(RecordStatus::marked, one.from_marked));
        status.add(std::int64_t{static_cast<int>(one.status)});
        one.response ? responses.add(runtime::encode_response(*one.response)) : responses.add_null();
        retentions.add(one.retention_millis);
        new_owners.add(bytes_of(one.new_owner ? *one.new_owner : one.owner));
        references.add(one.outcome_ref);
    }
    Params params;
    for (Array* column :
         {&keys, &versions, &owners, &froms, &status, &responses, &retentions, &new_owners, &references})
        params.add(std::move(*column));
    return params;
}

}  // namespace nebis::postgres
