// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/servers.hpp"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace shop {

/// A Redis that tools/servers runs, in one of its three topologies, and what can befall it. **Errors**: all throw.
/// **Threads**: the one that made it.
class RedisGroup {
public:
    /// single, sentinel or cluster.
    explicit RedisGroup(const std::string& topology);

    /// How `nebis-order-service` finds it.
    std::vector<std::string> arguments() const;

    /// SIGKILL to one that takes writes. Where others stand ready, they must notice and take over by themselves before
    /// the dead one comes back, as their replica.
    void kill(std::mt19937_64& chance);
    bool can_fail_over() const noexcept { return topology_ != "single"; }
    /// On request: a replica takes over from one that is well.
    void fail_over(std::mt19937_64& chance);
    /// Everything that all of them remember.
    void flush();

private:
    std::string says(const std::string& member, const std::string& command) const;
    bool is_master(const std::string& member) const;
    std::vector<std::string> data_members() const;
    std::vector<std::string> masters() const;
    std::string a_master(std::mt19937_64& chance) const;
    std::string replica_of(const std::string& master) const;
    static void until(const std::string& what, const std::function<bool()>& true_now);

    std::string topology_;
    nebis::test::Server servers_;
};

}  // namespace shop
