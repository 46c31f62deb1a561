// SPDX-License-Identifier: Apache-2.0
#include "driver/begin_outcomes.hpp"
#include "driver/one_or_each.hpp"
#include "errors.hpp"
#include "identify/digest.hpp"
#include "session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

// How they keep from waiting: a key that has a row is never inserted (an INSERT would wait for whoever is changing that
// row), a key that has none is inserted under an advisory lock that is tried and never waited for, and a row is changed
// only after FOR UPDATE SKIP LOCKED. What nobody waits for can't deadlock either.
namespace nebis::mysql {

using driver::acquired;
using driver::held_by_somebody;
using driver::late_at;
using runtime::BeginVerdict;
using runtime::RowHead;
using runtime::StoreTime;

namespace {

constexpr std::string_view open_transaction = "START TRANSACTION";
constexpr std::string_view new_columns =
    "(trace_id,biz_type,status,version,owner,attempts,request_hash,lease_expire_time,expire_time,create_time,update_"
    "time,instance,request_body)";
constexpr std::size_t name_digits = 48;

/// `GET_LOCK(name, 0)`: who has it is the only one to insert this key. Two keys of one name would only take each other
/// for being inserted.
void write_lock(Script& script, const std::string& table, std::string_view trace_id) {
    const auto digest = identify::sha256(table + "/" + std::string(trace_id));
    script.sql("GET_LOCK('nebis:").sql(identify::to_hex(digest).substr(0, name_digits)).sql("',0)=1");
}

/// The values of a new row; @ms is the server's clock, @v its version.
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

}  // namespace

// ---- new keys

void Session::write_new(Script& script, std::span<const BeginRequest> in) const {
    StoreMillis not_after = std::numeric_limits<StoreMillis>::max();
    for (const auto& one : in)
        if (one.not_after != 0) not_after = std::min(not_after, one.not_after);
    // A version that is null makes the INSERT fail. SELECT … INTO, because InnoDB locks what a SET reads.
    script.open("SELECT IF(");
    for (const auto& one : in) {
        write_lock(script, table_, one.trace_id);
        script.sql(" AND ");
    }
    script.sql("@ms<=").number(not_after).sql(" AND NOT EXISTS (SELECT 1 FROM ").sql(quoted_).sql(" WHERE ");
    write_keys(script, in);
    script.sql("),GREATEST(@us,COALESCE((SELECT value+1 FROM idempotent_meta WHERE name='").sql(table_);
    script.sql("/version_floor'),0)),NULL) INTO @v").close();
    script.open("INSERT INTO ").sql(quoted_).sql(new_columns).sql(" VALUES ");
    listed(script, in, [&](const BeginRequest& one) {
        script.sql("(");
        write_values(script, one);
        script.sql(")");
    });
    script.close();
}

void Session::settle_new(std::span<const BeginRequest> in, const Answer& clock, Begun out) {
    const auto version = static_cast<std::uint64_t>(clock.number(0, 1));
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = acquired(version, 1, in[i].owner, clock.number(0, 0));
}

void Session::begin(std::span<const BeginRequest> in, Begun out, Deadline deadline) {
    if (in.empty()) return;
    Script script;
    script.statement(open_transaction);
    write_clock(script);
    write_new(script, in);
    const auto clock = script.statement("SELECT @ms,@v");
    script.statement("COMMIT");
    script.decided();
    script.statement("DO RELEASE_ALL_LOCKS()");
    const auto answers = run(script, deadline);
    if (answers) return settle_new(in, (*answers)[clock], out);
    if (!perhaps_one_row(answers.error())) return driver::fill(out, answers.error());
    driver::in_one_or_each(
        in, out,
        [&](std::span<const BeginRequest> some, Begun outcomes) { return begin_free_ones(some, outcomes, deadline); },
        perhaps_one_row,
        [&](const BeginRequest& request, Result<BeginOutcome>& one) {
            // Somebody inserts this very key and took no advisory lock, or changes the row: alive.
            if (is_lock_fault(one.error())) one = held_by_somebody(0);
            if (one || !is_duplicate(one.error())) return;
            // He has come to an end: is it our index that refused, or another?
            const std::size_t alone = 0;
            Result<BeginOutcome> seen(BeginOutcome{});
            look_at(std::span(&request, 1), std::span(&alone, 1), std::span(&seen, 1), deadline);
            if (!seen || seen->kind != BeginOutcome::Kind::in_progress || seen->version != 0) one = std::move(seen);
        });
}

Result<void> Session::begin_free_ones(std::span<const BeginRequest> in, Begun out, Deadline deadline) {
    Script script;
    script.statement(open_transaction);
    write_clock(script);
    script.open("SELECT GREATEST(@us,COALESCE((SELECT value+1 FROM idempotent_meta WHERE name='").sql(table_);
    script.sql("/version_floor'),0)) INTO @v").close();
    std::vector<std::size_t> inserts;
    for (const auto& one : in) {
        script.open("SELECT ");
        write_lock(script, table_, one.trace_id);
        if (one.not_after != 0) script.sql(" AND @ms<=").number(one.not_after);
        script.sql(" AND NOT EXISTS (SELECT 1 FROM ").sql(quoted_).sql(" WHERE trace_id=").bytes(one.trace_id);
        script.sql(") INTO @free").close();
        script.open("INSERT INTO ").sql(quoted_).sql(new_columns).sql(" SELECT ");
        write_values(script, one);
        inserts.push_back(script.sql(" FROM DUAL WHERE @free").close());
    }
    const auto clock = script.statement("SELECT @ms,@v");
    script.statement("COMMIT");
    script.decided();
    script.statement("DO RELEASE_ALL_LOCKS()");
    auto answers = run(script, deadline);
    if (!answers) return std::move(answers).error();
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if ((*answers)[inserts[i]].affected() == 1)
            settle_new(in.subspan(i, 1), (*answers)[clock], out.subspan(i, 1));
        else
            left.push_back(i);
    }
    if (!left.empty()) look_at(in, left, out, deadline);
    return {};
}

