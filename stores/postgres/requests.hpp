// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec.hpp"
#include "nebis/rewrite.hpp"
#include "runtime/row_rules.hpp"

#include <span>

/// Requests as parameters of the statements, and what a begin answers: what a batch and an `atomic` transaction share.
namespace nebis::postgres {

/// Where a record stands in the rows of `lock`, `find` and `recover`: behind its number and the clock.
inline constexpr int number_column = 0, now_column = 1, record_column = 2;

template <class Number>
std::int64_t to_signed(Number number) {
    return static_cast<std::int64_t>(number);
}

/// The row stays whose it is. With its record where the verdict needs one.
Result<BeginOutcome> refused(const Rows& rows, int row, const runtime::RowHead& head, runtime::BeginVerdict verdict,
                             StoreMillis now);

Params new_rows(std::span<const BeginRequest> in);
Params finished_rows(std::span<const FinishRequest> in);
Params rewritten_rows(std::span<const RewriteRequest> in);

/// The rows that a take-over writes.
class Taking {
public:
    void add(const BeginRequest& request, const runtime::RowHead& found, const runtime::RowHead& row) {
        keys_.add(request.trace_id);
        operations_.add(request.operation);
        status_.add(std::int64_t{static_cast<int>(row.status)});
        versions_.add(to_signed(row.version));
        owners_.add(bytes_of(row.owner));
        attempts_.add(std::int64_t{row.attempts});
        hashes_.add(stored(row.request_hash));
        leases_.add(row.lease_expire_time);
        retentions_.add(row.expire_time);
        now_.add(row.update_time);
        instances_.add(request.instance);
        bodies_.add(request.request_snapshot);
        old_versions_.add(to_signed(found.version));
        old_owners_.add(bytes_of(found.owner));
    }
    Params params() {
        Params params;
        for (Array* column : {&keys_, &operations_, &status_, &versions_, &owners_, &attempts_, &hashes_, &leases_,
                              &retentions_, &now_, &instances_, &bodies_, &old_versions_, &old_owners_})
            params.add(std::move(*column));
        return params;
    }

private:
    Array keys_{bytea_type}, operations_{text_type}, status_{int8_type}, versions_{int8_type}, owners_{bytea_type},
        attempts_{int8_type}, hashes_{bytea_type}, leases_{int8_type}, retentions_{int8_type}, now_{int8_type},
        instances_{text_type}, bodies_{bytea_type}, old_versions_{int8_type}, old_owners_{bytea_type};
};

}  // namespace nebis::postgres
