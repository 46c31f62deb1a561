// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include "harness.hpp"
#include "workload.hpp"

#include <hiredis/hiredis.h>

#include <utility>

namespace nebis::bench {
namespace {

Engine open(const std::string& table, const std::string& configuration) {
    redis::Options redis;
    redis.addresses = {redis_server().address()};
    postgres::Options options = postgres_options();
    options.create_schema = true;
    Engine::Parts parts;
    parts.store = postgres::store(std::move(options), table);
    parts.gate = redis::gate(std::move(redis)).value();
    if (!configuration.empty()) parts.configuration = "nebis:\n  idempotent:\n" + configuration;
    parts.options.use_environment = false;
    parts.log = [](const std::string&) {};
    return Engine::make(std::move(parts)).value();
}

}  // namespace

test::Server& redis_server() {
    // A lock is a hint: nobody needs it on a disk.
    static test::Server one("redis", /*quick=*/true);
    static const bool in_memory = [] {
        redisContext* const context = redisConnect("127.0.0.1", static_cast<int>(one.port()));
        void* const reply = redisCommand(context, "CONFIG SET appendonly no");
        const bool done = reply && static_cast<redisReply*>(reply)->type == REDIS_REPLY_STATUS;
        freeReplyObject(reply);
        redisFree(context);
        return done;
    }();
    if (!in_memory) give_up("Redis keeps its append-only file");
    return one;
}
test::Server& postgres_server() { return test::Server::shared("postgres"); }

postgres::Options postgres_options() {
    postgres::Options options;
    options.addresses = {postgres_server().address()};
    options.username = "app";
    return options;
}

test::Server& mariadb_server() { return test::Server::shared("mariadb"); }

mysql::Options mariadb_options() {
    mysql::Options options;
    options.addresses = {mariadb_server().address()};
    options.database = "app";
    options.username = "app";
    options.password = "app-secret";
    return options;
}

RedisPostgres::RedisPostgres(const std::string& table, const std::string& configuration)
    : engine(open(table, configuration)), operation(engine.operation(order_policy()).value()) {}

}  // namespace nebis::bench
