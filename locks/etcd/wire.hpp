// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The bodies of etcd's JSON gateway: keys and values in base64, 64-bit numbers as texts, what is zero left out.
namespace nebis::etcd {

/// One key as it lies in etcd.
struct Kept {
    std::string value;
    std::int64_t mod_revision = 0;
    std::int64_t lease = 0;  ///< 0: none
};

struct TxnReply {
    bool succeeded = false;
    std::optional<Kept> kept;  ///< what the range found, or what stood there before the put or delete
};

// ---- requests

std::string grant_body(std::int64_t ttl_seconds);
std::string lease_body(std::int64_t lease);  ///< for keep-alive and revoke
std::string login_body(std::string_view name, std::string_view password);

/// Transactions on one key. Where the comparison fails, those with `else_look` tell what lies there.
std::string put_if_absent(std::string_view key, std::string_view value, std::int64_t lease);           // else_look
std::string put_if_unchanged(std::string_view key, std::int64_t mod_revision, std::string_view value,  // else_look
                             std::int64_t lease);
/// If the value lies strictly between both. `lease` 0: the key keeps the lease it has.
std::string put_if_between(std::string_view key, std::string_view low, std::string_view high, std::string_view value,
                           std::int64_t lease);
std::string delete_if_between(std::string_view key, std::string_view low, std::string_view high);

// ---- replies; **Errors**: `maybe_applied`, code "etcd-reply", for whatever isn't one

Result<TxnReply> read_txn(std::string_view body, std::string_view key);
Result<std::int64_t> read_lease_id(std::string_view body);  ///< of a grant
Result<std::int64_t> read_ttl(std::string_view body);       ///< of a keep-alive, in seconds; 0: there is no such lease
Result<std::string> read_token(std::string_view body);

/// The gateway's own report of an error.
struct Report {
    std::string text;
    std::int64_t code = 0;  ///< gRPC's
};
std::optional<Report> read_report(std::string_view body);

}  // namespace nebis::etcd
