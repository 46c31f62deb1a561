// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"
#include "nebis/mysql.hpp"
#include "nebis/postgres.hpp"
#include "nebis/redis.hpp"
#include "support/servers.hpp"

#include <string>
#include <string_view>

/// The servers that this program measures on, started once, durable; and engines on them as users get them.
namespace nebis::bench {

/// One Redis for locks and results, as `tools/servers` starts it.
test::Server& redis_server();
test::Server& postgres_server();
postgres::Options postgres_options();
test::Server& mariadb_server();
mysql::Options mariadb_options();

/// An engine with Redis in front of PostgreSQL, all settings at their defaults but for `configuration`.
class RedisPostgres {
public:
    explicit RedisPostgres(const std::string& table, const std::string& configuration = {});

    Engine engine;
    Operation operation;
};

}  // namespace nebis::bench
