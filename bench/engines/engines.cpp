// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include "harness.hpp"
#include "workload.hpp"

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

test::Server& redis_server() { return test::Server::shared("redis"); }
test::Server& postgres_server() { return test::Server::shared("postgres"); }

postgres::Options postgres_options() {
    postgres::Options options;
    options.addresses = {postgres_server().address()};
    options.username = "app";
    return options;
}

RedisPostgres::RedisPostgres(const std::string& table, const std::string& configuration)
    : engine(open(table, configuration)), operation(engine.operation(order_policy()).value()) {}

}  // namespace nebis::bench
