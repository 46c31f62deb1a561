// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "driver/begin_outcomes.hpp"
#include "driver/leases.hpp"
#include "driver/one_or_each.hpp"
#include "errors.hpp"
#include "requests.hpp"

#include <algorithm>
#include <utility>

namespace nebis::postgres {

using driver::acquired;
using driver::fill;
using driver::held_by_somebody;
using driver::late_at;
using runtime::BeginVerdict;
using runtime::RowHead;
using runtime::StoreTime;

namespace {

/// The place in the batch that `n` of WITH ORDINALITY means.
std::size_t place(const Rows& rows, int row) { return static_cast<std::size_t>(rows.number(row, number_column) - 1); }

Params renewed_rows(std::span<const RenewRequest> in) {
    Array keys(bytea_type), versions(int8_type), owners(bytea_type), leases(int8_type), ask(int8_type);
    for (const auto& one : in) {
        keys.add(one.trace_id);
        versions.add(to_signed(one.version));
        owners.add(bytes_of(one.owner));
        leases.add(one.lease_millis);
        ask.add(std::int64_t{one.ask ? 1 : 0});
    }
    Params params;
    for (Array* column : {&keys, &versions, &owners, &leases, &ask}) params.add(std::move(*column));
    return params;
}

/// A fault of a step that came before COMMIT was sent.
Error before_commit(Error error, Connection* connection) {
    // The server has nothing to commit, but the transaction may be open still.
    if (connection) connection->spend();
    return surely_not_applied(std::move(error));
}

}  // namespace

Result<std::vector<Rows>> Session::run(std::initializer_list<Step> steps, Deadline deadline) {
    if (!connection_ || !connection_->usable()) {
        connection_.reset();
        auto opened = Connection::open(options_, deadline);
        if (!opened) return std::move(opened).error();
        if (auto ready = (*opened)->prepare(table_, deadline); !ready) return std::move(ready).error();
        connection_ = *std::move(opened);
    }
    return connection_->run(steps, deadline);
}

Result<std::vector<Rows>> Session::read(std::initializer_list<Step> steps, Deadline deadline) {
    auto rows = run(steps, deadline);
    if (!rows) return surely_not_applied(std::move(rows).error());
    return rows;
}

// ---- begin

void Session::begin(std::span<const BeginRequest> in, Begun out, Deadline deadline) {
    if (in.empty()) return;
    driver::in_one_or_each(
        in, out,
        [&](std::span<const BeginRequest> some, Begun outcomes) { return begin_batch(some, outcomes, deadline); },
        perhaps_one_row,
        [](const BeginRequest&, Result<BeginOutcome>& one) {
            // Somebody inserts this very key and took no advisory lock, or changes the row: alive.
            if (is_lock_fault(one.error())) one = held_by_somebody(0);
        });
}

Result<void> Session::begin_batch(std::span<const BeginRequest> in, Begun out, Deadline deadline) {
    const Params fresh = new_rows(in);
    auto rows = run({{Sql::insert_new, &fresh}}, deadline);
    if (!rows) return std::move(rows).error();
    settle_begun(in, rows->at(0), out, deadline);
    return {};
}

void Session::settle_begun(std::span<const BeginRequest> in, const Rows& inserted, Begun out, Deadline deadline) {
    std::vector<bool> done(in.size(), false);
    for (int row = 0; row < inserted.size(); ++row) {
        const auto at = std::lower_bound(in.begin(), in.end(), inserted.bytes(row, 0),
                                         [](const BeginRequest& one, auto key) { return one.trace_id < key; });
        const auto i = static_cast<std::size_t>(at - in.begin());
        out[i] = acquired(static_cast<std::uint64_t>(inserted.number(row, 1)), 1, in[i].owner, inserted.number(row, 2));
        done[i] = true;
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < in.size(); ++i)
        if (!done[i]) left.push_back(i);
    if (!left.empty()) look_at(in, left, out, deadline);
}

void Session::look_at(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                      Deadline deadline) {
    Params keys;
    {
        Array array(bytea_type);
        for (const auto i : which) array.add(in[i].trace_id);
        keys.add(std::move(array));
    }
    // A snapshot of its own: it sees the rows for whose sake nothing was inserted.
    auto rows = read({{Sql::find, &keys}}, deadline);
    if (!rows) {
        for (const auto i : which) out[i] = rows.error();
        return;
    }
    const Rows& seen = rows->at(0);
    std::vector<std::size_t> existing;
    for (int row = 0; row < seen.size(); ++row) {
        const auto i = which[place(seen, row)];
        const auto now = seen.number(row, now_column);
        if (runtime::late(in[i], now)) {
            out[i] = late_at(now);
        } else if (seen.is_null(row, record_column)) {
            out[i] = held_by_somebody(now);
        } else if (auto head = read_head(seen, row, record_column); !head) {
            out[i] = std::move(head).error();
        } else if (const auto verdict = runtime::judge_begin(*head, in[i], now);
                   runtime::acquires(verdict) || verdict == BeginVerdict::lapse) {
            existing.push_back(i);
        } else {
            out[i] = refused(seen, row, *head, verdict, now);
        }
    }
    if (existing.empty()) return;
    auto taken = take_over(in, existing, out, deadline);
    if (taken) return;
    for (const auto i : existing) out[i] = taken.error();
    if (existing.size() == 1 || !perhaps_one_row(taken.error())) return;
    for (const auto i : existing)
        if (auto one = take_over(in, std::span(&i, 1), out, deadline); !one) out[i] = std::move(one).error();
}

Result<void> Session::take_over(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                                Deadline deadline) {
    Params keys;
    {
        Array array(bytea_type);
        for (const auto i : which) array.add(in[i].trace_id);
        keys.add(std::move(array));
    }
    // The clock is read when the locks are had.
    auto rows = run({{Sql::open_transaction}, {Sql::lock, &keys}, {Sql::now}}, deadline);
    if (!rows) return before_commit(std::move(rows).error(), connection_.get());
    const Rows& locked = rows->at(1);
    const StoreMillis now = rows->at(2).number(0, 0);
    const StoreTime time{now, static_cast<std::uint64_t>(now) * 1000};
    for (const auto i : which) out[i] = held_by_somebody(now);
    Taking taking;
    Array lapsing[] = {Array(bytea_type), Array(int8_type), Array(bytea_type), Array(int8_type)};
    std::vector<std::size_t> taken, lapsed;
    for (int row = 0; row < locked.size(); ++row) {
        const auto i = which[place(locked, row)];
        auto head = read_head(locked, row, record_column);
        if (!head) {
            out[i] = std::move(head).error();
            continue;
        }
        if (runtime::late(in[i], now)) {
            out[i] = late_at(now);
            continue;
        }
        const auto verdict = runtime::judge_begin(*head, in[i], now);
        if (runtime::acquires(verdict)) {
            const RowHead made = runtime::begun_row(&*head, verdict, in[i], 0, time);
            taking.add(in[i], *head, made);
            taken.push_back(i);
            out[i] = acquired(made.version, made.attempts, made.owner, now);
            out[i]->took_over = verdict == BeginVerdict::take_over;
            continue;
        }
        out[i] = refused(locked, row, *head, verdict, now);
        if (verdict != BeginVerdict::lapse || !out[i]) continue;
        out[i]->record->status = RecordStatus::unknown;
        out[i]->record->update_time = now;
        lapsing[0].add(in[i].trace_id);
        lapsing[1].add(to_signed(head->version));
        lapsing[2].add(bytes_of(head->owner));
        lapsing[3].add(now);
        lapsed.push_back(i);
    }
    if (taken.empty() && lapsed.empty()) {
        if (auto ended = run({{Sql::roll_back}}, deadline); !ended && connection_) connection_->spend();
        return {};
    }
    const Params take = taking.params();
    Params lapse;
    for (auto& column : lapsing) lapse.add(std::move(column));
    // `run` would open another connection if this one had gone meanwhile; there, nothing would be locked.
    if (!connection_->usable()) return before_commit(lost("the connection ended"), connection_.get());
    auto written = connection_->run({{Sql::take, &take}, {Sql::lapse, &lapse}, {Sql::commit}}, deadline);
    if (!written) {
        connection_->spend();
        return std::move(written).error();
    }
    // Nobody can have changed a row that we hold.
    if (static_cast<std::size_t>(written->at(0).size()) != taken.size() ||
        static_cast<std::size_t>(written->at(1).size()) != lapsed.size())
        return Error(ErrorKind::maybe_applied, "a locked record changed", {}, "look for triggers on the record table")
            .with_code("postgres-trigger");
    return {};
}

// ---- finish

void Session::finish(std::span<const FinishRequest> in, Finished out, Deadline deadline) {
    if (in.empty()) return;
    driver::in_one_or_each(
        in, out,
        [&](std::span<const FinishRequest> some, Finished outcomes) { return finish_batch(some, outcomes, deadline); },
        perhaps_one_row, [](const FinishRequest&, Result<FinishOutcome>&) {});
}

Result<void> Session::finish_batch(std::span<const FinishRequest> in, Finished out, Deadline deadline) {
    const Params params = finished_rows(in);
    auto rows = run({{Sql::finish, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    settle_finished(in, rows->at(0), out, deadline);
    return {};
}

void Session::settle_finished(std::span<const FinishRequest> in, const Rows& finished, Finished out,
                              Deadline deadline) {
    std::vector<bool> applied(in.size(), false);
    const auto note = [&](const Rows& written, std::size_t offset) {
        for (int row = 0; row < written.size(); ++row) {
            const auto i = offset + place(written, row);
            FinishOutcome done;
            done.applied = true;
            done.now = written.number(row, now_column);
            out[i] = std::move(done);
            applied[i] = true;
        }
    };
    note(finished, 0);
    const auto read_back = [&](std::size_t i) -> Result<FindOutcome> {
        const FindRequest one{in[i].trace_id};
        Result<FindOutcome> found = FindOutcome{};
        find(std::span(&one, 1), std::span(&found, 1), deadline);
        return found;
    };
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (applied[i]) continue;
        auto found = read_back(i);
        // Still as it was asked for: somebody held it, a renewal most likely.
        if (found && found->record) {
            RowHead head;
            head.status = found->record->status;
            head.version = found->record->version;
            head.owner = found->record->owner;
            if (runtime::may_finish(head, in[i])) {
                const Params alone = finished_rows(in.subspan(i, 1));
                auto waited = run({{Sql::finish_waiting, &alone}}, deadline);
                if (!waited) {
                    out[i] = std::move(waited).error();
                    continue;
                }
                note(waited->at(0), i);
                if (applied[i]) continue;
                found = read_back(i);
            }
        }
        if (!found) {
            out[i] = std::move(found).error();
            continue;
        }
        FinishOutcome done;
        done.now = found->now;
        done.current = std::move(found->record);
        out[i] = std::move(done);
    }
}

// ---- both

void Session::write(std::span<const FinishRequest> finishes, Finished finished, std::span<const BeginRequest> begins,
                    Begun begun, Deadline deadline) {
    if (!finishes.empty() && !begins.empty()) {
        const Params done = finished_rows(finishes), fresh = new_rows(begins);
        auto rows = run({{Sql::finish, &done}, {Sql::insert_new, &fresh}}, deadline);
        if (rows) {
            settle_finished(finishes, rows->at(0), finished, deadline);
            settle_begun(begins, rows->at(1), begun, deadline);
            return;
        }
        if (!perhaps_one_row(rows.error())) {
            fill(finished, rows.error());
            fill(begun, rows.error());
            return;
        }
        // Nothing was applied, perhaps for the sake of one row: those of the other kind need not suffer.
    }
    finish(finishes, finished, deadline);
    begin(begins, begun, deadline);
}

// ---- renew, find, upkeep

void Session::renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    driver::in_one_or_each(
        in, out,
        [&](std::span<const RenewRequest> some, std::span<Result<RenewOutcome>> outcomes) {
            return renew_batch(some, outcomes, deadline);
        },
        perhaps_one_row,
        [](const RenewRequest&, Result<RenewOutcome>& one) {
            if (!is_lock_fault(one.error())) return;
            RenewOutcome locked;
            locked.kind = RenewOutcome::Kind::locked;
            one = locked;
        });
}

Result<void> Session::renew_batch(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out,
                                  Deadline deadline) {
    const Params params = renewed_rows(in);
    auto rows = run({{Sql::renew, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    const Rows& written = rows->at(0);
    std::vector<bool> done(in.size(), false);
    for (int row = 0; row < written.size(); ++row) {
        const auto i = place(written, row);
        out[i] = RenewOutcome{RenewOutcome::Kind::renewed, written.number(row, now_column)};
        done[i] = true;
    }
    if (static_cast<std::size_t>(written.size()) == in.size()) return {};
    auto left = read({{Sql::still_mine, &params}}, deadline);
    if (!left) {
        for (std::size_t i = 0; i < in.size(); ++i)
            if (!done[i]) out[i] = left.error();
        return {};
    }
    const Rows& mine = left->at(0);
    for (int row = 0; row < mine.size(); ++row) {
        const auto i = place(mine, row);
        if (done[i]) continue;
        const bool still = mine.bytes(row, 2) == std::string_view("\1", 1);
        out[i] =
            RenewOutcome{still ? RenewOutcome::Kind::locked : RenewOutcome::Kind::lost, mine.number(row, now_column)};
    }
    return {};
}

void Session::find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    Array keys(bytea_type);
    for (const auto& one : in) keys.add(one.trace_id);
    Params params;
    params.add(std::move(keys));
    auto rows = read({{Sql::find, &params}}, deadline);
    if (!rows) return fill(out, rows.error());
    const Rows& found = rows->at(0);
    for (int row = 0; row < found.size(); ++row) {
        const auto i = place(found, row);
        FindOutcome one;
        one.now = found.number(row, now_column);
        if (!found.is_null(row, record_column)) {
            auto record = read_record(found, row, record_column, one.now);
            if (!record) {
                out[i] = std::move(record).error();
                continue;
            }
            one.record = *std::move(record);
        }
        out[i] = std::move(one);
    }
}

Result<std::vector<Record>> Session::recover(const RecoverRequest& request, Deadline deadline) {
    Params params;
    params.add(request.min_age_millis);
    params.add(std::string(request.own_instance));
    params.add(to_signed(request.limit));
    auto rows = run({{Sql::recover, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    const Rows& moved = rows->at(0);
    std::vector<Record> records;
    for (int row = 0; row < moved.size(); ++row) {
        // A damaged row is moved like any other, but nobody may act on what can't be read.
        auto record = read_record(moved, row, record_column, moved.number(row, now_column));
        if (record) records.push_back(*std::move(record));
    }
    return records;
}

Result<std::size_t> Session::clean(const CleanRequest& request, Deadline deadline) {
    Params params;
    params.add(to_signed(request.limit));
    auto rows = run({{Sql::clean, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    return static_cast<std::size_t>(rows->at(0).number(0, 0));
}

Result<bool> Session::purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) {
    Params params;
    params.add(std::string(trace_id));
    params.add(to_signed(version));
    auto rows = run({{Sql::purge, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    return rows->at(0).number(0, 0) > 0;
}

Result<RowPage> Session::page(std::string_view after, std::size_t limit, Deadline deadline) {
    Params params;
    params.add(std::string(after));
    params.add(to_signed(limit));
    auto rows = read({{Sql::page, &params}}, deadline);
    if (!rows) return std::move(rows).error();
    const Rows& found = rows->at(0);
    RowPage page;
    for (int row = 0; row < found.size(); ++row) {
        auto record = read_record(found, row, record_column, found.number(row, now_column));
        if (record)
            page.rows.push_back(*std::move(record));
        else
            ++page.unreadable;
    }
    if (static_cast<std::size_t>(found.size()) == limit) page.last = found.bytes(found.size() - 1, record_column);
    return page;
}

void Session::rewrite(std::span<const RewriteRequest> in, std::span<Result<bool>> out, Deadline deadline) {
    if (in.empty()) return;
    const Params params = rewritten_rows(in);
    auto rows = run({{Sql::rewrite, &params}}, deadline);
    if (!rows) return fill(out, rows.error());
    for (auto& one : out) one = false;
    for (int row = 0; row < rows->at(0).size(); ++row) out[place(rows->at(0), row)] = true;
}

Result<Leases> Session::leases(Deadline deadline) {
    auto rows = read({{Sql::leases}}, deadline);
    if (!rows) return std::move(rows).error();
    const Rows& counted = rows->at(0);
    return driver::leases_of(counted.number(0, 0), counted.number(0, 1), counted.number(0, 2));
}

Result<StoreMillis> Session::now(Deadline deadline) {
    auto rows = read({{Sql::now}}, deadline);
    if (!rows) return std::move(rows).error();
    return rows->at(0).number(0, 0);
}

Result<std::string> Session::key_rule(std::string_view operation, std::string_view digest, bool accept,
                                      Deadline deadline) {
    Params name, kept;
    name.add(std::string(operation));
    auto known = read({{Sql::read_rule, &name}}, deadline);
    if (!known) return std::move(known).error();
    if (const Rows& rule = known->at(0); rule.size() == 1 && (!accept || rule.bytes(0, 0) == digest))
        return std::string(rule.bytes(0, 0));
    kept.add(std::string(operation));
    kept.add(std::string(digest));
    kept.add(std::int64_t{accept ? 1 : 0});
    auto written = run({{Sql::keep_rule, &kept}, {Sql::read_rule, &name}}, deadline);
    if (!written) return std::move(written).error();
    return std::string(written->at(1).bytes(0, 0));
}

}  // namespace nebis::postgres
