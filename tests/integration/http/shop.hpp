// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/http.hpp"
#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "support/http_client.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nebis::http {

/// A server on a free port, an engine on a memory store, and a handler that counts.
class ShopTest : public testing::Test {
protected:
    using Headers = test::HttpClient::Headers;

    Engine engine(const std::string& configuration = {}, std::shared_ptr<Store> store = memory::store()) {
        OpenOptions options;
        options.use_environment = false;
        return Engine::make({.store = std::move(store),
                             .gate = local::gate(),
                             .configuration = configuration,
                             .options = options,
                             .log = [](const std::string&) {}})
            .value();
    }

    /// Opens a server; add routes, then `serve`.
    Server& open(ServerOptions options = {}, std::optional<Engine> with = {}) {
        if (options.listen.empty()) options.listen = "127.0.0.1:0";
        if (!options.presentation) {
            Presentation presentation = presentation_;
            presentation.jitter = [] { return 0.0; };
            presentation.documentation_url = "/idempotency";
            options.presentation = presentation;
        }
        web.reset();
        web.emplace(with ? *with : engine(), std::move(options));
        return *web;
    }
    void serve() {
        const auto started = web->start();
        ASSERT_TRUE(started) << started.error().text();
    }
    static Policy by_header(std::string operation = {}) {
        return {.operation = std::move(operation), .key = header("Idempotency-Key")};
    }

    /// POST /orders, and nothing else.
    void serve_orders(Policy policy = by_header("createOrder"), ServerOptions options = {}) {
        open(std::move(options)).post("/orders", policy, [this](const Request& request) { return order(request); });
        serve();
    }
    Reply order(const Request& request) {
        const int id = ++runs;
        return {201,
                "order " + std::to_string(id) + " [" + request.body + "]",
                {{"Location", "/orders/" + std::to_string(id)}, {"Set-Cookie", "s=1"}}};
    }

    test::HttpClient client() { return test::HttpClient("127.0.0.1", web->port()); }
    test::HttpReply post(const std::string& key, const std::string& body = "tea", const std::string& target = "/orders",
                         Headers more = {}) {
        if (!key.empty()) more.emplace_back("Idempotency-Key", key);
        return request("POST", target, std::move(more), body);
    }
    test::HttpReply request(const std::string& method, const std::string& target, const Headers& headers = {},
                            const std::string& body = {}) {
        auto one = client();
        auto reply = one.request(method, target, headers, body);
        EXPECT_TRUE(reply) << one.error();
        return reply ? *reply : test::HttpReply{};
    }

    static std::string word(const test::HttpReply& reply) {
        if (reply.header("Content-Type") != "application/problem+json")
            return "no problem: " + std::to_string(reply.status);
        const auto type = std::string(boost::json::parse(reply.body).at("type").as_string());
        return type.substr(type.rfind(':') + 1);
    }
    static bool replayed(const test::HttpReply& reply) { return reply.header("Idempotency-Replayed") == "true"; }

    template <class Condition>
    static bool eventually(Condition condition) {
        for (int i = 0; i < 2000; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return false;
    }

    /// Handlers that call `pass` stop there until the test opens it.
    class Door {
    public:
        void pass() {
            std::unique_lock lock(mutex_);
            ++inside_;
            changed_.notify_all();
            changed_.wait_for(lock, std::chrono::seconds(20), [this] { return open_; });
        }
        bool reached(int count = 1) {
            std::unique_lock lock(mutex_);
            return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return inside_ >= count; });
        }
        void open() {
            std::lock_guard lock(mutex_);
            open_ = true;
            changed_.notify_all();
        }

    private:
        std::mutex mutex_;
        std::condition_variable changed_;
        int inside_ = 0;
        bool open_ = false;
    };

    std::atomic<int> runs = 0;
    Presentation presentation_;
    std::optional<Server> web;
};

}  // namespace nebis::http
