// SPDX-License-Identifier: Apache-2.0
#include "driver/atomic.hpp"

#include "driver/begin_outcomes.hpp"
#include "errors.hpp"
#include "pool.hpp"
#include "postgres_store.hpp"
#include "requests.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace nebis::postgres {
namespace {

using driver::ended;
using driver::found;
using driver::not_committed;
using runtime::BeginVerdict;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Kind = AtomicReport::Kind;

/// One attempt in one transaction. The order of the steps is the protocol's, "Rules of every atomic transaction". Until
/// COMMIT is sent, whatever goes wrong is surely rolled back: the server refuses every other commit (`Sql::guard`).
class Attempt {
public:
    Attempt(detail::Pool& pool, const AtomicClaim& claim, std::string table, const Execution& execution,
            Deadline deadline)
        : pool_(pool),
          claim_(claim),
          table_(std::move(table)),
          execution_(execution),
          deadline_(deadline),
          version_(claim.version) {}

    AtomicReport run(const TransactionRunner::Body& body) {
        auto lent = pool_.lend(table_, deadline_);
        if (!lent) return ended(Kind::rolled_back, std::move(lent).error());
        connection_ = lent->get();
        AtomicReport report = in_transaction(body);
        if (report.kind != Kind::committed || connection_->in_transaction()) roll_back();
        connection_->forget_timeouts();
        return report;
    }

private:
    static constexpr std::size_t guarded = 1;     ///< which step's rows tell the transaction's number
    using Refused = std::optional<AtomicReport>;  ///< empty: the record is ours and locked, the body may run

    /// No step of ours waits longer for the server than a statement may take.
    Deadline bounded() const { return std::min(deadline_, steady_clock::now() + pool_.options().statement_timeout); }

    static AtomicReport failed(Error error) { return ended(Kind::rolled_back, surely_not_applied(std::move(error))); }

    void roll_back() {
        if (!connection_->usable() || !connection_->go_on({{Sql::roll_back}}, bounded())) connection_->spend();
    }

    AtomicReport in_transaction(const TransactionRunner::Body& body) {
        if (auto refused = claim()) return std::move(*refused);
        PGconn* const handle = connection_->lend();
        if (!handle) return ended(Kind::rolled_back, driver::body_left_it_unusable());
        auto [report, threw] = driver::run_body(body, handle);
        const auto left = connection_->take_back();
        if (threw) return report;  // rolled back
        return after_body(std::move(report), left);
    }

    Refused claim() {
        if (claim_.unprotected) return claim_nothing();
        return claim_.inside ? claim_inside() : claim_before();
    }

    Refused claim_nothing() {
        const Params left = time_left();
        auto rows = connection_->run({{Sql::open_atomic}, {Sql::guard}, {Sql::body_timeouts, &left}, {Sql::save_body}},
                                     bounded());
        if (!rows) return failed(std::move(rows).error());
        transaction_ = rows->at(guarded).bytes(0, 0);
        return {};
    }

    Refused claim_before() {
        const Params left = time_left();
        Params mine;
        mine.add(std::string(claim_.trace_id));
        mine.add(to_signed(claim_.version));
        mine.add(std::string(bytes_of(claim_.owner)));
        auto rows = connection_->run(
            {{Sql::open_atomic}, {Sql::guard}, {Sql::lock_mine, &mine}, {Sql::body_timeouts, &left}, {Sql::save_body}},
            bounded());
        if (!rows) return failed(std::move(rows).error());
        transaction_ = rows->at(guarded).bytes(0, 0);
        if (rows->at(2).size() == 0) return ended(Kind::fenced_off);
        return {};
    }

    // ---- claim inside

    Refused claim_inside() {
        const Params turn = key_and_longest_wait(), keys = key_in_array(), left = time_left(),
                     fresh = new_rows(std::span(&claim_.begin, 1));
        auto rows = connection_->run({{Sql::open_atomic},
                                      {Sql::guard},
                                      {Sql::wait_for_key, &turn},
                                      {Sql::insert_new, &fresh},
                                      {Sql::body_timeouts, &left},
                                      {Sql::save_body}},
                                     bounded());
        if (!rows) return is_lock_fault(rows.error()) ? held_too_long(keys) : failed(std::move(rows).error());
        transaction_ = rows->at(guarded).bytes(0, 0);
        const Rows& inserted = rows->at(3);
        if (inserted.size() == 0) return claim_existing(keys);
        ours(driver::acquired(static_cast<std::uint64_t>(inserted.number(0, 1)), 1, claim_.owner,
                              inserted.number(0, 2)));
        return {};
    }

