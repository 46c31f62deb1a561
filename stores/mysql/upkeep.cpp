// SPDX-License-Identifier: Apache-2.0
#include "driver/leases.hpp"
#include "driver/one_or_each.hpp"
#include "errors.hpp"
#include "requests.hpp"
#include "session.hpp"

#include <algorithm>
#include <utility>

namespace nebis::mysql {
namespace {

/// Which final statuses clean-up deletes.
constexpr RecordStatus cleaned[] = {RecordStatus::success, RecordStatus::fail, RecordStatus::rejected,
                                    RecordStatus::marked};

}  // namespace

Session::Session(Options options, std::string table, std::unique_ptr<Connection> connection)
    : options_(std::move(options)),
      table_(std::move(table)),
      quoted_("`" + table_ + "`"),
      connection_(std::move(connection)) {}

Result<Answers> Session::run(const Script& script, Deadline deadline) {
    if (!connection_ || !connection_->usable()) {
        connection_.reset();
        auto opened = Connection::open(options_, deadline);
        if (!opened) return std::move(opened).error();
        connection_ = *std::move(opened);
    }
    auto answers = connection_->run(script, deadline);
    if (!answers) connection_->tidy(deadline);
    return answers;
}

Result<Answers> Session::read(const Script& script, Deadline deadline) {
    auto answers = run(script, deadline);
    if (!answers) return surely_not_applied(std::move(answers).error());
    return answers;
}

Result<Answers> Session::go_on(const Script& script, Deadline deadline) {
    // `run` would open another connection if this one had gone meanwhile; there, nothing would be locked.
    if (!connection_->usable()) {
        connection_->spend();
        return surely_not_applied(lost("the connection ended"));
    }
    return run(script, deadline);
}

// ---- find

void Session::find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    Script script;
    write_clock(script);
    const auto clock = script.statement("SELECT @ms");
    script.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE ");
    write_keys(script, in);
    const auto found = script.close();
    auto answers = read(script, deadline);
    if (!answers) return driver::fill(out, answers.error());
    FindOutcome none;
    none.now = (*answers)[clock].number(0, 0);
    for (auto& one : out) one = none;
    const Answer& rows = (*answers)[found];
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto at = std::lower_bound(in.begin(), in.end(), rows.bytes(row, 0),
                                         [](const FindRequest& one, auto key) { return one.trace_id < key; });
        auto& one = out[static_cast<std::size_t>(at - in.begin())];
        auto record = read_record(rows, row, none.now);
        if (record)
            one->record = *std::move(record);
        else
            one = std::move(record).error();
    }
}

// ---- upkeep

Result<Leases> Session::leases(Deadline deadline) {
    Script script;
    write_clock(script);
    script.open(
        "SELECT COUNT(*),COUNT(IF(lease_expire_time<=@ms AND (lease_expire_time>0 OR (expire_time>0 AND "
        "expire_time<=@ms)),1,NULL)),COALESCE(MAX(IF(lease_expire_time>0,lease_expire_time,expire_time))-@ms,0) "
        "FROM ");
    const auto counted = script.sql(quoted_).sql(" FORCE INDEX (idx_lease) WHERE status=0").close();
    auto answers = read(script, deadline);
    if (!answers) return std::move(answers).error();
    const Answer& row = (*answers)[counted];
    return driver::leases_of(row.number(0, 0), row.number(0, 1), row.number(0, 2));
}

Result<std::vector<Record>> Session::recover(const RecoverRequest& request, Deadline deadline) {
    // A lease of 0 means "until the retention ends" (C13).
    Script holding;
    holding.statement("START TRANSACTION");
    write_clock(holding);
    holding.open("SELECT id,").sql(record_columns).sql(" FROM ").sql(quoted_);
    holding
        .sql(
            " FORCE INDEX (idx_lease) WHERE status=0 AND lease_expire_time<=@ms AND (lease_expire_time>0 OR "
            "(expire_time>0 AND expire_time<=@ms)) AND update_time<=@ms-")
        .number(request.min_age_millis);
    if (!request.own_instance.empty()) holding.sql(" AND instance=").text(request.own_instance);
    holding.sql(" ORDER BY lease_expire_time LIMIT ").number(static_cast<std::int64_t>(request.limit));
    const auto due = holding.sql(" FOR UPDATE SKIP LOCKED").close();
    const auto clock = holding.statement("SELECT @ms");
    auto held = run(holding, deadline);
    if (!held) return surely_not_applied(std::move(held).error());
    const Answer& rows = (*held)[due];
    const StoreMillis now = (*held)[clock].number(0, 0);
    if (rows.size() == 0) {
        connection_->tidy(deadline);
        return std::vector<Record>{};
    }
    std::vector<std::string_view> ids;
    for (std::size_t row = 0; row < rows.size(); ++row) ids.push_back(rows.bytes(row, 0));
    Script moving;
    moving.open("UPDATE ").sql(quoted_).sql(" SET status=4,update_time=").number(now).sql(" WHERE id IN (");
    listed(moving, ids, [&](std::string_view id) { moving.sql(id); });
    moving.sql(")").close();
    moving.statement("COMMIT");
    if (auto moved = go_on(moving, deadline); !moved) return std::move(moved).error();
    std::vector<Record> records;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        // A damaged row is moved like any other, but nobody may act on what can't be read.
        auto record = read_record(rows, row, now, 1);
        if (!record) continue;
        record->status = RecordStatus::unknown;
        record->update_time = now;
        records.push_back(*std::move(record));
    }
    return records;
}

