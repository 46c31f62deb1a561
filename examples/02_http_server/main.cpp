// SPDX-License-Identifier: Apache-2.0
// An HTTP service whose orders are placed once, however often they are posted: order and record are one transaction.
#include <nebis/http.hpp>
#include <nebis/local.hpp>
#include <nebis/nebis.hpp>
#include <nebis/sqlite.hpp>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

Statement prepare(sqlite3* db, const char* text) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, text, -1, &statement, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(db));
    return {statement, &sqlite3_finalize};
}

std::string insert_order(sqlite3* tx, const std::string& what, std::uint64_t fencing_token) {
    const auto insert = prepare(tx, "INSERT INTO orders (what, token) VALUES (?, ?)");
    sqlite3_bind_text(insert.get(), 1, what.data(), static_cast<int>(what.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(insert.get(), 2, static_cast<sqlite3_int64>(fencing_token));
    if (sqlite3_step(insert.get()) != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(tx));
    return "order " + std::to_string(sqlite3_last_insert_rowid(tx)) + ": " + what + "\n";
}

int main(int argc, char** argv) {
    const nebis::sqlite::Database db(nebis::sqlite::Options{.path = "shop.db", .create_schema = true});
    {
        const auto connection = db.borrow(nebis::Deadline::clock::now() + std::chrono::seconds(5)).value();
        sqlite3_exec(connection.get(),
                     "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, what TEXT, token INTEGER)", nullptr,
                     nullptr, nullptr);
    }
    auto engine = nebis::Engine::make({.store = nebis::sqlite::store(db), .gate = nebis::local::gate()}).value();

    nebis::http::Server web(engine, {.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
    web.post("/orders",
             {.operation = "createOrder", .key = nebis::header("Idempotency-Key"), .mode = nebis::Mode::atomic},
             nebis::sqlite::atomic(db, [](const auto& request, sqlite3* tx, nebis::Execution& execution) {
                 if (request.body.empty()) throw nebis::Rejected("empty order");
                 return nebis::http::Reply{201, insert_order(tx, request.body, execution.fencing_token())};
             }));
    web.get("/orders", [&db](const nebis::http::Request&) {
        const auto connection = db.borrow(nebis::Deadline::clock::now() + std::chrono::seconds(5)).value();
        const auto count = prepare(connection.get(), "SELECT count(*) FROM orders");
        sqlite3_step(count.get());
        return nebis::http::Reply{200, std::to_string(sqlite3_column_int(count.get(), 0)) + " orders\n"};
    });
    web.start().value();
    std::cout << "listening on 127.0.0.1:" << web.port() << std::endl;
    web.run();  // until SIGINT or SIGTERM
}
