// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/request.hpp"

#include <string>

namespace nebis::test {

/// An order as a client sends it, under that key; always the same one.
inline Request order_request(const std::string& key) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.headers = {{"Idempotency-Key", key}};
    request.body = R"({"amount":"1"})";
    return request;
}

}  // namespace nebis::test
