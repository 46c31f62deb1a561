// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nebis::test {

/// Speaks to an HTTP client whatever its script says: bytes that no server would send, in pieces, without an end.
class FakeHttp {
public:
    struct Heard {
        std::string head;  ///< request line and headers
        std::string body;
    };
    /// Raw bytes of the response.
    struct Says {
        std::string bytes;
        bool close = false;
        bool for_ever = false;  ///< the last piece again and again, until the client has gone
    };
    using Script = std::function<Says(const Heard&)>;

    /// Replies are sent in pieces of `slice` bytes; 0: whole.
    explicit FakeHttp(Script script, std::size_t slice = 0);
    ~FakeHttp();
    FakeHttp(const FakeHttp&) = delete;
    FakeHttp& operator=(const FakeHttp&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::vector<Heard> heard() const;

private:
    void accept_all();
    void serve(int fd);
    bool answer(int fd, const Heard& request);

    const Script script_;
    const std::size_t slice_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> stopping_{false};
    mutable std::mutex mutex_;
    std::vector<Heard> heard_;
    std::vector<int> open_;
    std::vector<std::thread> serving_;
    std::thread accepting_;
};

/// A whole response.
inline FakeHttp::Says http_says(const std::string& body, const std::string& status = "200 OK") {
    return {"HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body,
            false, false};
}

}  // namespace nebis::test