namespace {

/// Keeps the greatest version among the rows that go.
void write_floor(Script& script, const std::string& table, std::int64_t version) {
    script.open("INSERT INTO idempotent_meta (name,value) VALUES ('").sql(table).sql("/version_floor',");
    script.number(std::min(version, greatest_version)).sql(") ON DUPLICATE KEY UPDATE value=GREATEST(value,");
    script.number(std::min(version, greatest_version)).sql(")").close();
}

}  // namespace

Result<std::size_t> Session::clean(const CleanRequest& request, Deadline deadline) {
    // Each status for itself: a range of its index, however many rows of another are due.
    std::size_t gone = 0;
    for (const auto status : cleaned) {
        if (gone >= request.limit) break;
        Script holding;
        holding.statement("START TRANSACTION");
        write_clock(holding);
        holding.open("SELECT id,version FROM ").sql(quoted_).sql(" FORCE INDEX (idx_expire) WHERE status=");
        holding.number(static_cast<int>(status)).sql(" AND expire_time<=@ms ORDER BY expire_time LIMIT ");
        holding.number(static_cast<std::int64_t>(request.limit - gone));
        const auto due = holding.sql(" FOR UPDATE SKIP LOCKED").close();
        auto held = run(holding, deadline);
        if (!held) return surely_not_applied(std::move(held).error());
        const Answer& rows = (*held)[due];
        if (rows.size() == 0) {
            connection_->tidy(deadline);
            continue;
        }
        std::int64_t greatest = 0;
        std::vector<std::string_view> ids;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            ids.push_back(rows.bytes(row, 0));
            greatest = std::max(greatest, rows.number(row, 1));
        }
        Script deleting;
        write_floor(deleting, table_, greatest);
        deleting.open("DELETE FROM ").sql(quoted_).sql(" WHERE id IN (");
        listed(deleting, ids, [&](std::string_view id) { deleting.sql(id); });
        const auto deleted = deleting.sql(")").close();
        deleting.statement("COMMIT");
        auto done = go_on(deleting, deadline);
        // Another instance cleans this table just now: what it leaves is for the next time.
        if (!done && is_lock_fault(done.error())) break;
        if (!done) return std::move(done).error();
        gone += (*done)[deleted].affected();
    }
    return gone;
}

Result<bool> Session::purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) {
    Script script;
    script.statement("START TRANSACTION");
    script.open("DELETE FROM ").sql(quoted_).sql(" WHERE trace_id=").bytes(trace_id);
    const auto deleted = script.sql(" AND version=").number(static_cast<std::int64_t>(version)).close();
    write_floor(script, table_, static_cast<std::int64_t>(version));
    script.statement("COMMIT");
    auto answers = run(script, deadline);
    if (!answers) return std::move(answers).error();
    return (*answers)[deleted].affected() > 0;
}

Result<StoreMillis> Session::now(Deadline deadline) {
    Script script;
    write_clock(script);
    const auto clock = script.statement("SELECT @ms");
    auto answers = read(script, deadline);
    if (!answers) return std::move(answers).error();
    return (*answers)[clock].number(0, 0);
}

Result<std::string> Session::key_rule(std::string_view operation, std::string_view digest, bool accept,
                                      Deadline deadline) {
    const auto write_read = [&](Script& script) {
        script.open("SELECT digest FROM idempotent_key_rule WHERE operation=").text(operation);
        return script.close();
    };
    Script looking;
    const auto looked = write_read(looking);
    auto known = read(looking, deadline);
    if (!known) return std::move(known).error();
    if (const Answer& rule = (*known)[looked]; rule.size() == 1 && (!accept || rule.bytes(0, 0) == digest))
        return std::string(rule.bytes(0, 0));
    Script keeping;
    write_clock(keeping);
    keeping.open("INSERT INTO idempotent_key_rule (operation,digest,update_time) VALUES (").text(operation).sql(",");
    keeping.bytes(digest).sql(",@ms) ON DUPLICATE KEY UPDATE ");
    if (accept)
        keeping.sql("digest=").bytes(digest).sql(",update_time=@ms").close();
    else
        keeping.sql("operation=operation").close();
    const auto kept = write_read(keeping);
    auto written = run(keeping, deadline);
    if (!written) return std::move(written).error();
    return std::string((*written)[kept].bytes(0, 0));
}

}  // namespace nebis::mysql
