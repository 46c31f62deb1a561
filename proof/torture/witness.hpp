// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nebis::torture {

struct OrderRow {
    std::string note;
    std::uint64_t fencing_token = 0;
};
struct TrailRow {
    std::string trace_id;
    proof::RowChange change;
};

/// The database itself, asked with its own client: its orders, and a trail of every committed write to the record
/// table, kept by triggers. **Errors**: all throw. **Threads**: one at a time.
class Witness {
public:
    virtual ~Witness() = default;
    struct Testimony {
        std::vector<OrderRow> orders;
        std::vector<TrailRow> trail;  ///< of each row in the order of its commits
    };
    /// What came since the last time, in one view: neither part is ahead of the other.
    virtual Testimony read() = 0;
    /// Rows that still say PROCESSING.
    virtual std::int64_t in_progress() = 0;
};

/// The tables must be there. These lay the trail.
std::unique_ptr<Witness> sqlite_witness(const std::string& file);
std::unique_ptr<Witness> postgres_witness(const std::string& address);
std::unique_ptr<Witness> mysql_witness(const std::string& address);

/// What a row holds that the checker looks at, in this order.
inline constexpr const char* witnessed[] = {"status",      "version",      "owner", "lease_expire_time",
                                            "expire_time", "response_body"};

/// `old_status, …, new_response_body`.
inline std::string trail_columns() {
    std::string all;
    for (const std::string age : {"old_", "new_"})
        for (const std::string column : witnessed) all.append(all.empty() ? "" : ", ").append(age + column);
    return all;
}

}  // namespace nebis::torture
