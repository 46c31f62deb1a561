// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "pool.hpp"
#include "postgres_store.hpp"
#include "requests.hpp"
#include "runtime/execution_state.hpp"
#include "runtime/sealing.hpp"
#include "schema.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace nebis::postgres {
namespace {

using Kind = AtomicReport::Kind;
using std::chrono::steady_clock;

constexpr const char* default_table = "idempotent_record";

AtomicReport ended(Kind kind, std::optional<Error> error = {}) {
    AtomicReport report;
    report.kind = kind;
    report.error = std::move(error);
    return report;
}

Error body_ended_it() {
    return Error(ErrorKind::misconfigured, "the `atomic` body ended the transaction it was given", {},
                 "leave BEGIN, COMMIT and ROLLBACK to the library; throw to roll back")
        .with_code("transaction-ended");
}

Error body_ignored_an_error() {
    return Error(ErrorKind::misconfigured, "the `atomic` body returned although one of its statements had failed", {},
                 "throw, or go back to a savepoint of the body's own")
        .with_code("transaction-aborted");
}

Error body_left_it_unusable() {
    return Error(ErrorKind::unavailable, "the `atomic` body left its connection broken or busy", {},
                 "read every answer before returning")
        .with_code("transaction-lost");
}

/// What is written into the record. The first caller gets the whole answer.
Response kept(const Response& response, std::size_t max_body) {
    if (max_body == 0 || response.body.size() <= max_body) return response;
    Response tombstone;
    tombstone.status = response.status;
    tombstone.tombstone = true;
    return tombstone;
}

/// One attempt in one transaction. The order of the steps is the protocol's, "Rules of every atomic transaction". Until
/// COMMIT is sent, whatever goes wrong is surely rolled back: the server refuses every other commit (`Sql::guard`).
class Attempt {
public:
    Attempt(detail::Pool& pool, const AtomicClaim& claim, std::string table, Execution& execution, Deadline deadline)
        : pool_(pool), claim_(claim), table_(std::move(table)), execution_(execution), deadline_(deadline) {}

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
    /// No step of ours waits longer for the server than a statement may take.
    Deadline bounded() const { return std::min(deadline_, steady_clock::now() + pool_.options().statement_timeout); }

    AtomicReport failed(Error error) const { return ended(Kind::rolled_back, surely_not_applied(std::move(error))); }

    void roll_back() {
        if (!connection_->usable() || !connection_->go_on({{Sql::roll_back}}, bounded())) connection_->spend();
    }

    AtomicReport in_transaction(const TransactionRunner::Body& body) {
        if (auto refused = claim()) return std::move(*refused);
        PGconn* const handle = connection_->lend();
        if (!handle) return ended(Kind::rolled_back, body_left_it_unusable());

        AtomicReport report;
        try {
            report.response = body(handle);
            report.status = RecordStatus::success;
        } catch (const Rejected& refusal) {
            report.failure = std::current_exception();
            report.status = RecordStatus::rejected;
            report.response.status = refusal.status();
            report.response.body = refusal.what();
        } catch (...) {
            report.failure = std::current_exception();
            connection_->take_back();
            return report;  // rolled back
        }
        return after_body(std::move(report), connection_->take_back());
    }

    /// The record is ours and locked. An answer: it isn't, and the body must not run.
    std::optional<AtomicReport> claim() {
        if (claim_.inside)
            return ended(Kind::rolled_back, Error(ErrorKind::unsupported, "`claim: inside` on PostgreSQL"));
        const Params left = time_left();
        if (claim_.unprotected) {
            auto rows = connection_->run({{Sql::open_atomic},
                                          {Sql::guard},
                                          {Sql::transaction_id},
                                          {Sql::body_timeouts, &left},
                                          {Sql::save_body}},
                                         bounded());
            if (!rows) return failed(std::move(rows).error());
            transaction_ = rows->at(2).bytes(0, 0);
            return {};
        }
        Params mine;
        mine.add(std::string(claim_.trace_id));
        mine.add(static_cast<std::int64_t>(claim_.version));
        mine.add(std::string(bytes_of(claim_.owner)));
        auto rows = connection_->run({{Sql::open_atomic},
                                      {Sql::guard},
                                      {Sql::transaction_id},
                                      {Sql::lock_mine, &mine},
                                      {Sql::body_timeouts, &left},
                                      {Sql::save_body}},
                                     bounded());
        if (!rows) return failed(std::move(rows).error());
        transaction_ = rows->at(2).bytes(0, 0);
        if (rows->at(3).size() == 0) return ended(Kind::fenced_off);
        return {};
    }

