// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/redis_server.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace nebis::test {

/// A master, its replica and three Sentinels.
class Sentinels {
public:
    /// `options` are those of master and replica.
    explicit Sentinels(const std::vector<std::string>& options = {})
        : master_(options),
          replica_(and_also(options, {"--replicaof", "127.0.0.1 " + std::to_string(master_.port())})) {
        const std::string port = std::to_string(master_.port());
        // A Sentinel that sees no replica at once looks again after ten seconds.
        if (!master_.has_replica()) throw std::runtime_error("the replica doesn't find its master");
        for (auto& one : sentinels_) {
            one = std::make_unique<RedisServer>(std::vector<std::string>{}, true);
            one->ask({"SENTINEL", "MONITOR", "main", "127.0.0.1", port, "2"});
            one->ask({"SENTINEL", "SET", "main", "down-after-milliseconds", "400", "failover-timeout", "3000"});
        }
        const bool ready = eventually([&] {
            return std::ranges::all_of(sentinels_, [](const auto& one) {
                const auto quorum = one->ask({"SENTINEL", "CKQUORUM", "main"}, true);
                return !quorum.is_error() && !one->ask({"SENTINEL", "REPLICAS", "main"}).elements.empty() &&
                       one->ask({"SENTINEL", "SENTINELS", "main"}).elements.size() == 2;
            });
        });
        if (!ready) throw std::runtime_error("the Sentinels don't find each other");
    }

    redis::Options options() const {
        redis::Options with;
        with.addresses.clear();
        for (const auto& one : sentinels_) with.addresses.push_back(one->address());
        with.topology = redis::Topology::sentinel;
        with.master_name = "main";
        with.connect_timeout = std::chrono::seconds(2);
        return with;
    }
    /// Every Sentinel that runs has taken the replica for the master.
    bool have_switched() const {
        const std::string port = std::to_string(replica_.port());
        return std::ranges::all_of(sentinels_, [&](const auto& one) {
            return one->ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"}).elements.at(1).text == port;
        });
    }
    RedisServer& master() { return master_; }
    RedisServer& replica() { return replica_; }
    RedisServer& sentinel(std::size_t i) { return *sentinels_[i]; }

private:
    static std::vector<std::string> and_also(std::vector<std::string> options, const std::vector<std::string>& more) {
        options.insert(options.end(), more.begin(), more.end());
        return options;
    }

    RedisServer master_;
    RedisServer replica_;
    std::array<std::unique_ptr<RedisServer>, 3> sentinels_;
};

}  // namespace nebis::test
