// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/execution.hpp"
#include "runtime/execution_state.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <libpq-fe.h>

#include <stdexcept>

/// What the tests of `atomic` on PostgreSQL share: one record table, one business table.
namespace nebis::test {

/// The SQLSTATE, empty when it went well.
inline std::string sql_state(void* transaction, const std::string& sql) {
    PGresult* const result = PQexec(static_cast<PGconn*>(transaction), sql.c_str());
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const auto status = PQresultStatus(result);
    std::string text = state ? state : "";
    if (text.empty() && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) text = "lost";
    PQclear(result);
    return text;
}

class AtomicBench {
public:
    explicit AtomicBench(const PostgresServer& server) : AtomicBench(server.options(), server.address()) {}
    /// `address`: the server's own, past any proxy.
    AtomicBench(const postgres::Options& options, std::string address)
        : address_(std::move(address)),
          table_(options),
          database_(options),
          runner_(postgres::runner(database_)),
          orders_(table_.name() + "_orders") {
        ForeignSession(address_).run("CREATE TABLE " + orders_ + " (id text PRIMARY KEY)");
    }

    const Table& table() const { return table_; }
    const postgres::Database& database() const { return database_; }
    TransactionRunner& runner() const { return *runner_; }
    const std::string& orders() const { return orders_; }
    const std::string& address() const { return address_; }

    std::uint64_t acquire(std::string_view key, std::uint64_t owner = 1) const {
        const auto begun = table_.begin(key, owner);
        if (!begun || begun->kind != BeginOutcome::Kind::acquired) throw std::runtime_error("not acquired");
        return begun->version;
    }
    AtomicClaim before(std::string_view key, std::uint64_t version, std::uint64_t owner = 1) const {
        AtomicClaim claim;
        claim.version = version;
        claim.owner = owner_of(owner);
        claim.trace_id = key;
        claim.retention_millis = 3'600'000;
        claim.store = &table_.store();
        return claim;
    }
    AtomicClaim inside(std::string_view key, std::uint64_t owner = 1) const {
        AtomicClaim claim = before(key, 0, owner);
        claim.inside = true;
        claim.begin = begin_of(key, owner);
        return claim;
    }
    AtomicReport run(const AtomicClaim& claim, const TransactionRunner::Body& body, Deadline deadline = soon()) const {
        Execution execution(std::make_shared<runtime::ExecutionState>());
        return runner_->run(claim, execution, body, deadline);
    }

    std::string insert(const std::string& id) const { return "INSERT INTO " + orders_ + " VALUES ('" + id + "')"; }
    /// The ordinary body: one order.
    Response place(void* transaction, const std::string& id = "o1") const {
        EXPECT_EQ(sql_state(transaction, insert(id)), "");
        return Response{201, {}, id, false};
    }
    TransactionRunner::Body placing(const std::string& id = "o1") const {
        return [this, id](void* transaction) { return place(transaction, id); };
    }
    int count() const { return std::stoi(ForeignSession(address_).run("SELECT count(*) FROM " + orders_)); }
    /// The same after a restart.
    int count_when_up() const {
        int orders = -1;
        eventually([&] {
            try {
                orders = count();
            } catch (const std::runtime_error&) {}
            return orders >= 0;
        });
        return orders;
    }
    bool there_when_up(std::string_view key) const {
        Result<FindOutcome> found = FindOutcome{};
        eventually([&] { return (found = table_.find(key)).has_value(); });
        return found.value().record.has_value();
    }
    Record row(std::string_view key) const {
        Result<FindOutcome> found = FindOutcome{};
        if (!eventually([&] { return (found = table_.find(key)).has_value(); })) throw std::runtime_error("no server");
        if (!found->record) throw std::runtime_error("no such row");
        return *found->record;
    }
    bool there(std::string_view key) const { return table_.find(key).value().record.has_value(); }
    /// Ends the connection that is in a transaction of ours, from outside.
    void terminate(void* transaction) const {
        ForeignSession(address_).run("SELECT pg_terminate_backend(" +
                                     std::to_string(PQbackendPID(static_cast<PGconn*>(transaction))) + ", 10000)");
    }

private:
    std::string address_;
    Table table_;
    postgres::Database database_;
    std::shared_ptr<TransactionRunner> runner_;
    std::string orders_;
};

}  // namespace nebis::test
