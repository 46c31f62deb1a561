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

/// Speaks to a client whatever its script says: replies that no Redis would send, late, cut or twice.
class FakeRedis {
public:
    using Command = std::vector<std::string>;
    /// What goes out for a command, as bytes. Closing is a reply as well.
    struct Says {
        std::string bytes = {};
        bool close = false;
        Says(std::string text = "+OK\r\n", bool then_close = false)  // NOLINT: implicit on purpose
            : bytes(std::move(text)), close(then_close) {}
        Says(const char* text) : bytes(text) {}  // NOLINT: implicit on purpose
    };
    using Script = std::function<Says(const Command&)>;

    /// Replies are sent in pieces of `slice` bytes; 0: whole.
    explicit FakeRedis(Script script, std::size_t slice = 0);
    ~FakeRedis();
    FakeRedis(const FakeRedis&) = delete;
    FakeRedis& operator=(const FakeRedis&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    int connections() const { return connections_.load(); }
    std::vector<Command> heard() const;

private:
    void accept_all();
    void serve(int fd);

    Script script_;
    std::size_t slice_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_{0};
    std::atomic<bool> stopping_{false};
    mutable std::mutex mutex_;
    std::vector<Command> heard_;
    std::vector<int> open_;
    std::vector<std::thread> serving_;
    std::thread accepting_;
};

}  // namespace nebis::test
