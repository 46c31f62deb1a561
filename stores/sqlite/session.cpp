// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "errors.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace nebis::sqlite {

using runtime::StoreTime;

namespace {

/// How long a batch of begins waits for the write lock before it looks what it can answer without.
constexpr std::chrono::milliseconds short_wait{20};
/// Clean-up gives the write lock back after so many rows, whatever it was asked for.
constexpr std::size_t rows_of_one_clean_up_commit = 128;

template <class Outcomes>
void fill(Outcomes out, const Error& error) {
    for (auto& one : out) one = error;
}

/// Runs `step` for each row; true unless the transaction itself is lost, with the Error in `lost`.
template <class Requests, class Outcomes, class Step>
bool each(const Rows& rows, Requests in, Outcomes out, std::optional<Error>& lost, Step step) {
    for (std::size_t i = 0; i < in.size(); ++i) {
        out[i] = step(in[i]);
        // A foreign trigger may have rolled the whole transaction back; then the neighbours' rows are gone, too.
        if (out[i] || ((rows.code() == SQLITE_OK || only_this_row(rows.code())) && rows.in_transaction())) continue;
        lost = out[i].error();
        return false;
    }
    return true;
}

}  // namespace

Result<Rows*> Session::rows(Deadline deadline) {
    if (!connection_) {
        auto opened = file_->connect(deadline);
        if (!opened) return std::move(opened).error();
        connection_ = std::move(*opened);
    }
    connection_->wait_until(file_->bounded(deadline));
    auto rows = connection_->rows(table_);
    if (!rows) drop_if_spent(sqlite3_extended_errcode(connection_->get()));
    return rows;
}

void Session::drop_if_spent(int code) {
    if (connection_is_spent(code)) connection_.reset();
}

template <class Step>
Result<void> Session::write_transaction(Deadline deadline, Step step, bool* locked) {
    const auto asked = std::chrono::steady_clock::now();
    const Turn turn(file_->turn(), file_->bounded(deadline));
    if (auto mine = turn.check(); !mine) {
        file_->turn()->stalls().blocked(asked);
        return mine;
    }
    auto rows = this->rows(deadline);
    if (!rows) return std::move(rows).error();
    if (const int code = connection_->begin_immediate(); code != SQLITE_OK) {
        Error error = error_of(connection_->get(), "begin a transaction");
        if (error.kind() == ErrorKind::overloaded) file_->turn()->stalls().blocked(asked);
        drop_if_spent(code);
        return error;
    }
    const Stalls stalls = file_->turn()->stalls().passed(asked);
    if (locked) *locked = true;
    if (auto done = step(**rows, file_->now(), stalls); !done) {
        connection_->rollback();
        drop_if_spent((*rows)->code());
        return done;
    }
    const int code = connection_->commit();
    if (code == SQLITE_OK) return {};
    Error error = error_of(connection_->get(), "commit");
    connection_->rollback();
    drop_if_spent(code);
    if (commit_surely_failed(code)) return error;
    return Error(ErrorKind::maybe_applied, error.message(), error.detail(), error.hint()).with_code(error.code());
}

template <class Step>
Result<void> Session::read_transaction(Deadline deadline, Step step) {
    auto rows = this->rows(deadline);
    if (!rows) return std::move(rows).error();
    if (const int code = connection_->begin_read(); code != SQLITE_OK) {
        Error error = error_of(connection_->get(), "read");
        drop_if_spent(code);
        return error;
    }
    auto done = step(**rows, file_->now());
    connection_->rollback();
    if (!done) drop_if_spent((*rows)->code());
    return done;
}

void Session::write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished,
                    std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun, Deadline deadline) {
    if (finishes.empty() && begins.empty()) return;
    if (finishes.empty()) return begin(begins, begun, deadline);
    auto done =
        write_transaction(deadline, [&](Rows& rows, const StoreTime& now, const Stalls& stalls) -> Result<void> {
            std::optional<Error> lost;
            if (!each(rows, finishes, finished, lost, [&](const FinishRequest& one) { return rows.finish(one, now); }))
                return std::move(*lost);
            if (begins.empty()) return {};
            if (auto floor = rows.read_floor(); !floor) return floor;
            if (!each(rows, begins, begun, lost, [&](const BeginRequest& one) { return rows.begin(one, now, stalls); }))
                return std::move(*lost);
            return {};
        });
    if (done) return;
    fill(finished, done.error());
    fill(begun, done.error());
}

void Session::finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) {
    write(in, out, {}, {}, deadline);
}

void Session::begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    std::vector<std::size_t> left(in.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    bool locked = false;
    const auto write_what_is_left = [&](Deadline until) {
        return write_transaction(
            until,
            [&](Rows& rows, const StoreTime& now, const Stalls& stalls) -> Result<void> {
                if (auto floor = rows.read_floor(); !floor) return floor;
                std::optional<Error> lost;
                for (const std::size_t at : left) {
                    if (!each(rows, in.subspan(at, 1), out.subspan(at, 1), lost,
                              [&](const BeginRequest& one) { return rows.begin(one, now, stalls); }))
                        return std::move(*lost);
                }
                return {};
            },
            &locked);
    };

    auto done = write_what_is_left(std::min(deadline, std::chrono::steady_clock::now() + short_wait));
    if (done) return;
    if (!locked && done.error().kind() == ErrorKind::overloaded) {
        // One long transaction holds the file. Its readers see what was committed before, and a committed answer stays
        // true.
        if (answer_without_writing(in, out, left, false, deadline)) return;
        done = write_what_is_left(deadline);
        if (done) return;
        // Still locked: a row in PROCESSING is left to whoever holds the lock, for its owner may be the one.
        if (!locked && done.error().kind() == ErrorKind::overloaded &&
            answer_without_writing(in, out, left, true, deadline))
            return;
    }
    for (const std::size_t at : left) out[at] = done.error();
}

