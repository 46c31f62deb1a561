// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_client/slots.hpp"
#include "support/redis_server.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace nebis::test {

constexpr std::size_t masters = 3, nodes = 6;

/// Three masters with a replica each.
class Cluster {
public:
    Cluster() {
        for (auto& node : nodes_)
            node = std::make_unique<RedisServer>(std::vector<std::string>{
                "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
                "--cluster-replica-validity-factor", "0"});
        std::string words = "redis-cli --cluster create";
        for (const auto& node : nodes_) words += " " + node->address();
        if (!run(words + " --cluster-replicas 1 --cluster-yes")) throw std::runtime_error("no cluster was made");
        const bool ready = eventually([&] {
            for (const auto& node : nodes_) {
                const std::string info = node->ask({"CLUSTER", "INFO"}).text;
                if (info.find("cluster_state:ok") == std::string::npos) return false;
                const std::string role = node->ask({"INFO", "replication"}).text;
                if (role.find("role:slave") != std::string::npos &&
                    role.find("master_link_status:up") == std::string::npos)
                    return false;
            }
            return true;
        });
        if (!ready) throw std::runtime_error("the cluster is not ready");
    }

    static bool run(const std::string& words) {
        return std::system(("timeout 60 " + words + " >/dev/null 2>&1").c_str()) == 0;
    }
    redis::Options options() const {
        redis::Options with;
        with.addresses = {nodes_[0]->address(), nodes_[4]->address()};
        with.topology = redis::Topology::cluster;
        with.connect_timeout = std::chrono::seconds(2);
        return with;
    }
    RedisServer& node(std::size_t i) { return *nodes_[i]; }
    RedisServer& at(const std::string& address) {
        for (auto& node : nodes_)
            if (node->address() == address) return *node;
        throw std::runtime_error("no such node");
    }
    std::string id(std::size_t i) { return nodes_[i]->ask({"CLUSTER", "MYID"}).text; }
    redis::SlotMap map() {
        const auto teller = *redis::parse_address(nodes_[1]->address());
        return *redis::SlotMap::from(nodes_[1]->ask({"CLUSTER", "SLOTS"}), teller);
    }

private:
    std::array<std::unique_ptr<RedisServer>, nodes> nodes_;
};

}  // namespace nebis::test
