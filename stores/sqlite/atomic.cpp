// SPDX-License-Identifier: Apache-2.0
#include "driver/atomic.hpp"

#include "errors.hpp"
#include "rows.hpp"
#include "sqlite_store.hpp"

#include <algorithm>
#include <thread>

namespace nebis::sqlite {
namespace {

using driver::body_ended_it;
using driver::ended;
using driver::found;
using runtime::StoreTime;
using Kind = AtomicReport::Kind;

/// Claim inside: how long the write lock is waited for before a snapshot is asked whether the key is answered already.
constexpr std::chrono::milliseconds short_wait{5};
constexpr int tries_to_settle = 3;

/// One attempt in one transaction. The order of the steps is the protocol's, "Rules of every atomic transaction".
class Attempt {
public:
    Attempt(detail::File& file, const AtomicClaim& claim, std::string table, Execution& execution, Deadline deadline)
        : file_(file),
          claim_(claim),
          table_(std::move(table)),
          execution_(execution),
          deadline_(deadline),
          version_(claim.version) {}

    AtomicReport run(const TransactionRunner::Body& body) {
        if (file_.turn()->is_with_this_thread()) return ended(Kind::rolled_back, nested());
        auto lent = file_.lend(deadline_);
        if (!lent) return ended(Kind::rolled_back, std::move(lent).error());
        connection_ = lent->get();

        if (claim_.inside) {
            // A duplicate of a finished key is answered from a snapshot when the lock isn't free at once.
            const auto soon = std::chrono::steady_clock::now() + short_wait;
            if (auto report = in_turn(std::min(soon, lock_deadline()), body)) return std::move(*report);
            if (auto report = answered_already()) return std::move(*report);
        }
        if (auto report = in_turn(lock_deadline(), body)) return std::move(*report);
        if (claim_.inside)
            if (auto report = answered_already()) return std::move(*report);
        return ended(Kind::rolled_back, std::move(busy_));
    }

private:
    static Error nested() {
        return Error(ErrorKind::unsupported,
                     "an `atomic` operation inside the body of another one on the same SQLite file", {},
                     "do it after the body has returned")
            .with_code("nested-atomic");
    }

    Deadline lock_deadline() const {
        const Deadline bounded = file_.bounded(deadline_);
        if (!claim_.inside || claim_.lock_wait.count() <= 0) return bounded;
        return std::min(bounded, std::chrono::steady_clock::now() + claim_.lock_wait);
    }

    /// Empty: the write lock wasn't had until then, and `busy_` says why.
    std::optional<AtomicReport> in_turn(Deadline until, const TransactionRunner::Body& body) {
        const auto asked = std::chrono::steady_clock::now();
        const Turn turn(file_.turn(), until);
        if (auto mine = turn.check(); !mine) {
            file_.turn()->stalls().blocked(asked);
            busy_ = std::move(mine).error();
            return {};
        }
        connection_->wait_until(until);
        if (connection_->begin_immediate() != SQLITE_OK) {
            Error error = error_of(connection_->get(), "begin a transaction");
            if (error.kind() != ErrorKind::overloaded) return ended(Kind::rolled_back, std::move(error));
            file_.turn()->stalls().blocked(asked);
            busy_ = std::move(error);
            return {};
        }
        stalls_ = file_.turn()->stalls().passed(asked);
        AtomicReport report = in_transaction(body);
        connection_->allow_commit(true);
        connection_->rollback();
        if (report.kind != Kind::ambiguous || !settle_) return report;
        // The turn is still ours, so nobody of this process is in the way.
        return settle(std::move(report));
    }

    AtomicReport in_transaction(const TransactionRunner::Body& body) {
        if (!claim_.unprotected) {
            auto rows = connection_->rows(table_);
            if (!rows) return ended(Kind::rolled_back, std::move(rows).error());
            rows_ = *rows;
            if (auto refused = claim(file_.now())) return std::move(*refused);
        }

        connection_->forget_rollback();
        connection_->allow_commit(false);
        if (connection_->begin_body() != SQLITE_OK)
            return ended(Kind::rolled_back, error_of(connection_->get(), "begin the body"));

        auto [report, threw] = driver::run_body(body, connection_->get());
        if (threw)
            return body_left_transaction_open() ? rolled_back(std::move(report)) : transaction_lost(std::move(report));
        // A body that lets SQLite roll back (a full disk, an explicit ROLLBACK) or tries to commit has ended the
        // transaction: what it wrote afterwards was refused by the commit hook. RELEASE would find an outer savepoint
        // of the body's own, so the hooks are asked as well.
        if (!body_left_transaction_open()) return transaction_lost(std::move(report));
        if (connection_->end_body(report.status == RecordStatus::success) != SQLITE_OK)
            return transaction_lost(std::move(report));
        return finish(std::move(report));
    }

