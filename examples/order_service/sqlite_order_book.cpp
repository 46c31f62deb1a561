// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"
#include "order_book.hpp"

#include <nebis/sqlite.hpp>

#include <memory>
#include <stdexcept>

namespace shop {
namespace {

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

Statement prepare(sqlite3* db, std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(db));
    return {raw, sqlite3_finalize};
}

bool next(sqlite3* db, const Statement& statement) {
    const int code = sqlite3_step(statement.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE) throw std::runtime_error(sqlite3_errmsg(db));
    return code == SQLITE_ROW;
}

std::string text(const Statement& statement, int column) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), column));
    return bytes == nullptr ? std::string() : bytes;
}

std::int64_t insert(sqlite3* transaction, const Order& order, std::uint64_t fencing_token) {
    const auto statement = prepare(
        transaction, "INSERT INTO orders (item, quantity, note, fencing_token) VALUES (?, ?, ?, ?) RETURNING id");
    sqlite3* const db = transaction;
    sqlite3_bind_text(statement.get(), 1, order.item.data(), static_cast<int>(order.item.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement.get(), 2, order.quantity);
    sqlite3_bind_text(statement.get(), 3, order.note.data(), static_cast<int>(order.note.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement.get(), 4, static_cast<sqlite3_int64>(fencing_token));
    if (!next(db, statement)) throw std::runtime_error("the order got no number");
    return sqlite3_column_int64(statement.get(), 0);
}

class SqliteOrderBook final : public OrderBook {
public:
    explicit SqliteOrderBook(const std::string& file)
        : db_(nebis::sqlite::Options{.path = file, .create_schema = true}) {
        const auto borrowed = connection();
        next(borrowed.get(), prepare(borrowed.get(),
                                     "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, "
                                     "quantity INTEGER NOT NULL, note TEXT NOT NULL, fencing_token INTEGER NOT NULL, "
                                     "placed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))"));
    }

    std::shared_ptr<nebis::Store> records() const override { return nebis::sqlite::store(db_); }

    void take_orders(nebis::http::Server& web, const nebis::Policy& policy, std::function<void()> packing) override {
        web.post("/orders", policy,
                 nebis::sqlite::atomic(db_, [packing = std::move(packing)](const nebis::Request& request, sqlite3* tx,
                                                                           nebis::Execution& execution) {
                     Order order = read_order(request);
                     order.id = insert(tx, order, execution.fencing_token());
                     pack(request, packing);
                     return order_reply(order);
                 }));
    }

    nebis::http::Reply list() const override {
        const auto borrowed = connection();
        const auto count = prepare(borrowed.get(), "SELECT count(*) FROM orders");
        next(borrowed.get(), count);
        std::vector<Order> latest;
        const auto rows =
            prepare(borrowed.get(), "SELECT id, item, quantity, note FROM orders ORDER BY id DESC LIMIT 50");
        while (next(borrowed.get(), rows))
            latest.push_back({sqlite3_column_int64(rows.get(), 0), text(rows, 1), sqlite3_column_int64(rows.get(), 2),
                              text(rows, 3)});
        return orders_reply(sqlite3_column_int64(count.get(), 0), latest);
    }

private:
    std::shared_ptr<sqlite3> connection() const {
        return db_.borrow(std::chrono::steady_clock::now() + std::chrono::seconds(2)).value();
    }

    nebis::sqlite::Database db_;
};

}  // namespace

std::unique_ptr<OrderBook> sqlite_order_book(const std::string& file) {
    return std::make_unique<SqliteOrderBook>(file);
}

}  // namespace shop
