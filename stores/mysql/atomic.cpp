// SPDX-License-Identifier: Apache-2.0
#include "driver/atomic.hpp"

#include "driver/begin_outcomes.hpp"
#include "errors.hpp"
#include "mysql_store.hpp"
#include "pool.hpp"
#include "requests.hpp"
#include "transaction.hpp"

#include <algorithm>
#include <utility>

namespace nebis::mysql {
namespace {

using driver::ended;
using driver::found;
using driver::not_committed;
using runtime::BeginVerdict;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Kind = AtomicReport::Kind;

/// One attempt in one transaction. The order of the steps is the protocol's, "Rules of every atomic transaction". Until
/// COMMIT is sent, whatever goes wrong is surely rolled back: the server refuses every other commit (`Transaction`).
class Attempt {
public:
    Attempt(detail::Pool& pool, const AtomicClaim& claim, const std::string& table, const Execution& execution,
            Deadline deadline)
        : pool_(pool),
          claim_(claim),
          table_(table),
          quoted_("`" + table + "`"),
          execution_(execution),
          deadline_(deadline),
          version_(claim.version) {}

    AtomicReport run(const TransactionRunner::Body& body) {
        auto lent = pool_.lend(deadline_);
        if (!lent) return ended(Kind::rolled_back, std::move(lent).error());
        connection_ = lent->get();
        Transaction transaction(*connection_, pool_.options(), claim_.owner);
        transaction_ = &transaction;
        AtomicReport report = in_transaction(body);
        if (report.kind != Kind::committed && report.kind != Kind::ambiguous && !rolled_back_)
            transaction.roll_back(bounded());
        return report;
    }

private:
    using Refused = std::optional<AtomicReport>;  ///< empty: the record is ours and locked, the body may run

    /// No step of ours waits longer for the server than a statement may take.
    Deadline bounded() const { return std::min(deadline_, steady_clock::now() + pool_.options().statement_timeout); }
    milliseconds left() const { return std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now()); }

    static AtomicReport failed(Error error) { return ended(Kind::rolled_back, surely_not_applied(std::move(error))); }

    AtomicReport in_transaction(const TransactionRunner::Body& body) {
        if (auto refused = claim()) return std::move(*refused);
        auto [report, threw] = driver::run_body(body, connection_->lend());
        const bool whole = connection_->take_back();
        if (threw) return report;  // rolled back
        if (!whole) return not_committed(std::move(report), driver::body_left_it_unusable());
        return finish(std::move(report));
    }

    Refused claim() {
        if (claim_.unprotected) return claim_nothing();
        return claim_.inside ? claim_inside() : claim_before();
    }

    Refused claim_nothing() {
        Script script;
        transaction_->write_start(script);
        transaction_->write_body(script, left());
        if (auto open = connection_->run(script, bounded()); !open) return failed(std::move(open).error());
        return {};
    }

    Refused claim_before() {
        Script script;
        transaction_->write_ours(script);
        transaction_->write_start(script);
        script.open("SELECT 1 FROM ").sql(quoted_);
        write_mine(script, claim_.trace_id, claim_.version, claim_.owner);
        const auto mine = script.sql(" AND status IN (0,4) FOR UPDATE").close();
        transaction_->write_body(script, left());
        auto locked = connection_->run(script, bounded());
        if (!locked) return failed(std::move(locked).error());
        if ((*locked)[mine].size() == 0) return ended(Kind::fenced_off);
        return {};
    }

    // ---- claim inside

