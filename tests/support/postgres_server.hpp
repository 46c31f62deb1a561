// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/postgres.hpp"

#include <sys/types.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct pg_conn;

/// Real PostgreSQL servers for tests, through `tools/servers`: on free loopback ports, gone when the test program dies.
namespace nebis::test {

/// Polls until `holds`, at most `longest`; false: it never did.
bool comes_true(const std::function<bool()>& holds, std::chrono::seconds longest = std::chrono::seconds(30));

/// A connection of somebody else: blocking, and every error throws.
class ForeignSession {
public:
    explicit ForeignSession(const std::string& address);
    ~ForeignSession();
    ForeignSession(const ForeignSession&) = delete;
    ForeignSession& operator=(const ForeignSession&) = delete;

    /// The first value of the first row, as text.
    std::string run(const std::string& sql);

private:
    pg_conn* connection_;
};

class PostgresServer {
public:
    explicit PostgresServer(const std::string& kind = "postgres");
    ~PostgresServer();
    PostgresServer(const PostgresServer&) = delete;
    PostgresServer& operator=(const PostgresServer&) = delete;

    const std::string& address() const noexcept { return address_; }
    const std::string& ca() const noexcept { return ca_; }
    /// With the schema made on request, and patience for a busy machine.
    postgres::Options options() const;

    void kill() { command("kill"); }  ///< -9, and waited for
    void start() { command("start"); }
    void pause() { command("pause"); }
    void resume() { command("resume"); }

private:
    std::string line();
    void command(const std::string& word);

    std::string kind_, address_, ca_;
    pid_t pid_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

}  // namespace nebis::test
