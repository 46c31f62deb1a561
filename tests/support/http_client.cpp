// SPDX-License-Identifier: Apache-2.0
#include "support/http_client.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace nebis::test {

namespace http = boost::beast::http;

namespace {

bool same(std::string_view left, std::string_view right) {
    return boost::beast::iequals({left.data(), left.size()}, {right.data(), right.size()});
}

bool given(const HttpClient::Headers& headers, std::string_view name) {
    return std::any_of(headers.begin(), headers.end(), [&](const auto& one) { return same(one.first, name); });
}

}  // namespace

std::string HttpReply::header(std::string_view name) const {
    for (const auto& [one, value] : headers)
        if (same(one, name)) return value;
    return {};
}

std::size_t HttpReply::count(std::string_view name) const {
    return static_cast<std::size_t>(
        std::count_if(headers.begin(), headers.end(), [&](const auto& one) { return same(one.first, name); }));
}

HttpClient::HttpClient(std::string host, std::uint16_t port, Millis timeout)
    : host_(std::move(host)), port_(port), timeout_(timeout) {}

HttpClient::~HttpClient() { close(); }

HttpClient::HttpClient(HttpClient&& other) noexcept
    : host_(std::move(other.host_)),
      port_(other.port_),
      timeout_(other.timeout_),
      socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)),
      error_(std::move(other.error_)) {}

HttpClient& HttpClient::operator=(HttpClient&& other) noexcept {
    if (this == &other) return *this;
    close();
    host_ = std::move(other.host_);
    port_ = other.port_;
    timeout_ = other.timeout_;
    socket_ = std::exchange(other.socket_, -1);
    received_ = std::move(other.received_);
    error_ = std::move(other.error_);
    return *this;
}

bool HttpClient::fail(std::string why) {
    error_ = std::move(why);
    return false;
}

bool HttpClient::connect() {
    close();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    if (inet_pton(AF_INET, host_ == "localhost" ? "127.0.0.1" : host_.c_str(), &address.sin_addr) != 1)
        return fail("not an IPv4 address: " + host_);
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return fail(std::strerror(errno));
    socket_ = made;
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int code = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
        socklen_t size = sizeof code;
        if (!wait(POLLOUT, Clock::now() + timeout_))
            code = ETIMEDOUT;
        else if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &code, &size) != 0)
            code = errno;
    }
    if (code == 0) return true;
    close();
    return fail(std::string("connect: ") + std::strerror(code));
}

void HttpClient::half_close() {
    if (socket_ >= 0) ::shutdown(socket_, SHUT_WR);
}

void HttpClient::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    received_.clear();
}

void HttpClient::reset() {
    if (socket_ < 0) return;
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

bool HttpClient::wait(short events, Clock::time_point until) {
    for (;;) {
        const auto left = std::chrono::ceil<Millis>(until - Clock::now()).count();
        if (left <= 0) return false;
        pollfd one{socket_, events, 0};
        const int ready = ::poll(&one, 1, static_cast<int>(std::min<long long>(left, std::numeric_limits<int>::max())));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool HttpClient::send(std::string_view bytes) {
    if (socket_ < 0 && !connect()) return false;
    return send_until(bytes, Clock::now() + timeout_);
}

bool HttpClient::send_until(std::string_view bytes, Clock::time_point until) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EINTR)
            continue;
        else if (errno != EAGAIN)
            return fail(std::string("send: ") + std::strerror(errno));
        else if (!wait(POLLOUT, until))
            return fail("send: no room in time");
    }
    return true;
}

std::optional<HttpReply> HttpClient::read(std::optional<Millis> timeout, bool to_head) {
    if (socket_ < 0) return fail("not connected"), std::nullopt;
    return read_until(Clock::now() + timeout.value_or(timeout_), to_head);
}

std::optional<HttpReply> HttpClient::read_until(Clock::time_point until, bool to_head) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    parser.header_limit(1 << 20);
    parser.skip(to_head);
    parser.eager(true);
    bool ended = false;
    while (!parser.is_done()) {
        boost::system::error_code code;
        const auto used = parser.put(boost::asio::buffer(received_), code);
        received_.erase(0, used);
        if (code && code != http::error::need_more) return fail("answer: " + code.message()), std::nullopt;
        if (parser.is_done() || (!code && !received_.empty() && used > 0)) continue;
        if (ended) return fail("the connection ended before the whole answer"), std::nullopt;
        if (!wait(POLLIN, until)) return fail("no whole answer in time"), std::nullopt;
        std::array<char, 16384> bytes;
        const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
        if (got > 0) {
            received_.append(bytes.data(), static_cast<std::size_t>(got));
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            ended = true;
            if (got == 0 && parser.is_header_done())
                parser.put_eof(code);  // a body that ends with the connection
            else
                return fail(got == 0 ? "the connection ended" : std::string("recv: ") + std::strerror(errno)),
                       std::nullopt;
            if (code) return fail("the connection ended inside the answer"), std::nullopt;
        }
    }
    HttpReply reply;
    const auto& message = parser.get();
    reply.status = static_cast<int>(message.result_int());
    for (const auto& field : message)
        reply.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    reply.body = message.body();
    reply.keep_alive = !ended && message.keep_alive();
    return reply;
}

std::optional<HttpReply> HttpClient::request(std::string_view method, std::string_view target, const Headers& headers,
                                             std::string_view body, std::optional<Millis> timeout) {
    const auto until = Clock::now() + timeout.value_or(timeout_);
    std::string message = std::string(method) + ' ' + std::string(target) + " HTTP/1.1\r\n";
    if (!given(headers, "Host")) message += "Host: " + host_ + ':' + std::to_string(port_) + "\r\n";
    for (const auto& [name, value] : headers) message += name + ": " + value + "\r\n";
    const bool bodyless = body.empty() && (method == "GET" || method == "HEAD" || method == "OPTIONS");
    if (!bodyless && !given(headers, "Content-Length") && !given(headers, "Transfer-Encoding"))
        message += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    message += "\r\n";
    message += body;

    if (ended_while_idle()) close();  // before sending, so that nothing is ever sent twice
    if (socket_ < 0 && !connect()) return std::nullopt;
    std::optional<HttpReply> reply;
    if (send_until(message, until)) {
        do reply = read_until(until, method == "HEAD");
        while (reply && reply->status / 100 == 1);
    }
    if (!reply || !reply->keep_alive) close();
    return reply;
}

bool HttpClient::ended_while_idle() const {
    if (socket_ < 0) return false;
    char byte = 0;
    const auto got = ::recv(socket_, &byte, 1, MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool HttpClient::closed(std::optional<Millis> timeout) {
    if (socket_ < 0) return true;
    const auto until = Clock::now() + timeout.value_or(timeout_);
    std::array<char, 4096> bytes;
    while (wait(POLLIN, until)) {
        const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return close(), true;
    }
    return false;
}

}  // namespace nebis::test