    Refused claim_existing(const Params& keys) {
        auto rows = connection_->go_on({{Sql::lock, &keys}, {Sql::now}}, bounded());
        if (!rows) return failed(std::move(rows).error());
        const Rows& locked = rows->at(0);
        const StoreMillis now = rows->at(1).number(0, 0);
        if (runtime::late(claim_.begin, now)) return found(driver::late_at(now));
        // Who holds a row without the key's lock finishes it, renews it, or runs with `claim: before`.
        if (locked.size() == 0) return found(driver::held_by_somebody(now));
        return judge(locked, now);
    }

    /// A row was there, and is locked.
    Refused judge(const Rows& locked, StoreMillis now) {
        auto head = read_head(locked, 0, record_column);
        if (!head) return failed(std::move(head).error());
        const auto verdict = runtime::judge_begin(*head, claim_.begin, now);
        if (runtime::acquires(verdict)) return take(*head, verdict, now);
        auto begun = refused(locked, 0, *head, verdict, now);
        if (!begun) return failed(std::move(begun).error());
        if (verdict == BeginVerdict::lapse) {
            if (auto kept = lapse(*head, now); !kept) return failed(std::move(kept).error());
            begun->record->status = RecordStatus::unknown;
            begun->record->update_time = now;
        }
        return found(*std::move(begun));
    }

    Refused take(const runtime::RowHead& head, BeginVerdict verdict, StoreMillis now) {
        const runtime::StoreTime time{now, static_cast<std::uint64_t>(now) * 1000};
        const auto made = runtime::begun_row(&head, verdict, claim_.begin, 0, time);
        Taking taking;
        taking.add(claim_.begin, head, made);
        const Params row = taking.params();
        // A savepoint of its own: a refusal takes back the body, not the claim.
        auto taken = connection_->go_on({{Sql::take, &row}, {Sql::save_body}}, bounded());
        if (!taken) return failed(std::move(taken).error());
        if (taken->at(0).size() != 1) return ended(Kind::fenced_off);
        ours(driver::acquired(made.version, made.attempts, made.owner, now));
        return {};
    }

    /// An abandoned attempt that was found has become UNKNOWN: that much is kept.
    Result<void> lapse(const runtime::RowHead& head, StoreMillis now) {
        Array keys(bytea_type), versions(int8_type), owners(bytea_type), times(int8_type);
        keys.add(claim_.trace_id);
        versions.add(to_signed(head.version));
        owners.add(bytes_of(head.owner));
        times.add(now);
        Params row;
        for (Array* column : {&keys, &versions, &owners, &times}) row.add(std::move(*column));
        auto written = connection_->go_on({{Sql::lapse, &row}, {Sql::unguard}, {Sql::commit}}, bounded());
        if (!written) return std::move(written).error();
        return {};
    }

    /// The insert waited in vain. What others have committed says what to tell.
    AtomicReport held_too_long(const Params& keys) {
        roll_back();
        auto rows = connection_->usable() ? connection_->go_on({{Sql::find, &keys}}, bounded())
                                          : Result<std::vector<Rows>>(lost("the connection ended"));
        if (!rows) return failed(std::move(rows).error());
        const Rows& seen = rows->at(0);
        const StoreMillis now = seen.number(0, now_column);
        if (seen.is_null(0, record_column)) return found(driver::held_by_somebody(now));
        auto head = read_head(seen, 0, record_column);
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

    Params key_and_longest_wait() const {
        // Below what the server allows the whole statement, which may be half of what is left (see Connection::run).
        auto longest = std::chrono::duration_cast<milliseconds>(bounded() - steady_clock::now()) / 2;
        if (claim_.lock_wait.count() > 0) longest = std::min(longest, claim_.lock_wait);
        Params params;
        params.add(std::string(claim_.trace_id));
        params.add(std::max<std::int64_t>(longest.count(), 1));
        return params;
    }
    Params key_in_array() const {
        Array keys(bytea_type);
        keys.add(claim_.trace_id);
        Params params;
        params.add(std::move(keys));
        return params;
    }
    /// What the server allows a statement of the body.
    Params time_left() const {
        const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now()).count();
        Params params;
        params.add(std::clamp<std::int64_t>(left, 1, std::numeric_limits<std::int32_t>::max()));
        return params;
    }