// ---- keys that have a row

namespace {

/// The request of a batch, sorted by key, that a row belongs to.
std::size_t place(std::span<const BeginRequest> in, std::string_view trace_id) {
    const auto at = std::lower_bound(in.begin(), in.end(), trace_id,
                                     [](const BeginRequest& one, auto key) { return one.trace_id < key; });
    return static_cast<std::size_t>(at - in.begin());
}

/// The row stays whose it is. With its record where the verdict needs one.
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

/// Which requests of the batch, as a list of keys.
struct Chosen {
    std::string_view trace_id;
};
std::vector<Chosen> chosen(std::span<const BeginRequest> in, std::span<const std::size_t> which) {
    std::vector<Chosen> keys;
    for (const auto i : which) keys.push_back({in[i].trace_id});
    return keys;
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

}  // namespace

void Session::look_at(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                      Deadline deadline) {
    Script script;
    write_clock(script);
    const auto clock = script.statement("SELECT @ms");
    script.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE ");
    write_keys(script, chosen(in, which));
    const auto found = script.close();
    auto answers = read(script, deadline);
    if (!answers) {
        for (const auto i : which) out[i] = answers.error();
        return;
    }
    const StoreMillis now = (*answers)[clock].number(0, 0);
    const Answer& rows = (*answers)[found];
    // A key without a row: somebody inserts it just now, unless its time had passed.
    for (const auto i : which) out[i] = runtime::late(in[i], now) ? late_at(now) : held_by_somebody(now);
    std::vector<std::size_t> existing;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto i = place(in, rows.bytes(row, 0));
        if (runtime::late(in[i], now)) continue;
        if (auto head = read_head(rows, row); !head) {
            out[i] = std::move(head).error();
        } else if (const auto verdict = runtime::judge_begin(*head, in[i], now);
                   runtime::acquires(verdict) || verdict == BeginVerdict::lapse) {
            existing.push_back(i);
        } else {
            out[i] = refused(rows, row, *head, verdict, now);
        }
    }
    if (existing.empty()) return;
    std::sort(existing.begin(), existing.end());
    auto taken = take_over(in, existing, out, deadline);
    if (taken) return;
    for (const auto i : existing) out[i] = taken.error();
    if (existing.size() == 1 || !perhaps_one_row(taken.error())) return;
    for (const auto i : existing)
        if (auto one = take_over(in, std::span(&i, 1), out, deadline); !one) out[i] = std::move(one).error();
}

