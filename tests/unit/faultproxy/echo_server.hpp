// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace nebis::test {

/// Says what it hears, on a thread of its own, and remembers it.
class EchoServer {
public:
    EchoServer() : acceptor_(io_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
        accept();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~EchoServer() {
        io_.stop();
        thread_.join();
    }
    EchoServer(const EchoServer&) = delete;
    EchoServer& operator=(const EchoServer&) = delete;

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    std::string heard() const {
        const std::lock_guard lock(mutex_);
        return heard_;
    }
    int ends(bool orderly) const {
        const std::lock_guard lock(mutex_);
        return orderly ? orderly_ends_ : resets_;
    }

private:
    using tcp = boost::asio::ip::tcp;
    struct Peer {
        explicit Peer(tcp::socket socket) : socket(std::move(socket)) {}
        tcp::socket socket;
        std::array<char, 4096> bytes{};
    };
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code code, tcp::socket socket) {
            if (code) return;
            listen(std::make_shared<Peer>(std::move(socket)));
            accept();
        });
    }
    void listen(const std::shared_ptr<Peer>& peer) {
        peer->socket.async_read_some(boost::asio::buffer(peer->bytes), [this, peer](auto code, std::size_t size) {
            {
                const std::lock_guard lock(mutex_);
                heard_.append(peer->bytes.data(), size);
                if (code) ++(code == boost::asio::error::eof ? orderly_ends_ : resets_);
            }
            if (code) return;
            boost::asio::async_write(peer->socket, boost::asio::buffer(peer->bytes.data(), size),
                                     [this, peer](auto failed, std::size_t) {
                                         if (!failed) listen(peer);
                                     });
        });
    }

    boost::asio::io_context io_;
    tcp::acceptor acceptor_;
    mutable std::mutex mutex_;
    std::string heard_;
    int orderly_ends_ = 0, resets_ = 0;
    std::thread thread_;
};

}  // namespace nebis::test