    Refused claim_inside() {
        const BeginRequest& wanted = claim_.begin;
        Script script;
        transaction_->write_ours(script);
        // Who has the key's lock may insert without waiting, and whose transaction had it has ended.
        script.open("SELECT ");
        write_key_lock(script, table_, wanted.trace_id, longest_wait());
        script.sql(" INTO @free").close();
        transaction_->write_start(script);
        write_clock(script);
        script.open("SELECT @free");
        if (wanted.not_after != 0) script.sql(" AND @ms<=").number(wanted.not_after);
        script.sql(" AND NOT EXISTS (SELECT 1 FROM ").sql(quoted_).sql(" WHERE trace_id=").bytes(wanted.trace_id);
        script.sql(") INTO @free").close();
        write_new_version(script, table_);
        script.open("INSERT INTO ").sql(quoted_).sql(new_columns).sql(" SELECT ");
        write_values(script, wanted);
        const auto inserted = script.sql(" FROM DUAL WHERE @free").close();
        const auto clock = script.statement("SELECT @ms,@v");
        transaction_->write_body(script, left());
        auto answers = connection_->run(script, bounded());
        if (!answers) return held_or_failed(std::move(answers).error());
        if ((*answers)[inserted].affected() == 0) return claim_existing();
        const Answer& told = (*answers)[clock];
        ours(driver::acquired(static_cast<std::uint64_t>(told.number(0, 1)), 1, claim_.owner, told.number(0, 0)));
        return {};
    }

    Refused claim_existing() {
        Script script;
        script.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE trace_id=");
        const auto row = script.bytes(claim_.trace_id).sql(" FOR UPDATE SKIP LOCKED").close();
        write_clock(script);  // read when the lock is had
        const auto clock = script.statement("SELECT @ms,@us");
        auto answers = connection_->run(script, bounded());
        if (!answers) return failed(std::move(answers).error());
        const StoreMillis now = (*answers)[clock].number(0, 0);
        if (runtime::late(claim_.begin, now)) return found(driver::late_at(now));
        // Who holds a row without the key's lock finishes it, renews it, or runs with `claim: before`.
        if ((*answers)[row].size() == 0) return found(driver::held_by_somebody(now));
        return judge((*answers)[row], {now, static_cast<std::uint64_t>((*answers)[clock].number(0, 1))});
    }

    /// A row was there, and is locked.
    Refused judge(const Answer& locked, const runtime::StoreTime& now) {
        auto head = read_head(locked, 0);
        if (!head) return failed(std::move(head).error());
        const auto verdict = runtime::judge_begin(*head, claim_.begin, now.millis);
        if (runtime::acquires(verdict)) return take(*head, verdict, now);
        auto begun = refused(locked, 0, *head, verdict, now.millis);
        if (!begun) return failed(std::move(begun).error());
        if (verdict == BeginVerdict::lapse) {
            if (auto kept = lapse(*head, now.millis); !kept) return failed(std::move(kept).error());
            begun->record->status = RecordStatus::unknown;
            begun->record->update_time = now.millis;
        }
        return found(*std::move(begun));
    }

    Refused take(const runtime::RowHead& head, BeginVerdict verdict, const runtime::StoreTime& now) {
        const auto made = runtime::begun_row(&head, verdict, claim_.begin, 0, now);
        Script script;
        transaction_->write_ours(script);
        const auto written = script.statements();
        write_taken(script, quoted_, claim_.begin, head, made);
        // The savepoint is set anew: a refusal takes back the body, not the claim.
        transaction_->write_body(script, left());
        auto taken = connection_->run(script, bounded());
        if (!taken) return failed(std::move(taken).error());
        if ((*taken)[written].affected() != 1) return ended(Kind::fenced_off);
        ours(driver::acquired(made.version, made.attempts, made.owner, now.millis));
        return {};
    }

    /// An abandoned attempt that was found has become UNKNOWN: that much is kept.
    Result<void> lapse(const runtime::RowHead& head, StoreMillis now) {
        Script script;
        script.open("UPDATE ").sql(quoted_).sql(" SET status=4,update_time=").number(now);
        write_mine(script, claim_.trace_id, head.version, head.owner);
        script.sql(" AND status=0").close();
        transaction_->write_end(script);
        if (auto written = connection_->run(script, bounded()); !written) return std::move(written).error();
        rolled_back_ = true;
        return transaction_->commit(bounded());
    }

