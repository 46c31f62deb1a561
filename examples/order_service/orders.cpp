// SPDX-License-Identifier: Apache-2.0
#include "orders.hpp"

#include "json.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <thread>

namespace shop {
namespace {

namespace json = boost::json;
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

std::chrono::milliseconds slowness(const nebis::Request& request) {
    const auto header = request.header("X-Slow-Millis");
    int millis = 0;
    if (header && *header != nullptr) std::from_chars((*header)->data(), (*header)->data() + (*header)->size(), millis);
    return std::chrono::milliseconds(std::clamp(millis, 0, 10'000));
}

std::shared_ptr<sqlite3> connection(const nebis::sqlite::Database& db) {
    return db.borrow(std::chrono::steady_clock::now() + std::chrono::seconds(2)).value();
}

}  // namespace

void create_orders_table(const nebis::sqlite::Database& db) {
    const auto borrowed = connection(db);
    const auto create = prepare(borrowed.get(),
                                "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, "
                                "quantity INTEGER NOT NULL, note TEXT NOT NULL, fencing_token INTEGER NOT NULL, "
                                "placed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))");
    next(borrowed.get(), create);
}

nebis::http::Reply place_order(const nebis::Request& request, sqlite3* transaction, const nebis::Execution& execution,
                               const std::function<void()>& packing) {
    const json::object order = json_body(request);
    const std::string item = text_member(order, "item");
    const std::string note = text_member(order, "note");
    const auto* quantity = order.if_contains("quantity");
    if (item.empty()) throw nebis::Rejected("an order needs an item");
    if (quantity == nullptr || !quantity->is_int64() || quantity->get_int64() < 1 || quantity->get_int64() > 1'000)
        throw nebis::Rejected("quantity must be between 1 and 1000");

    const auto insert = prepare(
        transaction, "INSERT INTO orders (item, quantity, note, fencing_token) VALUES (?, ?, ?, ?) RETURNING id");
    sqlite3_bind_text(insert.get(), 1, item.data(), static_cast<int>(item.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(insert.get(), 2, quantity->get_int64());
    sqlite3_bind_text(insert.get(), 3, note.data(), static_cast<int>(note.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int64(insert.get(), 4, static_cast<sqlite3_int64>(execution.fencing_token()));
    if (!next(transaction, insert)) throw std::runtime_error("the order got no number");
    const auto id = sqlite3_column_int64(insert.get(), 0);
    sqlite3_reset(insert.get());

    packing();
    if (const auto slow = slowness(request); slow.count() > 0) {
        std::clog << "packing slowly" << std::endl;
        std::this_thread::sleep_for(slow);
    }
    return json_reply(201, {{"order", id}, {"item", item}, {"quantity", quantity->get_int64()}, {"note", note}});
}

nebis::http::Reply list_orders(const nebis::sqlite::Database& db) {
    const auto borrowed = connection(db);
    const auto count = prepare(borrowed.get(), "SELECT count(*) FROM orders");
    next(borrowed.get(), count);
    json::array latest;
    const auto list = prepare(borrowed.get(), "SELECT id, item, quantity, note FROM orders ORDER BY id DESC LIMIT 50");
    while (next(borrowed.get(), list))
        latest.push_back({{"order", sqlite3_column_int64(list.get(), 0)},
                          {"item", text(list, 1)},
                          {"quantity", sqlite3_column_int64(list.get(), 2)},
                          {"note", text(list, 3)}});
    return json_reply(200, {{"count", sqlite3_column_int64(count.get(), 0)}, {"latest", std::move(latest)}});
}

}  // namespace shop
