// SPDX-License-Identifier: Apache-2.0
#include "socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nebis::redis {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view look_at_address = "check `address`, and that Redis runs and is reachable from here";

std::string words_of(int code) { return std::generic_category().message(code); }

Error failed(std::string_view doing, int code) {
    return Error(ErrorKind::unavailable, "Redis can't be reached", std::string(doing) + ": " + words_of(code),
                 std::string(look_at_address))
        .with_code("redis-unreachable");
}

/// False: the deadline passed.
bool wait_for(int fd, short what, Deadline deadline) {
    for (;;) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd watched{fd, what, 0};
        const int ready = ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(rest, 0, 60'000)));
        if (ready > 0) return true;
        if (ready == 0 && rest <= 60'000) return false;
        if (ready < 0 && errno != EINTR) return true;  // the call that follows says what is wrong
    }
}

struct Place {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

/// What a look-up leaves behind. Shared with its thread, because the resolver can't be told to stop.
struct Lookup {
    std::mutex mutex;
    std::condition_variable done;
    bool ended = false;
    int fault = 0;
    std::vector<Place> places;
};

int look_up(const std::string& host, const std::string& port, int flags, std::vector<Place>& places) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = flags;
    addrinfo* found = nullptr;
    const int fault = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
    if (fault != 0) return fault;
    for (const addrinfo* at = found; at; at = at->ai_next) {
        Place place;
        place.size = std::min<socklen_t>(at->ai_addrlen, sizeof place.bytes);
        std::memcpy(&place.bytes, at->ai_addr, place.size);
        places.push_back(place);
    }
    ::freeaddrinfo(found);
    return 0;
}

Result<std::vector<Place>> places_of(const Address& address, Deadline deadline) {
    const std::string port = std::to_string(address.port);
    std::vector<Place> places;
    if (look_up(address.host, port, AI_NUMERICHOST | AI_NUMERICSERV, places) == 0) return places;

    auto lookup = std::make_shared<Lookup>();
    std::thread([lookup, host = address.host, port] {
        std::vector<Place> found;
        const int fault = look_up(host, port, AI_NUMERICSERV, found);
        const std::lock_guard lock(lookup->mutex);
        lookup->fault = fault;
        lookup->places = std::move(found);
        lookup->ended = true;
        lookup->done.notify_all();
    }).detach();
    std::unique_lock lock(lookup->mutex);
    if (!lookup->done.wait_until(lock, deadline, [&] { return lookup->ended; }))
        return took_too_long("the look-up of the host name");
    if (lookup->fault != 0 || lookup->places.empty())
        return Error(ErrorKind::unavailable, "the host name of Redis can't be looked up",
                     ::gai_strerror(lookup->fault == 0 ? EAI_NONAME : lookup->fault), std::string(look_at_address))
            .with_code("redis-unreachable");
    return std::move(lookup->places);
}

Place place_of_path(const Address& address) {
    Place place;
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    std::memcpy(path.sun_path, address.host.data(), std::min(address.host.size(), sizeof path.sun_path - 1));
    std::memcpy(&place.bytes, &path, sizeof path);
    place.size = sizeof path;
    return place;
}

/// A server whose machine vanished is noticed within half a minute, also by who only listens.
void keep_alive(int fd) {
    const auto set = [fd](int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

/// 0, or what went wrong; empty: the deadline passed.
std::optional<int> connect_to(int fd, const Place& place, Deadline deadline) {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&place.bytes), place.size) == 0) return 0;
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!wait_for(fd, POLLOUT, deadline)) return std::nullopt;
    int fault = 0;
    socklen_t size = sizeof fault;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0) return errno;
    return fault;
}

}  // namespace

Error took_too_long(std::string_view doing) {
    return Error(ErrorKind::unavailable, "Redis is too slow", std::string(doing) + " took too long",
                 "look at the load, at slow commands (SLOWLOG) and at the network between")
        .with_code("redis-timeout");
}

Socket::~Socket() {
    if (fd_ >= 0) ::close(fd_);
}
Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

Result<Socket> Socket::connect(const Address& address, Deadline deadline) {
    std::vector<Place> places;
    if (address.is_path()) {
        places.push_back(place_of_path(address));
    } else {
        auto found = places_of(address, deadline);
        if (!found) return std::move(found).error();
        places = *std::move(found);
    }
    std::optional<Error> last;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto now = Clock::now();
        if (now >= deadline) break;
        const auto share = (deadline - now) / static_cast<int>(places.size() - i);
        Socket made(::socket(places[i].bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (made.fd_ < 0) return failed("making a socket", errno);
        const auto fault = connect_to(made.fd_, places[i], now + share);
        if (fault && *fault == 0) {
            if (!address.is_path()) keep_alive(made.fd_);
            return made;
        }
        last = fault ? failed("connecting to " + address.text(), *fault)
                     : took_too_long("connecting to " + address.text());
    }
    return last ? *std::move(last) : took_too_long("connecting to " + address.text());
}

Result<void> Socket::send(std::string_view bytes, std::size_t& sent, Deadline deadline) {
    sent = 0;
    while (sent < bytes.size()) {
        const ssize_t done = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (done > 0) {
            sent += static_cast<std::size_t>(done);
        } else if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for(fd_, POLLOUT, deadline)) return took_too_long("sending");
        } else if (errno != EINTR) {
            return failed("sending", errno);
        }
    }
    return {};
}

Result<std::size_t> Socket::receive(char* out, std::size_t size, Deadline deadline) {
    for (;;) {
        const ssize_t got = ::recv(fd_, out, size, 0);
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_for(fd_, POLLIN, deadline)) return took_too_long("the reply");
        } else if (errno != EINTR) {
            return failed("receiving", errno);
        }
    }
}

bool Socket::has_something() const noexcept {
    pollfd watched{fd_, POLLIN, 0};
    return ::poll(&watched, 1, 0) != 0;
}

}  // namespace nebis::redis
