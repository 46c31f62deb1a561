// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"

#include "json.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <thread>

namespace shop {
namespace {

namespace json = boost::json;

json::object json_of(const Order& order) {
    return {{"order", order.id}, {"item", order.item}, {"quantity", order.quantity}, {"note", order.note}};
}

std::chrono::milliseconds slowness(const nebis::Request& request) {
    const auto header = request.header("X-Slow-Millis");
    int millis = 0;
    if (header && *header != nullptr) std::from_chars((*header)->data(), (*header)->data() + (*header)->size(), millis);
    return std::chrono::milliseconds(std::clamp(millis, 0, 10'000));
}

}  // namespace

Order read_order(const nebis::Request& request) {
    const json::object body = json_body(request);
    Order order;
    order.item = text_member(body, "item");
    order.note = text_member(body, "note");
    const auto* quantity = body.if_contains("quantity");
    if (order.item.empty()) throw nebis::Rejected("an order needs an item");
    if (quantity == nullptr || !quantity->is_int64() || quantity->get_int64() < 1 || quantity->get_int64() > 1'000)
        throw nebis::Rejected("quantity must be between 1 and 1000");
    order.quantity = quantity->get_int64();
    return order;
}

void pack(const nebis::Request& request, const std::function<void()>& packing) {
    packing();
    if (const auto slow = slowness(request); slow.count() > 0) {
        std::clog << "packing slowly" << std::endl;
        std::this_thread::sleep_for(slow);
    }
}

nebis::http::Reply order_reply(const Order& order) { return json_reply(201, json_of(order)); }

nebis::http::Reply orders_reply(std::int64_t count, const std::vector<Order>& latest) {
    json::array list;
    for (const Order& order : latest) list.push_back(json_of(order));
    return json_reply(200, {{"count", count}, {"latest", std::move(list)}});
}

}  // namespace shop