bool Session::answer_without_writing(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out,
                                     std::vector<std::size_t>& left, bool processing_counts, Deadline deadline) {
    auto read = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
        std::vector<std::size_t> still_left;
        for (const std::size_t at : left) {
            auto answer = rows.peek(in[at], now.millis, processing_counts);
            if (!answer && rows.code() != SQLITE_OK) return std::move(answer).error();
            if (!answer)
                out[at] = std::move(answer).error();
            else if (*answer)
                out[at] = std::move(**answer);
            else
                still_left.push_back(at);
        }
        left = std::move(still_left);
        return {};
    });
    return read && left.empty();
}

void Session::renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    auto done = write_transaction(deadline, [&](Rows& rows, const StoreTime& now, const Stalls&) -> Result<void> {
        std::optional<Error> lost;
        if (!each(rows, in, out, lost, [&](const RenewRequest& one) { return rows.renew(one, now); }))
            return std::move(*lost);
        return {};
    });
    if (!done) fill(out, done.error());
}

void Session::find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) {
    if (in.empty()) return;
    auto done = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
        std::optional<Error> lost;
        if (!each(rows, in, out, lost, [&](const FindRequest& one) { return rows.find(one.trace_id, now.millis); }))
            return std::move(*lost);
        return {};
    });
    if (!done) fill(out, done.error());
}

Result<std::vector<Record>> Session::recover(const RecoverRequest& request, Deadline deadline) {
    std::vector<Record> moved;
    bool anything = false;
    auto done = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
        auto found = rows.anything_to_recover(request, now.millis);
        if (!found) return std::move(found).error();
        anything = *found;
        return {};
    });
    if (done && anything)
        done = write_transaction(deadline, [&](Rows& rows, const StoreTime& now, const Stalls& stalls) -> Result<void> {
            auto records = rows.recover(request, now.millis, stalls);
            if (!records) return std::move(records).error();
            moved = std::move(*records);
            return {};
        });
    if (!done) return std::move(done).error();
    return moved;
}

Result<std::size_t> Session::clean(const CleanRequest& request, Deadline deadline) {
    std::size_t deleted = 0;
    while (deleted < request.limit) {
        bool anything = false;
        auto done = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
            auto found = rows.anything_to_clean(now.millis);
            if (!found) return std::move(found).error();
            anything = *found;
            return {};
        });
        std::size_t step = 0;
        if (done && anything)
            done = write_transaction(deadline, [&](Rows& rows, const StoreTime& now, const Stalls&) -> Result<void> {
                auto removed = rows.clean(std::min(request.limit - deleted, rows_of_one_clean_up_commit), now.millis);
                if (!removed) return std::move(removed).error();
                step = *removed;
                return {};
            });
        // What earlier steps committed is done; the caller comes again for the rest.
        if (!done && deleted == 0) return std::move(done).error();
        if (!done || step == 0) break;
        deleted += step;
    }
    return deleted;
}

Result<bool> Session::purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) {
    bool there = false;
    auto done = write_transaction(deadline, [&](Rows& rows, const StoreTime&, const Stalls&) -> Result<void> {
        auto purged = rows.purge(trace_id, version);
        if (!purged) return std::move(purged).error();
        there = *purged;
        return {};
    });
    if (!done) return std::move(done).error();
    return there;
}

Result<Leases> Session::leases(Deadline deadline) {
    Leases counted;
    auto done = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
        auto leases = rows.leases(now.millis);
        if (!leases) return std::move(leases).error();
        counted = *leases;
        return {};
    });
    if (!done) return std::move(done).error();
    return counted;
}

Result<RowPage> Session::page(std::string_view after, std::size_t limit, Deadline deadline) {
    RowPage page;
    auto done = read_transaction(deadline, [&](Rows& rows, const StoreTime& now) -> Result<void> {
        auto found = rows.page(after, limit, now.millis);
        if (!found) return std::move(found).error();
        page = std::move(*found);
        return {};
    });
    if (!done) return std::move(done).error();
    return page;
}

void Session::rewrite(std::span<const RewriteRequest> in, std::span<Result<bool>> out, Deadline deadline) {
    if (in.empty()) return;
    auto done = write_transaction(deadline, [&](Rows& rows, const StoreTime&, const Stalls&) -> Result<void> {
        std::optional<Error> lost;
        if (!each(rows, in, out, lost, [&](const RewriteRequest& one) { return rows.rewrite(one); }))
            return std::move(*lost);
        return {};
    });
    if (!done) fill(out, done.error());
}

Result<StoreMillis> Session::now(Deadline) { return file_->now().millis; }

Result<std::string> Session::key_rule(std::string_view operation, std::string_view digest, bool accept,
                                      Deadline deadline) {
    std::optional<std::string> standing;
    if (!accept) {
        auto read = read_transaction(deadline, [&](Rows& rows, const StoreTime&) -> Result<void> {
            auto known = rows.known_key_rule(operation);
            if (!known) return std::move(known).error();
            standing = std::move(*known);
            return {};
        });
        if (!read) return std::move(read).error();
        if (standing) return std::move(*standing);
    }
    auto done = write_transaction(deadline, [&](Rows& rows, const StoreTime& now, const Stalls&) -> Result<void> {
        auto kept = rows.key_rule(operation, digest, accept, now.millis);
        if (!kept) return std::move(kept).error();
        standing = std::move(*kept);
        return {};
    });
    if (!done) return std::move(done).error();
    return std::move(*standing);
}

}  // namespace nebis::sqlite
