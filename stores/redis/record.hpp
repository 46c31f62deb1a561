// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "redis_client/reply.hpp"

#include <string>
#include <string_view>
#include <vector>

/// What lies in Redis under which name, and rows that can be trusted.
namespace nebis::redis::records {

constexpr std::size_t bucket_count = 256;

/// `<prefix>idempotent:<kind>:{<table>:<bucket>}`: all names of a bucket lie in one slot of a Cluster. A row's bucket
/// is the first byte of its key's SHA-256; no byte of a caller is ever in a name.
class Names {
public:
    Names(std::string prefix, std::string table) : prefix_(std::move(prefix)), table_(std::move(table)) {}

    /// `member`: the SHA-256 of a key in hex, as it stands in the indexes and behind the row's name.
    std::string row(std::string_view member) const;
    std::string leases(std::size_t bucket) const { return name("leases", bucket); }
    std::string expiries(std::size_t bucket) const { return name("expiries", bucket); }
    std::string floor(std::size_t bucket) const { return name("floor", bucket); }
    std::string rule(std::string_view operation) const;
    std::string probe(std::size_t bucket) const { return name("probe", bucket); }  ///< for a start to try rights on

private:
    std::string name(std::string_view kind, std::size_t bucket) const;
    std::string prefix_, table_;
};

std::string member_of(std::string_view trace_id);
std::size_t bucket_of(std::string_view member) noexcept;

/// HGETALL's reply. `member` is what the row's name says. **Errors**: `corrupt` when the row can't be trusted.
Result<Record> read_record(const Reply& fields, std::string_view member, StoreMillis now);

}  // namespace nebis::redis::records
