// SPDX-License-Identifier: Apache-2.0
#include "fake_zookeeper.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace nebis::test {
namespace {

constexpr std::int32_t ping = -2, pings = 11;

std::int32_t read_number(const std::string& bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return static_cast<std::int32_t>(ntohl(value));
}

/// False: the client has gone.
bool receive(int fd, std::string& into, std::size_t size) {
    into.assign(size, '\0');
    return size == 0 || ::recv(fd, into.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

}  // namespace

FakeZookeeper::FakeZookeeper(Script script) : script_(std::move(script)) {
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

FakeZookeeper::~FakeZookeeper() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    for (auto& thread : serving_) thread.join();
    for (const int fd : open_) ::close(fd);
    ::close(listener_);
}

std::vector<FakeZookeeper::Heard> FakeZookeeper::heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
}

std::string FakeZookeeper::number(std::int64_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
    return out;
}

std::string FakeZookeeper::greeting() {
    constexpr int session_millis = 5'000;
    return frame(number(0) + number(session_millis) + number(0x1234, 8) + frame(std::string(16, 'p')) + number(0, 1));
}

std::string FakeZookeeper::reply(std::int32_t which, std::int32_t code, const std::string& body) {
    return frame(number(which) + number(1, 8) + number(code) + body);
}

void FakeZookeeper::accept_all() {
    while (!stopping_) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) continue;
        open_.push_back(fd);
        serving_.emplace_back([this, fd] { serve(fd); });
    }
}

void FakeZookeeper::serve(int fd) {
    std::string size, body;
    for (bool first = true; receive(fd, size, 4) && receive(fd, body, static_cast<std::size_t>(read_number(size, 0)));
         first = false) {
        Heard heard;
        heard.greeting = first;
        if (!first) {
            heard.number = read_number(body, 0);
            heard.kind = read_number(body, 4);
        }
        heard.rest = body.substr(first ? 0 : 8);
        Says says;
        if (!first && heard.kind == pings) {
            says.bytes = reply(ping, 0);
        } else {
            const std::lock_guard lock(mutex_);
            heard_.push_back(heard);
            says = script_(heard);
        }
        if (::send(fd, says.bytes.data(), says.bytes.size(), MSG_NOSIGNAL) < 0 || says.close) break;
    }
    ::shutdown(fd, SHUT_RDWR);
}

}  // namespace nebis::test
