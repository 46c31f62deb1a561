// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

/// Real servers for tests, through `tools/servers`. They end with the test program, however that ends.
namespace nebis::test {

/// What went wrong, in a sentence fit to be a test's failure: a missing package, a server that doesn't start or answer.
struct ServerError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One server of a kind that `tools/servers --help` lists: "redis", "postgres-tls", …
///
/// **Errors**: all calls throw `ServerError`; uncaught in a test, that fails the test with its sentence.
/// **Time**: no call waits longer than 90 s. **Threads**: one at a time.
class Server {
public:
    /// Starts one of its own; durable unless `quick`.
    explicit Server(const std::string& kind, bool quick = false);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// The program's one server of that kind, started by the first call. A test that kills it starts it again.
    static Server& shared(const std::string& kind);

    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    std::string address() const { return host_ + ":" + std::to_string(port_); }
    const std::string& ca() const noexcept { return ca_; }  ///< the certificate to trust; empty without TLS
    pid_t pid() const noexcept { return pid_; }

    void kill() { command("kill"); }      ///< SIGKILL, children too; they are gone on return
    void stop() { command("stop"); }      ///< orderly
    void start() { command("start"); }    ///< again: same port, same data; it answers on return
    void pause() { command("pause"); }    ///< SIGSTOP, children too
    void resume() { command("resume"); }  ///< SIGCONT

private:
    void command(const std::string& verb);
    std::string line();

    std::string kind_;
    std::string host_;
    std::uint16_t port_ = 0;
    std::string ca_;
    pid_t pid_ = -1;
    pid_t program_ = -1;  ///< tools/servers
    int channel_ = -1;  ///< commands to tools/servers, its answers back
    std::string received_;
};

}  // namespace nebis::test
