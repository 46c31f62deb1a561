// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"
#include "sqlite_ours.hpp"

#include <chrono>
#include <cstdint>
#include <string>

/// `atomic` with one business insert, one blocking caller: what the record adds to a transaction that happens anyway.
namespace nebis::bench {
namespace {

constexpr const char* table = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, amount TEXT, note TEXT)";

/// The business: one prepared insert per connection.
class Insert {
public:
    void run(sqlite3* db) {
        if (db_ != db) {
            sqlite3_finalize(statement_);
            statement_ = nullptr;
            if (sqlite3_prepare_v3(db, "INSERT INTO orders (customer, amount, note) VALUES (?1, '129.90', ?2)", -1,
                                   SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK)
                give_up(sqlite3_errmsg(db));
            db_ = db;
        }
        sqlite3_bind_int64(statement_, 1, ++customer_);
        sqlite3_bind_text(statement_, 2, order_body().data(), static_cast<int>(order_body().size()), SQLITE_STATIC);
        if (sqlite3_step(statement_) != SQLITE_DONE) give_up(sqlite3_errmsg(db));
        sqlite3_reset(statement_);
    }
    ~Insert() { sqlite3_finalize(statement_); }

private:
    sqlite3* db_ = nullptr;
    sqlite3_stmt* statement_ = nullptr;
    std::int64_t customer_ = 0;
};

double business_rate(const Context& context, std::size_t total) {
    SqliteFloorFile file(context);
    SqliteFloor& floor = file.floor;
    floor.execute(table);
    double rate = 0;
    {
        Insert insert;
        const auto start = Clock::now();
        for (std::size_t n = 0; n < total; ++n) {
            floor.begin_transaction();
            insert.run(floor.connection());
            floor.commit();
        }
        rate = static_cast<double>(total) / seconds_since(start);
    }
    return rate;
}

double claim_rate(const Context& context, std::size_t total, Claim claim) {
    Policy policy = order_policy();
    policy.mode = Mode::atomic;
    policy.claim = claim;
    const SqliteOurs ours(context, policy);
    const auto soon = [] { return Clock::now() + std::chrono::seconds(10); };
    auto made = ours.database.borrow(soon()).value();
    if (sqlite3_exec(made.get(), table, nullptr, nullptr, nullptr) != SQLITE_OK) give_up(sqlite3_errmsg(made.get()));
    made.reset();

    Insert insert;
    const Handler handler =
        Handler::atomic(sqlite::runner(ours.database), [&](const Request&, void* transaction, Execution&) {
            insert.run(static_cast<sqlite3*>(transaction));
            return order_answer();
        });
    Keys keys(6);
    Request request = order_request(keys.next());
    const auto start = Clock::now();
    for (std::size_t n = 0; n < total; ++n) {
        keys.next(key_of(request));
        const Answer answer = ours.engine.run(ours.operation, request, handler);
        if (answer.outcome != Outcome::fresh || answer.failure) expect(answer, Outcome::replayed);
    }
    return static_cast<double>(total) / seconds_since(start);
}

}  // namespace

void claims(Context& context) {
    const std::size_t total = context.count(5'000);
    const auto figures = context.interleave({
        {"the business transaction alone", "tx/s", [&] { return business_rate(context, total); }},
        {"claim: inside", "req/s", [&] { return claim_rate(context, total, Claim::inside); }},
        {"claim: before", "req/s", [&] { return claim_rate(context, total, Claim::before); }},
    });
    context.at_least("claim-inside-to-before", ratio(figures[1], figures[2]), 1.6);
    context.at_least("claim-inside-to-business", ratio(figures[1], figures[0]), 0.80);
}

}  // namespace nebis::bench
