// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nebis/http.hpp>
#include <nebis/sqlite.hpp>

#include <functional>
#include <string>

/// The business table. It has no unique index of its own: only Nebis keeps an order from being placed twice.
namespace shop {

void create_orders_table(const nebis::sqlite::Database& db);

/// The body of POST /orders: runs inside the transaction that also carries the record.
/// `{"item": "book", "quantity": 2, "note": "…"}`. A header `X-Slow-Millis` makes packing take that long, for shows.
/// **Errors**: throws `nebis::Rejected` for an order that can't be taken.
nebis::http::Reply place_order(const nebis::Request& request, sqlite3* transaction, const nebis::Execution& execution,
                               const std::function<void()>& packing);

/// The body of GET /orders: how many there are, and the latest of them.
nebis::http::Reply list_orders(const nebis::sqlite::Database& db);

}  // namespace shop
