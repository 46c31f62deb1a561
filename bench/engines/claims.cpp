// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "engines.hpp"
#include "workload.hpp"

#include <libpq-fe.h>
#include <mysql.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

/// `atomic` with one business insert on eight connections: what the record adds to a transaction that happens anyway.
namespace nebis::bench {
namespace {

constexpr std::size_t connections = 8;

/// One connection of the business's own.
class Link {
public:
    virtual ~Link() = default;
    virtual void run(const char* sql) = 0;
};

class PostgresLink final : public Link {
public:
    PostgresLink() {
        const std::string words =
            "host=127.0.0.1 user=app dbname=postgres sslmode=disable port=" + std::to_string(postgres_server().port());
        connection_.reset(PQconnectdb(words.c_str()));
    }
    void run(const char* sql) override { run(connection_.get(), sql); }
    static void run(void* transaction, const char* sql) {
        auto* const connection = static_cast<PGconn*>(transaction);
        PGresult* const result = PQexec(connection, sql);
        const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        if (!done) give_up(PQerrorMessage(connection));
    }

private:
    struct Close {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    std::unique_ptr<PGconn, Close> connection_;
};

class MariadbLink final : public Link {
public:
    MariadbLink() : connection_(mysql_init(nullptr)) {
        if (!mysql_real_connect(connection_.get(), "127.0.0.1", "app", "app-secret", "app", mariadb_server().port(),
                                nullptr, 0))
            give_up(mysql_error(connection_.get()));
    }
    void run(const char* sql) override { run(connection_.get(), sql); }
    static void run(void* transaction, const char* sql) {
        auto* const connection = static_cast<MYSQL*>(transaction);
        if (mysql_query(connection, sql) != 0) give_up(mysql_error(connection));
    }

private:
    struct Close {
        void operator()(MYSQL* connection) const { mysql_close(connection); }
    };
    std::unique_ptr<MYSQL, Close> connection_;
};

struct Database {
    std::string name;
    const char* table;
    std::function<std::unique_ptr<Link>()> link;
    void (*run)(void* transaction, const char* sql);
    std::function<std::shared_ptr<Store>(const std::string& table)> store;
    std::shared_ptr<TransactionRunner> runner;
};

/// The insert of one order, as the text that a service would send.
const std::string& insert_order() {
    static const std::string sql =
        "INSERT INTO orders (customer, amount, note) VALUES (7, '129.90', '" + order_body() + "')";
    return sql;
}

/// So many at a time, each from a thread of its own, until `total` are done.
double rate_of(std::size_t total, const std::function<void(std::size_t thread, std::size_t count)>& work) {
    const std::size_t share = total / connections;
    const auto start = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t thread = 0; thread < connections; ++thread)
            threads.emplace_back([&, thread] { work(thread, share); });
    }
    return static_cast<double>(share * connections) / seconds_since(start);
}

class Business {
public:
    explicit Business(const Database& database) {
        for (std::size_t i = 0; i < connections; ++i) links_.push_back(database.link());
    }
    double rate(std::size_t total) {
        return rate_of(total, [this](std::size_t thread, std::size_t count) {
            for (std::size_t n = 0; n < count; ++n) {
                links_[thread]->run("BEGIN");
                links_[thread]->run(insert_order().c_str());
                links_[thread]->run("COMMIT");
            }
        });
    }

private:
    std::vector<std::unique_ptr<Link>> links_;
};

class Claimed {
public:
    Claimed(const Database& database, const std::string& table, Claim claim)
        : database_(database), engine_(open_engine(database.store(table))), operation_(operation(engine_, claim)) {
        for (std::size_t i = 0; i < connections; ++i) keys_.emplace_back(500 + i + (claim == Claim::inside ? 100 : 0));
    }
    double rate(std::size_t total) {
        const Handler handler =
            Handler::atomic(database_.runner, [run = database_.run](const Request&, void* transaction, Execution&) {
                run(transaction, insert_order().c_str());
                return order_answer();
            });
        Watch watch(Outcome::fresh);
        const double rate = rate_of(total, [&](std::size_t thread, std::size_t count) {
            Request request = order_request(keys_[thread].next());
            for (std::size_t n = 0; n < count; ++n) {
                keys_[thread].next(key_of(request));
                watch.look(engine_.run(operation_, request, handler));
            }
        });
        watch.check();
        return rate;
    }

private:
    static Operation operation(const Engine& engine, Claim claim) {
        Policy policy = order_policy();
        policy.mode = Mode::atomic;
        policy.claim = claim;
        return engine.operation(policy).value();
    }

    const Database& database_;
    Engine engine_;
    Operation operation_;
    std::vector<Keys> keys_;
};

void claims_on(Context& context, const Database& database) {
    const std::size_t total = context.count(6'400);
    database.link()->run(database.table);
    Business business(database);
    Claimed inside(database, "inside_record", Claim::inside), before(database, "before_record", Claim::before);
    const auto figures = context.interleave({
        {database.name + ": the business transaction alone", "tx/s", [&] { return business.rate(total); }},
        {database.name + ": claim: inside", "req/s", [&] { return inside.rate(total); }},
        {database.name + ": claim: before", "req/s", [&] { return before.rate(total); }},
    });
    context.at_least(database.name + "-claim-inside-to-before", ratio(figures[1], figures[2]), 1.25);
    context.at_least(database.name + "-claim-inside-to-business", ratio(figures[1], figures[0]), 0.60);
}

}  // namespace

void postgres_claims(Context& context) {
    auto options = postgres_options();
    options.create_schema = true;
    claims_on(context,
              {"postgres", "CREATE TABLE orders (id bigserial PRIMARY KEY, customer bigint, amount text, note text)",
               [] { return std::make_unique<PostgresLink>(); }, PostgresLink::run,
               [options](const std::string& table) { return postgres::store(options, table); },
               postgres::runner(postgres::Database(options))});
}

void mariadb_claims(Context& context) {
    auto options = mariadb_options();
    options.create_schema = true;
    claims_on(context, {"mariadb",
                        "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer BIGINT, amount TEXT, note "
                        "TEXT)",
                        [] { return std::make_unique<MariadbLink>(); }, MariadbLink::run,
                        [options](const std::string& table) { return mysql::store(options, table); },
                        mysql::runner(mysql::Database(options))});
}

}  // namespace nebis::bench
