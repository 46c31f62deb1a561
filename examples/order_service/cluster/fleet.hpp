// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch.hpp"
#include "redis_group.hpp"
#include "support/servers.hpp"

#include <array>
#include <mutex>
#include <string>
#include <vector>

/// Three order services, the Redis with its Sentinels in front, the database behind; all of them real programs.
namespace shop {

inline constexpr std::size_t fleet_size = 3;

class Fleet {
public:
    /// Starts everything. `store`: postgres or mysql; `sets`: settings of Nebis, as key=value. **Errors**: throws.
    Fleet(const std::string& store, std::vector<std::string> sets);
    ~Fleet();

    /// Where an instance listens now. **Threads**: safe; all else from the one that made it.
    Endpoint instance(std::size_t number) const;
    std::size_t size() const noexcept { return fleet_size; }

    void kill_instance(std::size_t number);
    void start_instance(std::size_t number);
    void signal_instance(std::size_t number, int signal);
    void stop_instances();

    void kill_database() { database_.kill(); }
    void start_database() { database_.start(); }
    const std::string& store() const noexcept { return store_; }
    std::string database_address() const { return database_.address(); }

    RedisGroup& redis() noexcept { return redis_; }

    TemporaryFolder& folder() noexcept { return folder_; }

private:
    std::string store_;
    std::vector<std::string> sets_;
    TemporaryFolder folder_{"nebis-order-cluster"};
    RedisGroup redis_{"sentinel"};
    nebis::test::Server database_;
    Running bank_;
    mutable std::mutex mutex_;  ///< guards where they listen
    std::array<Endpoint, fleet_size> listening_;
    std::array<Child, fleet_size> children_;
};

}  // namespace shop