    /// The record becomes ours, or still is. An answer: it isn't, and the body must not run.
    std::optional<AtomicReport> claim(const StoreTime& now) {
        if (!claim_.inside) {
            // The file's write lock is ours, so looking is locking.
            auto ours = rows_->holds(claim_.trace_id, claim_.version, claim_.owner);
            if (!ours) return ended(Kind::rolled_back, std::move(ours).error());
            if (!*ours) return ended(Kind::fenced_off);
            return {};
        }
        if (auto floor = rows_->read_floor(); !floor) return ended(Kind::rolled_back, std::move(floor).error());
        auto begun = rows_->claim(claim_.begin, now, stalls_, unwritten_);
        if (!begun) return ended(Kind::rolled_back, std::move(begun).error());
        if (begun->kind != BeginOutcome::Kind::acquired) {
            // An abandoned attempt that was found has become UNKNOWN: that much is kept.
            if (begun->kind == BeginOutcome::Kind::unknown && connection_->commit() != SQLITE_OK)
                return ended(Kind::rolled_back, error_of(connection_->get(), "commit"));
            return found(std::move(*begun));
        }
        begun_ = *begun;
        version_ = begun->version;
        driver::tell(execution_, *begun);
        return {};
    }

    bool body_left_transaction_open() {
        guarded_ = connection_->guarded();
        return guarded_ && connection_->in_transaction() && !connection_->rolled_back();
    }

    AtomicReport rolled_back(AtomicReport report) {
        connection_->rollback();
        report.kind = Kind::rolled_back;
        return report;
    }

    AtomicReport transaction_lost(AtomicReport report) {
        // With our commit hook in place nothing of it can have been committed; without it, nobody knows.
        report.kind = guarded_ ? Kind::rolled_back : Kind::ambiguous;
        if (!report.failure || !guarded_) report.error = body_ended_it();
        connection_->spend();
        return report;
    }

    AtomicReport finish(AtomicReport report) {
        const auto response = driver::kept(execution_, version_, report.response, claim_.max_response_bytes);
        if (!response) {
            report.error = response.error();
            return rolled_back(std::move(report));
        }
        const FinishRequest request = driver::end_of(claim_, version_, report.status, *response);
        if (!claim_.unprotected) {
            auto written = write_end(request);
            if (!written) {
                report.error = std::move(written).error();
                return rolled_back(std::move(report));
            }
            if (!*written) return ended(Kind::fenced_off);
        }

        connection_->allow_commit(true);
        const int code = connection_->commit();
        report.kind = Kind::committed;
        if (code == SQLITE_OK) {
            report.failure = nullptr;
            return report;
        }
        report.error = error_of(connection_->get(), "commit");
        if (connection_is_spent(code)) connection_->spend();
        connection_->rollback();
        const bool unknown = !commit_surely_failed(code);
        settle_ = unknown && !claim_.unprotected;  // without a record nobody can tell
        report.kind = unknown ? Kind::ambiguous : Kind::rolled_back;
        report.failure = nullptr;
        return report;
    }

    /// False: the record isn't this attempt's.
    Result<bool> write_end(const FinishRequest& request) {
        const StoreTime now = file_.now();
        if (unwritten_) return rows_->insert_finished(claim_.begin, begun_, request, now);
        auto finished = rows_->finish(request, now);
        if (!finished) return std::move(finished).error();
        return finished->applied;
    }

    // ---- an ambiguous commit is read back with a write: a plain read can't tell what a recovery of the log would
    // bring back -------

    AtomicReport settle(AtomicReport report) {
        for (int tried = 0; tried < tries_to_settle && std::chrono::steady_clock::now() < deadline_; ++tried) {
            auto fresh = file_.connect(deadline_);
            if (!fresh) continue;
            connection_ = fresh->get();
            connection_->wait_until(file_.bounded(deadline_));
            auto rows = connection_->rows(table_);
            if (!rows || connection_->begin_immediate() != SQLITE_OK) continue;
            rows_ = *rows;
            auto settled = claim_.inside ? look_by_insert() : look_by_fail();
            if (settled && connection_->commit() == SQLITE_OK) {
                report.kind = settled->kind;
                report.begun = std::move(settled->begun);
                return report;
            }
            connection_->rollback();
        }
        return report;
    }

