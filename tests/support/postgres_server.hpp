// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/postgres.hpp"
#include "support/eventually.hpp"
#include "support/servers.hpp"

#include <chrono>
#include <string>

struct pg_conn;

/// Real PostgreSQL servers for tests.
namespace nebis::test {

/// A connection of somebody else: blocking, and every error throws.
class ForeignSession {
public:
    explicit ForeignSession(const std::string& address);
    ~ForeignSession();
    ForeignSession(const ForeignSession&) = delete;
    ForeignSession& operator=(const ForeignSession&) = delete;

    /// The first value of the first row, as text.
    std::string run(const std::string& sql);
    pg_conn* get() const noexcept { return connection_; }

private:
    pg_conn* connection_;
};

/// Quick: it is killed, never unplugged.
class PostgresServer : public Server {
public:
    explicit PostgresServer(const std::string& kind = "postgres") : Server(kind, true) {}

    /// With the schema made on request, and patience for a busy machine.
    postgres::Options options() const;
};

}  // namespace nebis::test
