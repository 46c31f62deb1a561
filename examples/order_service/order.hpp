// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nebis/http.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// An order as customers write it and as they read it; the same whatever database keeps it.
namespace shop {

struct Order {
    std::int64_t id = 0;
    std::string item;
    std::int64_t quantity = 0;
    std::string note;
};

/// `{"item": "book", "quantity": 2, "note": "…"}`. **Errors**: throws `nebis::Rejected` for one that can't be taken.
Order read_order(const nebis::Request& request);

/// What takes time once an order is written down: `packing`, and as long as the header `X-Slow-Millis` says, for shows.
void pack(const nebis::Request& request, const std::function<void()>& packing);

/// 201 and the order.
nebis::http::Reply order_reply(const Order& order);
/// How many there are, and the latest of them.
nebis::http::Reply orders_reply(std::int64_t count, const std::vector<Order>& latest);

}  // namespace shop
