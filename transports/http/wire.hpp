// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "message.hpp"
#include "site.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace nebis::http {

struct WireOptions {
    std::string listen = "127.0.0.1:8080";
    std::size_t threads = 2;
    std::size_t max_connections = 1024;
    HeadLimits head = {};
    std::chrono::milliseconds read_timeout{30'000};
    std::chrono::milliseconds idle_timeout{60'000};
    std::chrono::milliseconds write_timeout{30'000};
};

/// Sockets, I/O threads and the syntax of HTTP/1.1. Boost is behind this header, not in it.
class Wire {
public:
    Wire(std::shared_ptr<Site> site, WireOptions options);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    Result<void> start();
    std::uint16_t port() const noexcept;
    /// Returns when `stop` was called, or the process got SIGINT or SIGTERM.
    void wait();
    /// No new connections; idle ones are closed, busy ones after their answer; after `drain` all of them.
    void stop(std::chrono::milliseconds drain);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace nebis::http
