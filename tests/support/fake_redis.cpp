// SPDX-License-Identifier: Apache-2.0
#include "fake_redis.hpp"

#include "redis_client/reply.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace nebis::test {

FakeRedis::FakeRedis(Script script, std::size_t slice) : script_(std::move(script)), slice_(slice) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
        throw std::runtime_error("no listener");
    port_ = ntohs(at.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
}

FakeRedis::~FakeRedis() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    {
        const std::lock_guard lock(mutex_);
        for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : serving_) thread.join();
    for (const int fd : open_) ::close(fd);
    ::close(listener_);
}

void FakeRedis::accept_all() {
    while (!stopping_) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) continue;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ++connections_;
        const std::lock_guard lock(mutex_);
        open_.push_back(fd);
        serving_.emplace_back([this, fd] { serve(fd); });
    }
}

void FakeRedis::serve(int fd) {
    redis::ReplyReader reader;  // commands are arrays of texts, as replies are
    std::array<char, 4096> bytes{};
    for (;;) {
        const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        reader.feed({bytes.data(), static_cast<std::size_t>(got)});
        for (;;) {
            auto next = reader.next();
            if (!next || !*next) break;
            Command command;
            for (const auto& word : (*next)->elements) command.push_back(word.text);
            {
                const std::lock_guard lock(mutex_);
                heard_.push_back(command);
            }
            const Says says = script_(command);
            const std::size_t step = slice_ == 0 ? std::max<std::size_t>(says.bytes.size(), 1) : slice_;
            for (std::size_t at = 0; at < says.bytes.size(); at += step) {
                const std::string piece = says.bytes.substr(at, step);
                if (::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return;
                if (slice_ != 0) std::this_thread::yield();
            }
            if (says.close) {
                ::shutdown(fd, SHUT_RDWR);
                return;
            }
        }
    }
}

std::vector<FakeRedis::Command> FakeRedis::heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
}

}  // namespace nebis::test
