// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// Real servers for tests, through `tools/servers`. They end with the test program, however that ends.
namespace nebis::test {

/// What went wrong, in a sentence fit to be a test's failure: a missing package, a server that doesn't start or answer.
struct ServerError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One server, or one group, of a kind that `tools/servers --help` lists: "redis", "postgres-tls", …
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

    /// Of a single server, or of a group's member by its full name, as "redis-cluster-2"; without one, the first's.
    std::uint16_t port(const std::string& member = {}) const { return one(member).port; }
    std::string address(const std::string& member = {}) const;
    const std::string& ca(const std::string& member = {}) const { return one(member).ca; }  ///< empty without TLS
    pid_t pid(const std::string& member = {}) const { return one(member).pid; }
    static const char* host() noexcept { return "127.0.0.1"; }
    std::vector<std::string> members() const;  ///< a single server is its own only member

    void kill(const std::string& member = {}) { command("kill", member); }    ///< SIGKILL, children too; gone on return
    void stop(const std::string& member = {}) { command("stop", member); }    ///< orderly
    void start(const std::string& member = {}) { command("start", member); }  ///< same port and data; answers on return
    void pause(const std::string& member = {}) { command("pause", member); }  ///< SIGSTOP, children too
    void resume(const std::string& member = {}) { command("resume", member); }  ///< SIGCONT

private:
    struct Member {
        std::string name;
        std::uint16_t port = 0;
        pid_t pid = -1;
        std::string ca;
    };
    const Member& one(const std::string& member) const;
    void command(const std::string& verb, const std::string& member);
    void read_members();
    std::string line();

    std::string kind_;
    std::vector<Member> members_;
    pid_t program_ = -1;  ///< tools/servers
    int channel_ = -1;    ///< commands to tools/servers, its answers back
    std::string received_;
};

}  // namespace nebis::test
