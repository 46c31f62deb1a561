// SPDX-License-Identifier: Apache-2.0
#include "workload.hpp"

#include "harness.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace nebis::bench {

const std::string& order_body() {
    static const std::string body = [] {
        std::string text =
            R"({"item":"tea","quantity":2,"customer":{"id":48213,"tier":"gold"},"currency":"EUR","amount":129.90,)"
            R"("lines":[{"sku":"A-1001","count":2,"price":39.95},{"sku":"B-7","count":1,"price":50.00}],)"
            R"("ship":true,"coupon":null,"note":")";
        text.append(300 - 2 - text.size(), 'n');
        return text + "\"}";
    }();
    return body;
}

const Response& order_answer() {
    static const Response answer = [] {
        std::string text = R"({"order":17,"status":"accepted","total":129.90,"note":")";
        text.append(200 - 2 - text.size(), 'y');
        return Response{201, {{"Content-Type", "application/json"}}, text + "\"}", false};
    }();
    return answer;
}

std::uint64_t Keys::number() {  // splitmix64
    std::uint64_t z = ++state_ * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void Keys::next(std::string& key) {
    static constexpr char digits[] = "0123456789abcdef";
    key.resize(36);
    std::size_t at = 0;
    for (int half = 0; half < 2; ++half) {
        std::uint64_t random = number();
        for (int i = 0; i < 16; ++i, random >>= 4) {
            if (at == 8 || at == 13 || at == 18 || at == 23) key[at++] = '-';
            key[at++] = digits[random & 15];
        }
    }
}

Request order_request(const std::string& key) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.content_type = "application/json";
    request.body = order_body();
    request.headers = {{"Idempotency-Key", key}};
    request.principal = "shop-7";
    return request;
}

Engine open_engine(std::shared_ptr<Store> store, const std::string& configuration) {
    Engine::Parts parts;
    parts.store = std::move(store);
    if (!configuration.empty()) parts.configuration = "nebis:\n  idempotent:\n" + configuration;
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    return Engine::make(std::move(parts)).value();
}

Policy order_policy() { return {.operation = "createOrder", .key = header("Idempotency-Key"), .mode = Mode::execute}; }

void expect(const Answer& answer, Outcome outcome) {
    if (answer.outcome == outcome && answer.recorded) return;
    give_up("expected " + std::string(to_string(outcome)) + ", got " + std::string(to_string(answer.outcome)) +
            (answer.error ? ": " + answer.error->text() : std::string()));
}

void Watch::note(const Answer& answer) {
    const std::lock_guard lock(mutex_);
    if (!wrong_) wrong_ = answer;
}

void Watch::check() {
    const std::lock_guard lock(mutex_);
    if (wrong_) expect(*wrong_, outcome_);
}

}  // namespace nebis::bench
