// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/atomic_bench.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <mysql.h>

/// What the tests of `atomic` on MariaDB share: one record table, one business table.
namespace nebis::test {

/// The error's number, 0 when it went well.
inline unsigned sql_error(void* transaction, const std::string& sql) {
    auto* const connection = static_cast<MYSQL*>(transaction);
    if (mysql_real_query(connection, sql.data(), sql.size()) != 0) return mysql_errno(connection);
    for (;;) {
        mysql_free_result(mysql_store_result(connection));
        if (mysql_errno(connection) != 0) return mysql_errno(connection);
        const int more = mysql_next_result(connection);
        if (more < 0) return 0;
        if (more > 0) return mysql_errno(connection);
    }
}

struct MysqlParts {
    std::string address;
    Table table;
    mysql::Database database;
};

class AtomicBench : MysqlParts, public RunnerBench {
public:
    explicit AtomicBench(const MariadbServer& server) : AtomicBench(server.options(), server.address()) {}
    /// `address`: the server's own, past any proxy.
    AtomicBench(const mysql::Options& options, std::string address)
        : MysqlParts{std::move(address), Table(options), mysql::Database(options)},
          RunnerBench(MysqlParts::table, mysql::runner(MysqlParts::database)),
          orders_(MysqlParts::table.name() + "_orders") {
        ForeignMysql(MysqlParts::address)
            .run("CREATE TABLE " + orders_ + " (id VARCHAR(50) PRIMARY KEY, amount INT NOT NULL DEFAULT 0)");
    }

    const Table& table() const { return MysqlParts::table; }
    const mysql::Database& database() const { return MysqlParts::database; }
    const std::string& orders() const { return orders_; }
    const std::string& address() const { return MysqlParts::address; }

    std::string insert(const std::string& id) const { return "INSERT INTO " + orders_ + " (id) VALUES ('" + id + "')"; }
    /// The ordinary body: one order.
    Response place(void* transaction, const std::string& id = "o1") const {
        EXPECT_EQ(sql_error(transaction, insert(id)), 0U);
        return Response{201, {}, id, false};
    }
    TransactionRunner::Body placing(const std::string& id = "o1") const {
        return [this, id](void* transaction) { return place(transaction, id); };
    }
    int count() const { return std::stoi(ForeignMysql(address()).run("SELECT count(*) FROM " + orders_)); }
    /// Ends the connection that is in a transaction of ours, from outside.
    void terminate(void* transaction) const {
        const auto number = std::to_string(mysql_thread_id(static_cast<MYSQL*>(transaction)));
        ForeignMysql foreign(address());
        foreign.run("KILL " + number);
        eventually([&] {
            return foreign.run("SELECT count(*) FROM information_schema.processlist WHERE id=" + number) == "0";
        });
    }

private:
    std::string orders_;
};

/// Another's transaction that has these locks and wants that one: whoever is chosen, one of the two deadlocks. It is
/// the heavier one, so it isn't it.
class Crossing {
public:
    Crossing(const AtomicBench& bench, const std::string& has) : session_(bench.address()), orders_(bench.orders()) {
        session_.run("START TRANSACTION");
        for (int i = 0; i < 50; ++i)
            session_.run("INSERT INTO " + orders_ + " (id) VALUES ('heavy-" + std::to_string(i) + "')");
        session_.run(update(has));
    }
    std::string update(const std::string& id) const {
        return "UPDATE " + orders_ + " SET amount=1 WHERE id='" + id + "'";
    }
    /// Blocks until the other has given way.
    void want(const std::string& id) { session_.run(update(id)); }
    void roll_back() { session_.run("ROLLBACK"); }

private:
    ForeignMysql session_;
    std::string orders_;
};

}  // namespace nebis::test
