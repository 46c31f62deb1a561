// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/redis_options.hpp"
#include "redis_client/connection.hpp"
#include "support/eventually.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// Redis servers for tests: started on free loopback ports, stopped by pid, gone when the test program dies.
namespace nebis::test {

std::uint16_t free_port();

class RedisServer {
public:
    /// `options` are those of redis-server's command line. Throws when it doesn't come up.
    explicit RedisServer(std::vector<std::string> options = {}, bool sentinel = false);
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    const std::string& folder() const noexcept { return folder_; }

    void kill();    ///< -9, and waited for
    void start();   ///< again, on the same port, with what its options let it keep
    void pause();   ///< SIGSTOP
    void resume();  ///< SIGCONT

    /// Waits until a replica has all that this one holds, and this one knows: only then WAIT counts on it. The
    /// replica's own "link is up" comes earlier.
    bool has_replica() const;

    /// A command as the user `default`; throws on an error reply unless `may_fail`.
    redis::Reply ask(std::initializer_list<std::string_view> words, bool may_fail = false) const;
    redis::Reply ask(const std::vector<std::string>& words, bool may_fail = false) const;
    void credentials(redis::Credentials who) { who_ = std::move(who); }
    void tls(std::shared_ptr<const redis::TlsContext> context) { tls_ = std::move(context); }

private:
    void wait_until_ready();

    std::vector<std::string> options_;
    bool sentinel_;
    std::uint16_t port_;
    std::string folder_;
    pid_t pid_ = -1;
    redis::Credentials who_;
    std::shared_ptr<const redis::TlsContext> tls_;
};

}  // namespace nebis::test
