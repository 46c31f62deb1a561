// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"
#include "order_book.hpp"

#include <libpq-fe.h>
#include <nebis/postgres.hpp>

#include <array>
#include <memory>
#include <stdexcept>

namespace shop {
namespace {

using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

Answer ask(PGconn* connection, const char* sql, const std::vector<std::string>& values = {}) {
    std::vector<const char*> texts;
    for (const auto& value : values) texts.push_back(value.c_str());
    Answer answer(
        PQexecParams(connection, sql, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0),
        PQclear);
    const auto status = PQresultStatus(answer.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        throw std::runtime_error(PQresultErrorMessage(answer.get()));
    return answer;
}

std::string text(const Answer& answer, int row, int column) { return PQgetvalue(answer.get(), row, column); }
std::int64_t number(const Answer& answer, int row, int column) { return std::stoll(text(answer, row, column)); }

class PostgresOrderBook final : public OrderBook {
public:
    PostgresOrderBook(const std::string& address, const std::string& username)
        : db_(nebis::postgres::Options{.addresses = {address}, .username = username, .create_schema = true}),
          address_(address),
          username_(username) {
        ask(connection().get(),
            "CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, item text NOT NULL, quantity int NOT NULL, "
            "note text NOT NULL, fencing_token bigint NOT NULL, placed_at timestamptz NOT NULL DEFAULT now())");
    }

    std::shared_ptr<nebis::Store> records() const override { return nebis::postgres::store(db_); }

    void take_orders(nebis::http::Server& web, const nebis::Policy& policy, std::function<void()> packing) override {
        web.post("/orders", policy,
                 nebis::postgres::atomic(db_, [packing = std::move(packing)](const nebis::Request& request, PGconn* tx,
                                                                             nebis::Execution& execution) {
                     Order order = read_order(request);
                     const auto placed = ask(tx,
                                             "INSERT INTO orders (item, quantity, note, fencing_token) VALUES ($1, $2, "
                                             "$3, $4) RETURNING id",
                                             {order.item, std::to_string(order.quantity), order.note,
                                              std::to_string(execution.fencing_token())});
                     order.id = number(placed, 0, 0);
                     pack(request, packing);
                     return order_reply(order);
                 }));
    }

    nebis::http::Reply list() const override {
        const auto db = connection();
        const auto count = ask(db.get(), "SELECT count(*) FROM orders");
        const auto rows = ask(db.get(), "SELECT id, item, quantity, note FROM orders ORDER BY id DESC LIMIT 50");
        std::vector<Order> latest;
        for (int row = 0; row < PQntuples(rows.get()); ++row)
            latest.push_back({number(rows, row, 0), text(rows, row, 1), number(rows, row, 2), text(rows, row, 3)});
        return orders_reply(number(count, 0, 0), latest);
    }

private:
    /// For what needs no record.
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection() const {
        const auto colon = address_.rfind(':');
        const std::string host = address_.substr(0, colon), port = address_.substr(colon + 1);
        const std::array names{"host", "port", "user", "dbname", "connect_timeout", static_cast<const char*>(nullptr)};
        const std::array values{host.c_str(), port.c_str(), username_.c_str(),
                                "postgres",   "2",          static_cast<const char*>(nullptr)};
        std::unique_ptr<PGconn, void (*)(PGconn*)> made(PQconnectdbParams(names.data(), values.data(), 0), PQfinish);
        if (PQstatus(made.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(made.get()));
        return made;
    }

    nebis::postgres::Database db_;
    std::string address_, username_;
};

}  // namespace

std::unique_ptr<OrderBook> postgres_order_book(const std::string& address, const std::string& username) {
    return std::make_unique<PostgresOrderBook>(address, username);
}

}  // namespace shop