Result<void> Session::take_over(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                                Deadline deadline) {
    Script holding;
    holding.statement(open_transaction);
    holding.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE ");
    write_keys(holding, chosen(in, which));
    const auto locked = holding.sql(" FOR UPDATE SKIP LOCKED").close();
    write_clock(holding);  // read when the locks are had
    const auto clock = holding.statement("SELECT @ms,@us");
    auto held = run(holding, deadline);
    if (!held) return surely_not_applied(std::move(held).error());
    const StoreTime time{(*held)[clock].number(0, 0), static_cast<std::uint64_t>((*held)[clock].number(0, 1))};
    const Answer& rows = (*held)[locked];
    for (const auto i : which) out[i] = held_by_somebody(time.millis);
    Script writing;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto i = place(in, rows.bytes(row, 0));
        auto head = read_head(rows, row);
        if (!head) {
            out[i] = std::move(head).error();
            continue;
        }
        if (runtime::late(in[i], time.millis)) {
            out[i] = late_at(time.millis);
            continue;
        }
        const auto verdict = runtime::judge_begin(*head, in[i], time.millis);
        if (runtime::acquires(verdict)) {
            const RowHead made = runtime::begun_row(&*head, verdict, in[i], 0, time);
            write_taken(writing, quoted_, in[i], *head, made);
            out[i] = acquired(made.version, made.attempts, made.owner, time.millis);
            out[i]->took_over = verdict == BeginVerdict::take_over;
            continue;
        }
        out[i] = refused(rows, row, *head, verdict, time.millis);
        if (verdict != BeginVerdict::lapse || !out[i]) continue;
        out[i]->record->status = RecordStatus::unknown;
        out[i]->record->update_time = time.millis;
        writing.open("UPDATE ").sql(quoted_).sql(" SET status=4,update_time=").number(time.millis);
        writing.sql(" WHERE trace_id=").bytes(in[i].trace_id);
        writing.sql(" AND version=").number(static_cast<std::int64_t>(head->version)).sql(" AND status=0").close();
    }
    if (writing.statements() == 0) {
        connection_->tidy(deadline);
        return {};
    }
    const std::size_t written = writing.statements();
    writing.statement("COMMIT");
    auto done = go_on(writing, deadline);
    if (!done) return std::move(done).error();
    // Nobody can have changed a row that we hold.
    for (std::size_t i = 0; i < written; ++i)
        if ((*done)[i].affected() != 1)
            return Error(ErrorKind::maybe_applied, "a locked record changed", {},
                         "look for triggers on the record table")
                .with_code("mysql-trigger");
    return {};
}

// ---- both kinds

void Session::write(std::span<const FinishRequest> finishes, Finished finished, std::span<const BeginRequest> begins,
                    Begun begun, Deadline deadline) {
    if (!finishes.empty() && !begins.empty()) {
        Script script;
        script.statement(open_transaction);
        const auto updates = write_finishes(script, finishes);
        write_new(script, begins);
        const auto clock = script.statement("SELECT @ms,@v");
        script.statement("COMMIT");
        script.decided();
        script.statement("DO RELEASE_ALL_LOCKS()");
        const auto answers = run(script, deadline);
        if (answers) {
            settle_new(begins, (*answers)[clock], begun);
            settle_finishes(finishes, *answers, updates, (*answers)[clock].number(0, 0), finished, deadline);
            return;
        }
        if (!perhaps_one_row(answers.error())) {
            driver::fill(finished, answers.error());
            driver::fill(begun, answers.error());
            return;
        }
        // Nothing was applied, perhaps for the sake of one row: those of the other kind need not suffer.
    }
    finish(finishes, finished, deadline);
    begin(begins, begun, deadline);
}

}  // namespace nebis::mysql
