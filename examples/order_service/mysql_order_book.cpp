// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"
#include "order_book.hpp"

#include <mysql.h>
#include <nebis/mysql.hpp>

#include <memory>
#include <stdexcept>

namespace shop {
namespace {

using Rows = std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)>;

Rows ask(MYSQL* connection, const std::string& sql) {
    if (mysql_real_query(connection, sql.data(), sql.size()) != 0) throw std::runtime_error(mysql_error(connection));
    Rows rows(mysql_store_result(connection), mysql_free_result);
    if (!rows && mysql_field_count(connection) != 0) throw std::runtime_error(mysql_error(connection));
    return rows;
}

std::string quoted(MYSQL* connection, const std::string& text) {
    std::string escaped(2 * text.size() + 1, '\0');
    escaped.resize(mysql_real_escape_string(connection, escaped.data(), text.data(), text.size()));
    return "'" + escaped + "'";
}

class MysqlOrderBook final : public OrderBook {
public:
    MysqlOrderBook(const std::string& address, const std::string& username, const std::string& password)
        : db_(nebis::mysql::Options{.addresses = {address},
                                    .database = "app",
                                    .username = username,
                                    .password = password,
                                    .create_schema = true}),
          address_(address) {
        ask(connection().get(),
            "CREATE TABLE IF NOT EXISTS orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, item TEXT NOT NULL, quantity INT "
            "NOT NULL, note TEXT NOT NULL, fencing_token BIGINT NOT NULL, placed_at TIMESTAMP(3) NOT NULL DEFAULT "
            "CURRENT_TIMESTAMP(3)) CHARACTER SET utf8mb4");
    }

    std::shared_ptr<nebis::Store> records() const override { return nebis::mysql::store(db_); }

    void take_orders(nebis::http::Server& web, const nebis::Policy& policy, std::function<void()> packing) override {
        web.post("/orders", policy,
                 nebis::mysql::atomic(db_, [packing = std::move(packing)](const nebis::Request& request, MYSQL* tx,
                                                                          nebis::Execution& execution) {
                     Order order = read_order(request);
                     ask(tx, "INSERT INTO orders (item, quantity, note, fencing_token) VALUES (" +
                                 quoted(tx, order.item) + ", " + std::to_string(order.quantity) + ", " +
                                 quoted(tx, order.note) + ", " + std::to_string(execution.fencing_token()) + ")");
                     order.id = static_cast<std::int64_t>(mysql_insert_id(tx));
                     pack(request, packing);
                     return order_reply(order);
                 }));
    }

    nebis::http::Reply list() const override {
        const auto db = connection();
        const Rows count = ask(db.get(), "SELECT COUNT(*) FROM orders");
        const Rows rows = ask(db.get(), "SELECT id, item, quantity, note FROM orders ORDER BY id DESC LIMIT 50");
        std::vector<Order> latest;
        while (MYSQL_ROW row = mysql_fetch_row(rows.get()))
            latest.push_back({std::stoll(row[0]), row[1], std::stoll(row[2]), row[3]});
        return orders_reply(std::stoll(mysql_fetch_row(count.get())[0]), latest);
    }

private:
    /// For what needs no record.
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> connection() const {
        const auto colon = address_.rfind(':');
        std::unique_ptr<MYSQL, void (*)(MYSQL*)> made(mysql_init(nullptr), mysql_close);
        const unsigned patience = 2;
        mysql_options(made.get(), MYSQL_OPT_CONNECT_TIMEOUT, &patience);
        mysql_options(made.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
        const auto& options = db_.options();
        if (!mysql_real_connect(made.get(), address_.substr(0, colon).c_str(), options.username.c_str(),
                                options.password.c_str(), options.database.c_str(),
                                static_cast<unsigned>(std::stoul(address_.substr(colon + 1))), nullptr, 0))
            throw std::runtime_error(mysql_error(made.get()));
        return made;
    }

    nebis::mysql::Database db_;
    std::string address_;
};

}  // namespace

std::unique_ptr<OrderBook> mysql_order_book(const std::string& address, const std::string& username,
                                            const std::string& password) {
    return std::make_unique<MysqlOrderBook>(address, username, password);
}

}  // namespace shop
