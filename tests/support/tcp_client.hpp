// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace nebis::test {

/// A blocking TCP connection to a loopback port that tells how it ended.
class TcpClient {
public:
    enum class End : std::uint8_t { open, orderly, reset };

    explicit TcpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
            throw std::runtime_error("no connection to port " + std::to_string(port));
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ~TcpClient() { ::close(socket_); }
    TcpClient(const TcpClient&) = delete;
    TcpClient& operator=(const TcpClient&) = delete;

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) throw std::runtime_error("not sent");
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// As much as the system takes without waiting, at most `most` bytes.
    std::size_t send_until_full(std::size_t most) {
        const std::string chunk(64 * 1024, 'x');
        std::size_t all = 0;
        while (all < most) {
            pollfd what{socket_, POLLOUT, 0};
            if (::poll(&what, 1, 300) <= 0) break;
            const auto sent = ::send(socket_, chunk.data(), chunk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent <= 0) break;
            all += static_cast<std::size_t>(sent);
        }
        return all;
    }
    void end_sending() { ::shutdown(socket_, SHUT_WR); }

    /// Until so many bytes are there, the end, or that much time has passed.
    std::string receive(std::size_t size, std::chrono::milliseconds longest = std::chrono::seconds(20)) {
        const auto until = std::chrono::steady_clock::now() + longest;
        std::string all;
        while (all.size() < size && end_ == End::open) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
            pollfd what{socket_, POLLIN, 0};
            if (left.count() <= 0 || ::poll(&what, 1, static_cast<int>(left.count())) <= 0) break;
            std::array<char, 16 * 1024> bytes;  // NOLINT: filled by recv
            const auto got = ::recv(socket_, bytes.data(), std::min(bytes.size(), size - all.size()), 0);
            ++reads_;
            if (got > 0)
                all.append(bytes.data(), static_cast<std::size_t>(got));
            else
                end_ = got == 0 ? End::orderly : End::reset;
        }
        return all;
    }
    /// How the connection ends, within a bound; what comes before is thrown away.
    End end(std::chrono::milliseconds longest = std::chrono::seconds(20)) {
        receive(std::size_t(1) << 40U, longest);
        return end_;
    }
    int reads() const noexcept { return reads_; }

private:
    int socket_;
    End end_ = End::open;
    int reads_ = 0;
};

}  // namespace nebis::test
