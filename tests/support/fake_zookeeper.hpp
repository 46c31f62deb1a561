// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace nebis::test {

/// Speaks to a client of ZooKeeper whatever its script says.
class FakeZookeeper {
public:
    struct Heard {
        bool greeting = false;  ///< the first words on a connection
        std::int32_t number = 0, kind = 0;
        std::string rest;
    };
    /// Raw bytes, frames and all.
    struct Says {
        std::string bytes;
        bool close = false;
    };
    using Script = std::function<Says(const Heard&)>;

    explicit FakeZookeeper(Script script);
    ~FakeZookeeper();
    FakeZookeeper(const FakeZookeeper&) = delete;
    FakeZookeeper& operator=(const FakeZookeeper&) = delete;

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    std::vector<Heard> heard() const;

    static std::string number(std::int64_t value, int bytes = 4);  ///< big endian
    static std::string frame(const std::string& body) { return number(static_cast<std::int64_t>(body.size())) + body; }
    static std::string greeting();  ///< a session is opened
    static std::string reply(std::int32_t number, std::int32_t code, const std::string& body = {});

private:
    void accept_all();
    void serve(int fd);

    const Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> stopping_{false};
    mutable std::mutex mutex_;
    std::vector<Heard> heard_;
    std::vector<int> open_;
    std::vector<std::thread> serving_;
    std::thread accepting_;
};

}  // namespace nebis::test
