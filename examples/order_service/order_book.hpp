// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nebis/http.hpp>
#include <nebis/store.hpp>

#include <functional>
#include <memory>
#include <string>

/// The business table, in the database that also keeps Nebis's records: one transaction carries an order and its
/// record. It has no unique index of its own: only Nebis keeps an order from being placed twice.
namespace shop {

class OrderBook {
public:
    virtual ~OrderBook() = default;
    /// Where Nebis is to keep its records: beside the orders.
    virtual std::shared_ptr<nebis::Store> records() const = 0;
    /// POST /orders. `packing` is called inside the transaction.
    virtual void take_orders(nebis::http::Server& web, const nebis::Policy& policy, std::function<void()> packing) = 0;
    /// GET /orders.
    virtual nebis::http::Reply list() const = 0;
};

/// Makes the table when it is missing. **Errors**: throws.
std::unique_ptr<OrderBook> sqlite_order_book(const std::string& file);
std::unique_ptr<OrderBook> postgres_order_book(const std::string& address, const std::string& username);
std::unique_ptr<OrderBook> mysql_order_book(const std::string& address, const std::string& username,
                                            const std::string& password);

}  // namespace shop
