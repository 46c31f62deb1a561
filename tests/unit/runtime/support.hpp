// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "nebis/nebis.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace nebis::testkit {

/// An engine on a store of the test's choice; log lines go nowhere unless asked for.
inline Engine engine_on(std::shared_ptr<Store> store, std::string configuration = {}, Drivers drivers = {},
                        bool gate = true) {
    Engine::Parts parts;
    parts.store = std::move(store);
    if (gate) parts.gate = local::gate();
    parts.drivers = std::move(drivers);
    parts.configuration = std::move(configuration);
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    return Engine::make(std::move(parts)).value();
}

inline Engine memory_engine(std::string configuration = {}, Drivers drivers = {}) {
    return engine_on(memory::store(), std::move(configuration), std::move(drivers));
}

inline Request request_with(std::string key, std::string body = R"({"amount":"1"})") {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.headers = {{"Idempotency-Key", std::move(key)}};
    request.body = std::move(body);
    return request;
}

inline Policy policy_of(std::string operation) {
    Policy policy;
    policy.operation = std::move(operation);
    policy.key = header("Idempotency-Key");
    return policy;
}

/// A handler that counts its runs and answers with their number.
struct Counting {
    std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
    Handler handler() const {
        return Handler([runs = runs](const Request&, Execution&) {
            return Response{201, {}, "run " + std::to_string(++*runs), false};
        });
    }
    int count() const { return runs->load(); }
};

}  // namespace nebis::testkit
