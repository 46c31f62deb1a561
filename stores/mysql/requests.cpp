// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nebis::mysql {

using runtime::BeginVerdict;
using runtime::RowHead;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t name_digits = 48;

void write_statuses(Script& script, const FinishRequest& one) {
    std::vector<RecordStatus> from;
    if (one.from_processing) from.push_back(RecordStatus::processing);
    if (one.from_unknown) from.push_back(RecordStatus::unknown);
    if (one.from_marked) from.push_back(RecordStatus::marked);
    if (from.empty()) {
        script.sql(" AND FALSE");
        return;
    }
    script.sql(" AND status IN (");
    listed(script, from, [&](RecordStatus status) { script.number(static_cast<int>(status)); });
    script.sql(")");
}

}  // namespace

void write_clock(Script& script) {
    // An assignment doesn't see the one before it in its statement, but both see the clock of the statement's start.
    script.statement(
        "SET @us=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6)),@ms=TIMESTAMPDIFF(MICROSECOND,'1970-01-01',"
        "UTC_TIMESTAMP(6)) DIV 1000");
}

void write_key_lock(Script& script, const std::string& table, std::string_view trace_id, milliseconds wait) {
    const auto digest = identify::sha256(table + "/" + std::string(trace_id));
    script.sql("GET_LOCK('nebis:").sql(identify::to_hex(digest).substr(0, name_digits)).sql("',");
    if (wait.count() > 0)
        script.seconds(wait);
    else
        script.sql("0");
    script.sql(")=1");
}

void write_new_version(Script& script, const std::string& table) {
    script.open("SELECT GREATEST(@us,COALESCE((SELECT value+1 FROM idempotent_meta WHERE name='").sql(table);
    script.sql("/version_floor'),0)) INTO @v").close();
}

void write_values(Script& script, const BeginRequest& one) {
    script.bytes(one.trace_id).sql(",").text(one.operation).sql(",").number(static_cast<int>(one.status));
    script.sql(",@v,").bytes(bytes_of(one.owner)).sql(",1,").bytes(stored(one.request_hash)).sql(",");
    const bool leased = one.status != RecordStatus::marked;
    if (leased)
        script.sql("@ms+").number(one.lease_millis);
    else
        script.sql("0");
    script.sql(",@ms+").number(leased ? std::max(one.retention_millis, one.lease_millis) : one.retention_millis);
    script.sql(",@ms,@ms,").text(one.instance).sql(",").bytes(one.request_snapshot);
}

Result<BeginOutcome> refused(const Answer& rows, std::size_t row, const RowHead& head, BeginVerdict verdict,
                             StoreMillis now) {
    BeginOutcome out = runtime::refused_begin(head, verdict, now);
    if (out.kind != BeginOutcome::Kind::in_progress && out.kind != BeginOutcome::Kind::mismatch) {
        auto record = read_record(rows, row, now);
        if (!record) return std::move(record).error();
        out.record = *std::move(record);
    }
    return out;
}

void write_taken(Script& script, const std::string& quoted, const BeginRequest& request, const RowHead& found,
                 const RowHead& row) {
    script.open("UPDATE ").sql(quoted).sql(" SET biz_type=").text(request.operation);
    script.sql(",status=").number(static_cast<int>(row.status));
    script.sql(",version=").number(static_cast<std::int64_t>(row.version)).sql(",owner=").bytes(bytes_of(row.owner));
    script.sql(",attempts=").number(row.attempts).sql(",request_hash=").bytes(stored(row.request_hash));
    script.sql(",lease_expire_time=").number(row.lease_expire_time).sql(",expire_time=").number(row.expire_time);
    if (row.attempts == 1) script.sql(",create_time=").number(row.update_time);
    script.sql(",update_time=").number(row.update_time).sql(",instance=").text(request.instance);
    script.sql(",request_body=").bytes(request.request_snapshot).sql(",outcome_ref='',response_body=NULL");
    script.sql(" WHERE trace_id=").bytes(request.trace_id);
    script.sql(" AND version=").number(static_cast<std::int64_t>(found.version));
    script.sql(" AND owner=").bytes(bytes_of(found.owner)).close();
}

void write_finished(Script& script, const FinishRequest& one) {
    // Values are assigned from left to right, so expire_time still sees the old lease.
    if (one.status == RecordStatus::processing)
        script.sql(" SET expire_time=GREATEST(@ms+").number(one.retention_millis).sql(",lease_expire_time)");
    else
        script.sql(" SET expire_time=@ms+").number(one.retention_millis).sql(",lease_expire_time=@ms");
    script.sql(",status=").number(static_cast<int>(one.status)).sql(",response_body=");
    if (one.response)
        script.bytes(runtime::encode_response(*one.response));
    else
        script.sql("NULL");
    script.sql(",update_time=@ms");
    if (one.new_owner) script.sql(",owner=").bytes(bytes_of(*one.new_owner));
    if (!one.outcome_ref.empty()) script.sql(",outcome_ref=").text(one.outcome_ref);
}

void write_mine(Script& script, std::string_view trace_id, std::uint64_t version, const Owner& owner) {
    script.sql(" WHERE trace_id=").bytes(trace_id).sql(" AND version=").number(static_cast<std::int64_t>(version));
    script.sql(" AND owner=").bytes(bytes_of(owner));
}

void write_finishable(Script& script, const FinishRequest& one) {
    write_mine(script, one.trace_id, one.version, one.owner);
    write_statuses(script, one);
}

}  // namespace nebis::mysql
