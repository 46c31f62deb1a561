// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>

namespace shop {

Settings parse(int argc, char** argv) {
    Settings settings;
    CLI::App app(
        "Examples:\n"
        "  nebis-order-service\n"
        "  nebis-order-service --listen 127.0.0.1:0 --db /tmp/orders.db --config order_service.yaml\n"
        "  nebis-order-service --store postgres --db 127.0.0.1:5432 --redis 127.0.0.1:6379\n"
        "  nebis-order-service --claim inside --set lock-expire-millis=2000\n"
        "\n"
        "  curl -X POST localhost:8080/orders -H 'Idempotency-Key: \"tea-1\"' -H 'Content-Type: application/json' \\\n"
        "       -d '{\"item\":\"tea\",\"quantity\":2}'\n"
        "\n"
        "An order service that places no order twice, however often it is asked.\n",
        "nebis-order-service");
    app.add_option("--listen", settings.listen, "address and port; port 0 takes a free one")->capture_default_str();
    app.add_option("--store", settings.store, "where orders and records lie")
        ->check(CLI::IsMember({"sqlite", "postgres", "mysql"}))
        ->capture_default_str();
    app.add_option("--db", settings.db, "SQLite file, or host:port of the server")->capture_default_str();
    app.add_option("--redis", settings.redis, "host:port of the Redis in front; of several some are enough")
        ->delimiter(',');
    app.add_option("--redis-topology", settings.redis_topology, "what stands at --redis")
        ->check(CLI::IsMember({"single", "sentinel", "cluster"}))
        ->capture_default_str();
    app.add_option("--redis-master", settings.redis_master, "what Sentinels call their master")->capture_default_str();
    app.add_option("--bank", settings.bank, "where nebis-flaky-bank listens")->capture_default_str();
    app.add_option("--config", settings.config, "YAML file with the settings of Nebis")->check(CLI::ExistingFile);
    app.add_option("--set", settings.sets, "one setting, as key=value; may be repeated");
    app.add_option("--claim", settings.claim, "when an order's record is inserted")
        ->check(CLI::IsMember({"before", "inside"}))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return settings;
}

}  // namespace shop
