// SPDX-License-Identifier: Apache-2.0
#include "fake_http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace nebis::test {

FakeHttp::FakeHttp(Script script, std::size_t slice) : script_(std::move(script)), slice_(slice) {
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

FakeHttp::~FakeHttp() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    for (auto& thread : serving_) thread.join();
    for (const int fd : open_) ::close(fd);
    ::close(listener_);
}

void FakeHttp::accept_all() {
    while (!stopping_) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) continue;
        open_.push_back(fd);
        serving_.emplace_back([this, fd] { serve(fd); });
    }
}

void FakeHttp::serve(int fd) {
    std::string received;
    std::array<char, 4096> bytes{};
    for (;;) {
        const auto head_end = received.find("\r\n\r\n");
        if (head_end != std::string::npos) {
            const auto at = received.find("Content-Length: ");
            const std::size_t size = at < head_end ? std::stoul(received.substr(at + 16)) : 0;
            if (received.size() >= head_end + 4 + size) {
                const Heard request{received.substr(0, head_end), received.substr(head_end + 4, size)};
                received.erase(0, head_end + 4 + size);
                if (!answer(fd, request)) return;
                continue;
            }
        }
        const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
        if (got <= 0) return;
        received.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

bool FakeHttp::answer(int fd, const Heard& request) {
    {
        const std::lock_guard lock(mutex_);
        heard_.push_back(request);
    }
    const Says says = script_(request);
    const std::size_t step = slice_ == 0 ? std::max<std::size_t>(says.bytes.size(), 1) : slice_;
    std::string piece;
    for (std::size_t at = 0; at < says.bytes.size(); at += step) {
        piece = says.bytes.substr(at, step);
        if (::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return false;
        if (slice_ != 0) std::this_thread::yield();
    }
    while (says.for_ever && !stopping_)
        if (::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return false;
    if (says.close) ::shutdown(fd, SHUT_RDWR);
    return !says.close;
}

std::vector<FakeHttp::Heard> FakeHttp::heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
}

}  // namespace nebis::test