    /// The insert waited in vain, or met a row that came meanwhile. What others have committed says what to tell.
    AtomicReport held_or_failed(Error error) {
        if (!is_lock_fault(error) && !is_duplicate(error)) return failed(std::move(error));
        transaction_->roll_back(bounded());
        rolled_back_ = true;
        if (!connection_->usable()) return failed(std::move(error));
        Script script;
        write_clock(script);
        const auto clock = script.statement("SELECT @ms");
        script.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE trace_id=");
        const auto row = script.bytes(claim_.trace_id).close();
        auto answers = connection_->run(script, bounded());
        connection_->spend();  // reading opened a transaction, and a ROLLBACK would count as a body's own
        if (!answers) return failed(std::move(answers).error());
        const StoreMillis now = (*answers)[clock].number(0, 0);
        const Answer& seen = (*answers)[row];
        // Another index than ours refused it.
        if (seen.size() == 0 && is_duplicate(error)) return failed(std::move(error));
        if (seen.size() == 0) return found(driver::held_by_somebody(now));
        auto head = read_head(seen, 0);
        if (!head) return failed(std::move(head).error());
        const auto verdict = runtime::judge_begin(*head, claim_.begin, now);
        // It might be had, but somebody is about to.
        if (runtime::acquires(verdict) || verdict == BeginVerdict::lapse) return found(driver::held_by_somebody(now));
        auto begun = refused(seen, 0, *head, verdict, now);
        if (!begun) return failed(std::move(begun).error());
        return found(*std::move(begun));
    }

    void ours(const BeginOutcome& begun) {
        version_ = begun.version;
        driver::tell(execution_, begun);
    }

    /// Below what the server allows a statement, and what we wait for its answer.
    milliseconds longest_wait() const {
        auto longest = std::chrono::duration_cast<milliseconds>(bounded() - steady_clock::now()) / 2;
        if (claim_.lock_wait.count() > 0) longest = std::min(longest, claim_.lock_wait);
        return std::max(longest, milliseconds(1));
    }

    // ---- after the body

    AtomicReport finish(AtomicReport report) {
        const auto response = driver::kept(execution_, version_, report.response, claim_.max_response_bytes);
        if (!response) return not_committed(std::move(report), response.error());
        const FinishRequest request = driver::end_of(claim_, version_, report.status, *response);
        Script script;
        transaction_->write_after_body(script, report.status == RecordStatus::rejected);
        std::optional<std::size_t> update;
        if (!claim_.unprotected) {
            write_clock(script);
            script.open("UPDATE ").sql(quoted_);
            write_finished(script, request);
            write_finishable(script, request);
            update = script.close();
        }
        transaction_->write_end(script);
        const auto written = connection_->run(script, bounded());
        if (auto fault = transaction_->fault_in(written, script, bounded()))
            return not_committed(std::move(report), *std::move(fault));
        if (update && (*written)[*update].affected() == 0) return ended(Kind::fenced_off);
        return commit(std::move(report));
    }

    AtomicReport commit(AtomicReport report) {
        auto committed = transaction_->commit(bounded());
        if (!committed && committed.error().kind() != ErrorKind::maybe_applied) {
            rolled_back_ = true;  // with its connection
            return not_committed(std::move(report), std::move(committed).error());
        }
        report.kind = committed ? Kind::committed : Kind::ambiguous;
        report.failure = nullptr;
        if (!committed) report.error = std::move(committed).error();
        return report;
    }

    detail::Pool& pool_;
    const AtomicClaim& claim_;
    const std::string table_, quoted_;
    const Execution& execution_;
    const Deadline deadline_;
    Connection* connection_ = nullptr;
    Transaction* transaction_ = nullptr;
    std::uint64_t version_;
    bool rolled_back_ = false;
};

class Runner final : public TransactionRunner {
public:
    explicit Runner(std::shared_ptr<detail::Pool> pool) : pool_(std::move(pool)) {}

    AtomicReport run(const AtomicClaim& claim, Execution& execution, const Body& body, Deadline deadline) override {
        const auto* const store = dynamic_cast<const MysqlStore*>(claim.store);
        return Attempt(*pool_, claim, store ? store->table() : driver::default_table, execution, deadline).run(body);
    }

    bool serves(const Store& store) const noexcept override {
        const auto* const ours = dynamic_cast<const MysqlStore*>(&store);
        if (!ours) return false;
        const Options &here = pool_->options(), &there = ours->options();
        return here.addresses == there.addresses && here.database == there.database;
    }

private:
    std::shared_ptr<detail::Pool> pool_;
};

}  // namespace

std::shared_ptr<TransactionRunner> runner(const Database& database) {
    return std::make_shared<Runner>(database.pool());
}

}  // namespace nebis::mysql
