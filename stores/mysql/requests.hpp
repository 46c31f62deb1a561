// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codec.hpp"
#include "runtime/row_rules.hpp"
#include "script.hpp"

#include <chrono>

/// Requests as parts of statements, and what a begin answers: what a batch and an `atomic` transaction share.
namespace nebis::mysql {

/// @us and @ms become the server's clock.
void write_clock(Script& script);

// ---- begins

inline constexpr std::string_view new_columns =
    "(trace_id,biz_type,status,version,owner,attempts,request_hash,lease_expire_time,expire_time,create_time,update_"
    "time,instance,request_body)";

/// `GET_LOCK(name, wait)=1`: who has it is the only one to insert this key. Two keys of one name would only take each
/// other for being inserted.
void write_key_lock(Script& script, const std::string& table, std::string_view trace_id,
                    std::chrono::milliseconds wait = {});
/// @v becomes the version of a new row; @us is the server's clock.
void write_new_version(Script& script, const std::string& table);
/// The values of a new row; @ms is the server's clock, @v its version.
void write_values(Script& script, const BeginRequest& request);
/// The row stays whose it is. With its record where the verdict needs one.
Result<BeginOutcome> refused(const Answer& rows, std::size_t row, const runtime::RowHead& head,
                             runtime::BeginVerdict verdict, StoreMillis now);
/// The UPDATE by which a row changes hands.
void write_taken(Script& script, const std::string& quoted, const BeginRequest& request, const runtime::RowHead& found,
                 const runtime::RowHead& row);

// ---- finishes

/// ` SET …`; @ms is the server's clock.
void write_finished(Script& script, const FinishRequest& request);
/// ` WHERE …`: the row of that attempt.
void write_mine(Script& script, std::string_view trace_id, std::uint64_t version, const Owner& owner);
/// ` WHERE …`: the same, in a status that may be finished.
void write_finishable(Script& script, const FinishRequest& request);

}  // namespace nebis::mysql
