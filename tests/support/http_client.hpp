// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A small blocking HTTP/1.1 client for tests and shows. It never waits longer than it is told, keeps its connection
/// alive, and can misbehave on demand: raw bytes, half a request, a sudden hang-up.
namespace nebis::test {

struct HttpReply {
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;  ///< in order, repeats kept
    std::string body;
    bool keep_alive = false;

    /// The first header of that name (no case); empty when absent.
    std::string header(std::string_view name) const;
    std::size_t count(std::string_view name) const;
};

/// **Threads**: one at a time.
class HttpClient {
public:
    using Headers = std::vector<std::pair<std::string, std::string>>;
    using Millis = std::chrono::milliseconds;

    HttpClient(std::string host, std::uint16_t port, Millis timeout = Millis(10'000));
    ~HttpClient();
    HttpClient(HttpClient&& other) noexcept;
    HttpClient& operator=(HttpClient&& other) noexcept;

    /// One exchange; connects when needed, adds Host and Content-Length unless given. Empty when no whole answer came
    /// in time: the connection is closed then and `error()` says why.
    std::optional<HttpReply> request(std::string_view method, std::string_view target, const Headers& headers = {},
                                     std::string_view body = {}, std::optional<Millis> timeout = {});
    std::optional<HttpReply> get(std::string_view target, const Headers& headers = {}) {
        return request("GET", target, headers);
    }
    std::optional<HttpReply> post(std::string_view target, std::string_view body, const Headers& headers = {}) {
        return request("POST", target, headers, body);
    }

    /// Exactly these bytes; connects when needed.
    bool send(std::string_view bytes);
    /// The next answer, a 1xx too. `to_head`: the answer to a HEAD request has no body.
    std::optional<HttpReply> read(std::optional<Millis> timeout = {}, bool to_head = false);
    /// True when the other side closes (or resets) within the time; bytes that come first are dropped.
    bool closed(std::optional<Millis> timeout = {});

    bool connect();
    void half_close();  ///< no more bytes from here; answers can still be read
    void close();
    void reset();  ///< hang up with RST
    bool connected() const noexcept { return socket_ >= 0; }
    const std::string& error() const noexcept { return error_; }

private:
    using Clock = std::chrono::steady_clock;
    bool wait(short events, Clock::time_point until);
    bool send_until(std::string_view bytes, Clock::time_point until);
    std::optional<HttpReply> read_until(Clock::time_point until, bool to_head);
    bool ended_while_idle() const;
    bool fail(std::string why);

    std::string host_;
    std::uint16_t port_;
    Millis timeout_;
    int socket_ = -1;
    std::string received_;  ///< not parsed yet
    std::string error_;
};

}  // namespace nebis::test
