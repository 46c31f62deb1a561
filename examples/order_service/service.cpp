// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include "json.hpp"
#include "orders.hpp"
#include "payments.hpp"

#include <nebis/engine.hpp>
#include <nebis/http.hpp>
#include <nebis/local.hpp>
#include <nebis/sqlite.hpp>

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

nebis::Engine open_engine(const Settings& settings, const nebis::sqlite::Database& db) {
    return nebis::Engine::make({.store = nebis::sqlite::store(db),
                                .gate = nebis::local::gate(),
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
    const nebis::sqlite::Database db(nebis::sqlite::Options{.path = settings.db, .create_schema = true});
    create_orders_table(db);
    const nebis::Engine engine = open_engine(settings, db);
    const auto bank = std::make_shared<Bank>(Endpoint::parse(settings.bank));
    const nebis::Operation tokens = engine.operation(order_policy(settings)).value();

    nebis::http::Server web(engine, {.listen = settings.listen});
    web.post("/orders", order_policy(settings),
             nebis::sqlite::atomic(db, [&](const nebis::Request& request, sqlite3* tx, nebis::Execution& execution) {
                 return place_order(request, tx, execution, settings.packing);
             }));
    web.post("/payments", payment_policy(bank),
             [&](const nebis::Request& request, nebis::Execution& execution) { return bank->pay(request, execution); });
    web.get("/orders", [&](const nebis::Request&) { return list_orders(db); });
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
