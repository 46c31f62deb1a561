// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/mysql.hpp"
#include "support/eventually.hpp"
#include "support/servers.hpp"

#include <chrono>
#include <string>

struct st_mysql;

/// Real MariaDB servers for tests.
namespace nebis::test {

/// A connection of somebody else: blocking, and every error throws.
class ForeignMysql {
public:
    explicit ForeignMysql(const std::string& address);
    ~ForeignMysql();
    ForeignMysql(const ForeignMysql&) = delete;
    ForeignMysql& operator=(const ForeignMysql&) = delete;

    /// The first value of the first row, as text.
    std::string run(const std::string& sql);

private:
    st_mysql* connection_;
};

/// Quick: it is killed, never unplugged.
class MariadbServer : public Server {
public:
    explicit MariadbServer(const std::string& kind = "mariadb") : Server(kind, true) {}

    /// With the schema made on request, and patience for a busy machine. A quick server isn't durable.
    mysql::Options options() const;
};

}  // namespace nebis::test