    std::optional<AtomicReport> look_by_fail() {
        FinishRequest request;
        request.trace_id = claim_.trace_id;
        request.version = claim_.version;
        request.owner = claim_.owner;
        request.status = RecordStatus::fail;
        request.retention_millis = claim_.retention_millis;
        auto failed = rows_->finish(request, file_.now());
        if (!failed || (!failed->applied && !failed->current)) return {};
        if (failed->applied) return ended(Kind::rolled_back);
        const Record& row = *failed->current;
        if (row.version != claim_.version) return ended(Kind::fenced_off);
        return ended(is_terminal(row.status) ? Kind::committed : Kind::rolled_back);
    }

    std::optional<AtomicReport> look_by_insert() {
        BeginRequest again = claim_.begin;
        again.not_after = 0;
        if (auto floor = rows_->read_floor(); !floor) return {};
        auto begun = rows_->begin(again, file_.now(), stalls_);
        if (!begun) return {};
        if (begun->kind != BeginOutcome::Kind::acquired) {
            if (begun->record && begun->record->owner == claim_.owner && begun->record->version == version_)
                return ended(Kind::committed);
            return found(std::move(*begun));
        }
        FinishRequest request;
        request.trace_id = claim_.trace_id;
        request.version = begun->version;
        request.owner = claim_.owner;
        request.status = RecordStatus::fail;
        request.retention_millis = claim_.retention_millis;
        auto failed = rows_->finish(request, file_.now());
        if (!failed || !failed->applied) return {};
        return ended(Kind::rolled_back);
    }

    std::optional<AtomicReport> answered_already() {
        auto rows = connection_->rows(table_);
        if (!rows || connection_->begin_read() != SQLITE_OK) return {};
        auto answer = (*rows)->peek(claim_.begin, file_.now().millis, false);
        connection_->rollback();
        if (!answer || !*answer) return {};
        return found(std::move(**answer));
    }

    detail::File& file_;
    const AtomicClaim& claim_;
    const std::string table_;
    Execution& execution_;
    const Deadline deadline_;
    Connection* connection_ = nullptr;
    Rows* rows_ = nullptr;
    std::uint64_t version_;
    Stalls stalls_;
    BeginOutcome begun_;      // claim inside
    bool unwritten_ = false;  // claim inside, and a key without a row: it is written at the end, once
    bool guarded_ = true;
    bool settle_ = false;
    std::optional<Error> busy_;
};

class Runner final : public TransactionRunner {
public:
    explicit Runner(std::shared_ptr<detail::File> file) : file_(std::move(file)) {}

    AtomicReport run(const AtomicClaim& claim, Execution& execution, const Body& body, Deadline deadline) override {
        const auto* const store = dynamic_cast<const SqliteStore*>(claim.store);
        return Attempt(*file_, claim, store ? store->table() : driver::default_table, execution, deadline).run(body);
    }

    bool serves(const Store& store) const noexcept override {
        const auto* const ours = dynamic_cast<const SqliteStore*>(&store);
        return ours && ours->file().same_as(*file_);
    }

private:
    std::shared_ptr<detail::File> file_;
};

}  // namespace

std::shared_ptr<TransactionRunner> runner(const Database& database) {
    return std::make_shared<Runner>(database.file());
}

Result<void> finish_in(const Execution& execution, sqlite3* transaction, const Response& response,
                       const FinishIn& how) {
    if (sqlite3_get_autocommit(transaction) != 0) return driver::no_transaction("BEGIN IMMEDIATE");
    if (auto good = driver::check(how); !good) return good;
    Rows rows;
    if (auto ready = rows.prepare(transaction, std::string(how.table), Rows::Part::finish); !ready) return ready;
    const auto stored = driver::kept(execution, execution.fencing_token(), response, how.max_response_bytes);
    if (!stored) return stored.error();
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    const FinishRequest request = driver::end_of(execution, how, *stored);
    auto finished = rows.finish(request, {micros / 1000, static_cast<std::uint64_t>(micros)});
    if (!finished) return std::move(finished).error();
    if (finished->applied) return {};
    return driver::taken_over();
}

}  // namespace nebis::sqlite
