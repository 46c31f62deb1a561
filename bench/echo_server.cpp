// SPDX-License-Identifier: Apache-2.0
#include "echo_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::bench {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket socket, const std::string& body) : socket_(std::move(socket)), body_(body) {}

    void read() {
        parser_.emplace();
        http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](const error_code& code, std::size_t) {
            if (!code) self->write();
        });
    }

private:
    void write() {
        answer_ = http::response<http::string_body>(http::status::created, parser_->get().version());
        answer_.set(http::field::content_type, "application/json");
        answer_.keep_alive(parser_->keep_alive());
        answer_.body() = body_;
        answer_.prepare_payload();
        http::async_write(socket_, answer_, [self = shared_from_this()](const error_code& code, std::size_t) {
            if (!code && self->answer_.keep_alive()) self->read();
        });
    }

    tcp::socket socket_;
    const std::string& body_;
    boost::beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> answer_;
};

}  // namespace

struct EchoServer::State {
    explicit State(std::string text) : body(std::move(text)) {}

    void accept(std::size_t turn) {
        auto& loop = loops[turn % loops.size()];
        acceptor->async_accept(loop, [this, turn](const error_code& code, tcp::socket socket) {
            if (code) return;
            error_code ignored;
            socket.set_option(tcp::no_delay(true), ignored);
            auto session = std::make_shared<Session>(std::move(socket), body);
            asio::post(loops[turn % loops.size()], [session] { session->read(); });
            accept(turn + 1);
        });
    }

    const std::string body;
    std::deque<asio::io_context> loops;
    std::optional<tcp::acceptor> acceptor;
    std::vector<std::jthread> threads;
};

EchoServer::EchoServer(std::size_t threads, std::string body) : state_(std::make_unique<State>(std::move(body))) {
    for (std::size_t i = 0; i < threads; ++i) state_->loops.emplace_back(1);
    state_->acceptor.emplace(state_->loops.front(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    state_->accept(0);
    for (auto& loop : state_->loops)
        state_->threads.emplace_back([&loop] {
            const auto work = asio::make_work_guard(loop);
            loop.run();
        });
}

EchoServer::~EchoServer() {
    for (auto& loop : state_->loops) loop.stop();
    state_->threads.clear();  // joined before what they use goes
}

std::uint16_t EchoServer::port() const noexcept { return state_->acceptor->local_endpoint().port(); }

}  // namespace nebis::bench