    /// What the server allows a statement of the body.
    Params time_left() const {
        using std::chrono::milliseconds;
        const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - steady_clock::now()).count();
        Params params;
        params.add(std::clamp<std::int64_t>(left, 1, std::numeric_limits<std::int32_t>::max()));
        return params;
    }

    AtomicReport after_body(AtomicReport report, Connection::Left left) {
        using Left = Connection::Left;
        const bool refused = report.status == RecordStatus::rejected;
        std::optional<Error> fault;
        if (left == Left::ended) fault = body_ended_it();
        if (left == Left::unusable) fault = body_left_it_unusable();
        if (left == Left::aborted && !refused) fault = body_ignored_an_error();
        if (fault) return not_committed(std::move(report), *std::move(fault));

        return finish(std::move(report));
    }

    AtomicReport not_committed(AtomicReport report, Error error) const {
        report.kind = Kind::rolled_back;
        // A refusal that isn't on record is none.
        report.failure = nullptr;
        report.error = surely_not_applied(std::move(error));
        return report;
    }

    AtomicReport finish(AtomicReport report) {
        const auto response =
            runtime::sealed_for(execution_.state().get(), kept(report.response, claim_.max_response_bytes),
                                claim_.trace_id, claim_.version);
        if (!response) return not_committed(std::move(report), response.error());
        FinishRequest request;
        request.trace_id = claim_.trace_id;
        request.version = claim_.version;
        request.owner = claim_.owner;
        request.status = report.status;
        request.response = &*response;
        request.retention_millis = claim_.retention_millis;
        const Params end = finished_rows(std::span(&request, 1));
        const Sql first = report.status == RecordStatus::rejected ? Sql::undo_body : Sql::release_body;
        auto written =
            claim_.unprotected
                ? connection_->go_on({{first}, {Sql::transaction_id}, {Sql::unguard}}, bounded())
                : connection_->go_on({{first}, {Sql::transaction_id}, {Sql::unguard}, {Sql::finish, &end}}, bounded());
        // An open transaction needn't be ours: its savepoint or its number tells.
        if (!written)
            return not_committed(std::move(report), written.error().code() == "postgres-3B001"
                                                        ? body_ended_it()
                                                        : std::move(written).error());
        if (written->at(1).bytes(0, 0) != transaction_) return not_committed(std::move(report), body_ended_it());
        if (!claim_.unprotected && written->at(3).size() == 0) return ended(Kind::fenced_off);

        auto committed = connection_->go_on({{Sql::commit}}, bounded());
        report.kind = Kind::committed;
        if (committed) {
            report.failure = nullptr;
            return report;
        }
        if (committed.error().kind() != ErrorKind::maybe_applied)
            return not_committed(std::move(report), std::move(committed).error());
        connection_->spend();
        report.kind = Kind::ambiguous;
        report.failure = nullptr;
        report.error = std::move(committed).error();
        return report;
    }

    detail::Pool& pool_;
    const AtomicClaim& claim_;
    const std::string table_;
    Execution& execution_;
    const Deadline deadline_;
    Connection* connection_ = nullptr;
    std::string transaction_;  ///< its number on the server
};

class Runner final : public TransactionRunner {
public:
    explicit Runner(std::shared_ptr<detail::Pool> pool) : pool_(std::move(pool)) {}

    AtomicReport run(const AtomicClaim& claim, Execution& execution, const Body& body, Deadline deadline) override {
        const auto* const store = dynamic_cast<const PostgresStore*>(claim.store);
        return Attempt(*pool_, claim, store ? store->table() : default_table, execution, deadline).run(body);
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
