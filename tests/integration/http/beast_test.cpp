// SPDX-License-Identifier: Apache-2.0
#include "nebis/http_beast.hpp"
#include "nebis/memory.hpp"
#include "support/http_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace nebis::http {
namespace {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;

Engine engine() {
    OpenOptions options;
    options.use_environment = false;
    return Engine::make({.store = memory::store(), .options = options, .log = [](const std::string&) {}}).value();
}

bhttp::request<bhttp::string_body> message(bhttp::verb method, const char* target, const char* body) {
    bhttp::request<bhttp::string_body> made{method, target, 11};
    made.set(bhttp::field::host, "a");
    made.body() = body;
    made.prepare_payload();
    return made;
}

TEST(HttpBeast, messages_become_requests_under_the_rules_of_the_server) {
    auto given = message(bhttp::verb::post, "//orders/?a=1", "tea");
    given.set("Idempotency-Key", "k");
    given.set("X-Request-Id", "r-1");
    given.set(bhttp::field::content_type, "text/plain");
    const auto request = beast::to_request(std::move(given));
    ASSERT_TRUE(request) << request.error().text();
    EXPECT_EQ(request->method, "POST");
    EXPECT_EQ(request->path, "/orders");
    EXPECT_EQ(request->query, "a=1");
    EXPECT_EQ(request->body, "tea");
    EXPECT_EQ(request->content_type, "text/plain");
    EXPECT_EQ(request->request_id, "r-1");
    EXPECT_EQ(**request->header("idempotency-key"), "k");

    const auto refused = beast::to_request(message(bhttp::verb::post, "/a/..%2fb", ""));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "bad-request");
    EXPECT_EQ(problem_for(refused.error(), {}).status, 400);
}

TEST(HttpBeast, responses_become_messages_with_the_right_framing) {
    auto made = beast::to_message({201, {{"Link", "</a>"}, {"Link", "</b>"}}, "tea", false}, 11, true);
    EXPECT_EQ(made.result_int(), 201u);
    EXPECT_EQ(made.count("Link"), 2u);
    EXPECT_EQ(made["Content-Length"], "3");
    EXPECT_EQ(beast::to_message({204, {}, "tea", false}, 11, true).count("Content-Length"), 0u);
    EXPECT_EQ(beast::to_message({204, {}, "tea", false}, 11, true).body(), "");
    EXPECT_EQ(beast::to_message({200, {}, "tea", false}, 11, true, true)["Content-Length"], "3");
    EXPECT_EQ(beast::to_message({200, {}, "tea", false}, 11, true, true).body(), "");
    EXPECT_FALSE(beast::to_message({200, {}, "tea", false}, 11, false).keep_alive());
}

asio::awaitable<void> session(tcp::socket socket, const beast::Protected& orders, Executor& handlers) {
    boost::beast::tcp_stream stream(std::move(socket));
    boost::beast::flat_buffer buffer;
    for (;;) {
        bhttp::request<bhttp::string_body> received;
        co_await bhttp::async_read(stream, buffer, received, asio::use_awaitable);
        const bool keep_alive = received.keep_alive();
        auto request = beast::to_request(std::move(received));
        Response response;
        if (request)
            response = co_await orders.async_answer(std::move(*request), handlers, asio::use_awaitable);
        else
            response = problem_for(request.error(), orders.presentation());
        auto answer = beast::to_message(std::move(response), 11, keep_alive);
        co_await bhttp::async_write(stream, answer, asio::use_awaitable);
        if (!keep_alive) co_return;
    }
}

TEST(HttpBeast, a_beast_server_of_ones_own_is_idempotent) {
    std::atomic<int> runs = 0;
    const beast::Protected orders(
        engine(), {.operation = "createOrder", .key = header("Idempotency-Key")}, [&](const Request& request) {
            return Reply{201, "order " + std::to_string(++runs) + ' ' + request.body, {{"Set-Cookie", "s=1"}}};
        });
    asio::thread_pool pool(2);
    AsioExecutor handlers(pool.get_executor());
    asio::io_context io;
    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    const auto port = acceptor.local_endpoint().port();
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            for (;;) {
                auto socket = co_await acceptor.async_accept(asio::use_awaitable);
                asio::co_spawn(io, session(std::move(socket), orders, handlers), asio::detached);
            }
        },
        asio::detached);
    std::thread thread([&] { io.run(); });
    {
        test::HttpClient client("127.0.0.1", port);
        const auto first = client.post("/orders", "tea", {{"Idempotency-Key", "k"}});
        ASSERT_TRUE(first) << client.error();
        EXPECT_EQ(first->status, 201);
        EXPECT_EQ(first->body, "order 1 tea");
        EXPECT_EQ(first->header("Set-Cookie"), "s=1");
        const auto again = client.post("/orders", "tea", {{"Idempotency-Key", "k"}});
        ASSERT_TRUE(again) << client.error();
        EXPECT_EQ(again->body, "order 1 tea");
        EXPECT_EQ(again->header("Idempotency-Replayed"), "true");
        EXPECT_EQ(again->header("Set-Cookie"), "");
        EXPECT_EQ(client.post("/orders", "tea")->status, 400);
        EXPECT_EQ(client.post("/x;y", "tea", {{"Idempotency-Key", "k"}})->status, 400);
    }
    io.stop();
    thread.join();
    pool.join();
}

TEST(HttpBeast, wrapped_callables_are_asio_operations) {
    std::atomic<int> runs = 0;
    const auto pay = engine().idempotent({.operation = "pay", .key = "#order"}, args("order"), [&](int order) {
        if (order < 0) throw Rejected("no such order");
        return order * 10 + ++runs;
    });
    asio::thread_pool pool(2);
    AsioExecutor handlers(pool.get_executor());
    const auto by_future = async_call(pay, handlers, asio::use_future, 7).get();
    EXPECT_EQ(by_future.value, 71);

    asio::io_context io;
    std::thread::id resumed_on;
    auto done = asio::co_spawn(
        io,
        [&]() -> asio::awaitable<int> {
            const int paid = co_await awaitable_call(pay, handlers, 7);
            resumed_on = std::this_thread::get_id();
            bool refused = false;
            try {
                co_await awaitable_call(pay, handlers, -1);
            } catch (const Rejected&) {
                refused = true;
            }
            EXPECT_TRUE(refused);
            co_return paid;
        },
        asio::use_future);
    io.run();
    EXPECT_EQ(done.get(), 71);
    EXPECT_EQ(resumed_on, std::this_thread::get_id());
    EXPECT_EQ(runs, 1);
    pool.join();
}

}  // namespace
}  // namespace nebis::http
