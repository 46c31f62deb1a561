// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "record.hpp"
#include "redis_client/script.hpp"

#include <string>
#include <string_view>

/// What the scripts are asked. The first argument of those for one row is its member, the key's SHA-256 in hex; `find`
/// takes none.
namespace nebis::redis::records {

Call begin_call(const Names& names, const BeginRequest& one);
Call finish_call(const Names& names, const FinishRequest& one);
Call renew_call(const Names& names, const RenewRequest& one);
Call find_call(const Names& names, std::string_view member);
Call purge_call(const Names& names, std::string_view trace_id, std::uint64_t version);
Call lapse_call(const Names& names, const std::string& member, const RecoverRequest& request);
Call clean_call(const Names& names, const std::string& member);
/// `index`: `Names::leases` or `Names::expiries` of a bucket.
Call due_call(std::string index, std::size_t pass_over, std::size_t limit);
Call rule_call(const Names& names, std::string_view operation, std::string_view digest, bool accept);
Call now_call(const Names& names);
Call probe_call(const Names& names, std::size_t bucket);

}  // namespace nebis::redis::records