    // ---- after the body

    AtomicReport after_body(AtomicReport report, Connection::Left left) {
        using Left = Connection::Left;
        const bool refusal = report.status == RecordStatus::rejected;
        if (left == Left::ended) return not_committed(std::move(report), driver::body_ended_it());
        if (left == Left::unusable) return not_committed(std::move(report), driver::body_left_it_unusable());
        if (left == Left::aborted && !refusal) return not_committed(std::move(report), driver::body_ignored_an_error());
        return finish(std::move(report));
    }

    AtomicReport finish(AtomicReport report) {
        const auto response = driver::kept(execution_, version_, report.response, claim_.max_response_bytes);
        if (!response) return not_committed(std::move(report), response.error());
        const FinishRequest request = driver::end_of(claim_, version_, report.status, *response);
        const Params end = finished_rows(std::span(&request, 1));
        const Sql first = report.status == RecordStatus::rejected ? Sql::undo_body : Sql::release_body;
        auto written = claim_.unprotected
                           ? connection_->go_on({{first}, {Sql::unguard}}, bounded())
                           : connection_->go_on({{first}, {Sql::unguard}, {Sql::finish, &end}}, bounded());
        // An open transaction needn't be ours: its savepoint or its number tells.
        if (!written) {
            const bool no_savepoint = written.error().code() == "postgres-3B001";
            return not_committed(std::move(report), no_savepoint ? driver::body_ended_it()
                                                                 : surely_not_applied(std::move(written).error()));
        }
        const Rows& guard = written->at(guarded);
        if (guard.size() == 0 || guard.bytes(0, 0) != transaction_)
            return not_committed(std::move(report), driver::body_ended_it());
        if (!claim_.unprotected && written->at(2).size() == 0) return ended(Kind::fenced_off);
        return commit(std::move(report));
    }

    AtomicReport commit(AtomicReport report) {
        auto committed = connection_->go_on({{Sql::commit}}, bounded());
        if (!committed && committed.error().kind() != ErrorKind::maybe_applied)
            return not_committed(std::move(report), std::move(committed).error());
        report.kind = committed ? Kind::committed : Kind::ambiguous;
        report.failure = nullptr;
        if (committed) return report;
        connection_->spend();
        report.error = std::move(committed).error();
        return report;
    }

    detail::Pool& pool_;
    const AtomicClaim& claim_;
    const std::string table_;
    const Execution& execution_;
    const Deadline deadline_;
    Connection* connection_ = nullptr;
    std::uint64_t version_;
    std::string transaction_;  ///< its number on the server
};

class Runner final : public TransactionRunner {
public:
    explicit Runner(std::shared_ptr<detail::Pool> pool) : pool_(std::move(pool)) {}

    AtomicReport run(const AtomicClaim& claim, Execution& execution, const Body& body, Deadline deadline) override {
        const auto* const store = dynamic_cast<const PostgresStore*>(claim.store);
        return Attempt(*pool_, claim, store ? store->table() : driver::default_table, execution, deadline).run(body);
    }

    bool serves(const Store& store) const noexcept override {
        const auto* const ours = dynamic_cast<const PostgresStore*>(&store);
        if (!ours) return false;
        // The role too: its search path decides where the table is.
        const Options &here = pool_->options(), &there = ours->options();
        return here.addresses == there.addresses && here.database == there.database && here.username == there.username;
    }

private:
    std::shared_ptr<detail::Pool> pool_;
};

}  // namespace

std::shared_ptr<TransactionRunner> runner(const Database& database) {
    return std::make_shared<Runner>(database.pool());
}

}  // namespace nebis::postgres
