// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/atomic_bench.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <libpq-fe.h>

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

struct PostgresParts {
    std::string address;
    Table table;
    postgres::Database database;
};

class AtomicBench : PostgresParts, public RunnerBench {
public:
    explicit AtomicBench(const PostgresServer& server) : AtomicBench(server.options(), server.address()) {}
    /// `address`: the server's own, past any proxy.
    AtomicBench(const postgres::Options& options, std::string address)
        : PostgresParts{std::move(address), Table(options), postgres::Database(options)},
          RunnerBench(PostgresParts::table, postgres::runner(PostgresParts::database)),
          orders_(PostgresParts::table.name() + "_orders") {
        ForeignSession(PostgresParts::address).run("CREATE TABLE " + orders_ + " (id text PRIMARY KEY)");
    }

    const Table& table() const { return PostgresParts::table; }
    const postgres::Database& database() const { return PostgresParts::database; }
    const std::string& orders() const { return orders_; }
    const std::string& address() const { return PostgresParts::address; }

    std::string insert(const std::string& id) const { return "INSERT INTO " + orders_ + " VALUES ('" + id + "')"; }
    /// The ordinary body: one order.
    Response place(void* transaction, const std::string& id = "o1") const {
        EXPECT_EQ(sql_state(transaction, insert(id)), "");
        return Response{201, {}, id, false};
    }
    TransactionRunner::Body placing(const std::string& id = "o1") const {
        return [this, id](void* transaction) { return place(transaction, id); };
    }
    int count() const { return std::stoi(ForeignSession(address()).run("SELECT count(*) FROM " + orders_)); }
    /// Ends the connection that is in a transaction of ours, from outside.
    void terminate(void* transaction) const {
        ForeignSession(address()).run("SELECT pg_terminate_backend(" +
                                      std::to_string(PQbackendPID(static_cast<PGconn*>(transaction))) + ", 10000)");
    }

private:
    std::string orders_;
};

}  // namespace nebis::test
