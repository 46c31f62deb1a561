// SPDX-License-Identifier: Apache-2.0
// A Boost.Beast server of one's own, in coroutines, made idempotent: its routes go through the engine with `co_await`,
// and nothing waits on a thread. Also a wrapped function called from a coroutine.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <nebis/http_beast.hpp>
#include <nebis/local.hpp>
#include <nebis/memory.hpp>
#include <nebis/nebis.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;

/// One connection: read, answer, write.
asio::awaitable<void> serve(tcp::socket socket, const nebis::http::beast::Protected& orders,
                            nebis::Executor& handlers) {
    boost::beast::tcp_stream stream(std::move(socket));
    boost::beast::flat_buffer buffer;
    for (bool keep_alive = true; keep_alive;) {
        stream.expires_after(std::chrono::seconds(30));
        bhttp::request<bhttp::string_body> received;
        co_await bhttp::async_read(stream, buffer, received, asio::use_awaitable);
        keep_alive = received.keep_alive();
        const auto version = received.version();
        auto request = nebis::http::beast::to_request(std::move(received));
        nebis::Response response;
        if (request)
            response = co_await orders.async_answer(std::move(*request), handlers, asio::use_awaitable);
        else
            response = nebis::http::problem_for(request.error(), orders.presentation());
        auto answer = nebis::http::beast::to_message(std::move(response), version, keep_alive);
        co_await bhttp::async_write(stream, answer, asio::use_awaitable);
    }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, const nebis::http::beast::Protected& orders,
                             nebis::Executor& handlers) {
    for (;;) {
        auto socket = co_await acceptor.async_accept(asio::use_awaitable);
        asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), orders, handlers), asio::detached);
    }
}

/// A client that posts the same order three times.
asio::awaitable<void> post_thrice(tcp::endpoint server) {
    boost::beast::tcp_stream stream(co_await asio::this_coro::executor);
    co_await stream.async_connect(server, asio::use_awaitable);
    boost::beast::flat_buffer buffer;
    for (int i = 0; i < 3; ++i) {
        bhttp::request<bhttp::string_body> request(bhttp::verb::post, "/orders", 11);
        request.set(bhttp::field::host, "localhost");
        request.set("Idempotency-Key", "\"tea-1\"");
        request.body() = "tea";
        request.prepare_payload();
        co_await bhttp::async_write(stream, request, asio::use_awaitable);
        bhttp::response<bhttp::string_body> reply;
        co_await bhttp::async_read(stream, buffer, reply, asio::use_awaitable);
        std::cout << reply.result_int() << ' ' << reply.body()
                  << (reply["Idempotency-Replayed"] == "true" ? " (replayed)" : "") << '\n';
    }
}

int main() {
    auto engine = nebis::Engine::make({.store = nebis::memory::store(), .gate = nebis::local::gate()}).value();
    asio::thread_pool pool(4);  // for handlers, which may block
    nebis::AsioExecutor handlers(pool.get_executor());
    asio::io_context io(1);

    int orders_placed = 0;
    const nebis::http::beast::Protected orders(
        engine, {.operation = "createOrder", .key = nebis::header("Idempotency-Key")},
        [&orders_placed](const nebis::Request& request) {
            return nebis::http::Reply{201, "order " + std::to_string(++orders_placed) + ": " + request.body};
        });
    auto square =
        engine.idempotent({.operation = "square", .key = "#n"}, nebis::args("n"), [](int n) { return n * n; });

    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    asio::co_spawn(io, accept(acceptor, orders, handlers), asio::detached);
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            co_await post_thrice(acceptor.local_endpoint());
            const int squared = co_await nebis::awaitable_call(square, handlers, 12);
            std::cout << "12 squared is " << squared << '\n';
            io.stop();
        },
        asio::detached);
    io.run();
    pool.join();
}
