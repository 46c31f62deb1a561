// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include "json.hpp"
#include "order_book.hpp"
#include "payments.hpp"

#include <nebis/engine.hpp>
#include <nebis/http.hpp>
#include <nebis/local.hpp>
#include <nebis/redis.hpp>

#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace shop {
namespace {

std::string read_file(const std::string& path) {
    if (path.empty()) return {};
    std::ifstream file(path);
    if (!file) throw std::runtime_error("can't read " + path);
    return (std::ostringstream() << file.rdbuf()).str();
}

std::unique_ptr<OrderBook> open_order_book(const Settings& settings) {
    if (settings.store == "postgres") return postgres_order_book(settings.db, "app");
    if (settings.store == "mysql") return mysql_order_book(settings.db, "app", "app-secret");
    return sqlite_order_book(settings.db);
}

/// One machine needs a table in memory to keep duplicates apart; several need a Redis that they share.
std::shared_ptr<nebis::Gate> open_gate(const Settings& settings) {
    if (settings.redis.empty()) return nebis::local::gate();
    using nebis::redis::Topology;
    nebis::redis::Options redis{.addresses = settings.redis, .master_name = settings.redis_master};
    if (settings.redis_topology == "sentinel") redis.topology = Topology::sentinel;
    if (settings.redis_topology == "cluster") redis.topology = Topology::cluster;
    return nebis::redis::gate(redis).value();
}

nebis::Engine open_engine(const Settings& settings, const OrderBook& orders) {
    return nebis::Engine::make({.store = orders.records(),
                                .gate = open_gate(settings),
                                .configuration = read_file(settings.config),
                                .options = {.sets = settings.sets}})
        .value();
}

/// Orders: one transaction holds order and record, so an order is placed exactly once.
nebis::Policy order_policy(const Settings& settings) {
    return {.operation = "createOrder",
            .key = {},  // by priority: Idempotency-Key, or a one-time token
            .mode = nebis::Mode::atomic,
            .claim = settings.claim == "inside" ? nebis::Claim::inside : nebis::Claim::before};
}

/// Payments: the bank's deed and the record are two things, so a lost answer is settled by asking the bank.
nebis::Policy payment_policy(std::shared_ptr<Bank> bank) {
    return {.operation = "createPayment",
            .key = nebis::header("Idempotency-Key"),
            .mode = nebis::Mode::execute,
            .on_unknown = nebis::OnUnknown::ask,
            .outcome_resolver = std::move(bank)};
}

}  // namespace

void serve(const Settings& settings) {
    const auto orders = open_order_book(settings);
    const nebis::Engine engine = open_engine(settings, *orders);
    const auto bank = std::make_shared<Bank>(Endpoint::parse(settings.bank));
    const nebis::Operation tokens = engine.operation(order_policy(settings)).value();

    nebis::http::Server web(engine, {.listen = settings.listen});
    orders->take_orders(web, order_policy(settings), settings.packing);
    web.post("/payments", payment_policy(bank),
             [&](const nebis::Request& request, nebis::Execution& execution) { return bank->pay(request, execution); });
    web.get("/orders", [&](const nebis::Request&) { return orders->list(); });
    web.get("/orders/token", [&](const nebis::Request&) {
        const auto token = engine.create_token(tokens);
        return token ? json_reply(200, {{"token", *token}}) : json_reply(503, {{"error", token.error().text()}});
    });
    web.metrics();
    web.health();
    web.start().value();
    std::cout << "listening on http://127.0.0.1:" << web.port() << std::endl;
    settings.serving(engine);
    web.run();
}

}  // namespace shop
