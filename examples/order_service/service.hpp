// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nebis/engine.hpp>

#include <functional>
#include <string>
#include <vector>

namespace shop {

/// What the command line says; everything about idempotency itself stands in the YAML file.
struct Settings {
    std::string listen = "127.0.0.1:8080";
    std::string store = "sqlite";           ///< where orders and records lie together: sqlite, postgres, mysql
    std::string db = "orders.db";           ///< a file of SQLite, or host:port of a server
    std::vector<std::string> redis;         ///< what stands in front of it; empty: nothing but this process
    std::string redis_topology = "single";  ///< single, sentinel, cluster
    std::string redis_master = "mymaster";  ///< what the Sentinels call their master
    std::string bank = "127.0.0.1:8081";
    std::string config;             ///< YAML file; empty: the defaults
    std::vector<std::string> sets;  ///< `a.b=c`, stronger than file and environment
    std::string claim = "before";   ///< or "inside": record and order in one commit

    // For programs that watch this one closely:
    std::function<void()> packing = [] {};                             ///< called inside the order's transaction
    std::function<void(const nebis::Engine&)> serving = [](auto&) {};  ///< called when it serves
};

/// Settings from the command line; prints and ends the process for `--help` and for mistakes.
Settings parse(int argc, char** argv);

/// Serves until SIGINT or SIGTERM. Prints "listening on http://…" once it does. **Errors**: throws what is wrong.
void serve(const Settings& settings);

}  // namespace shop
