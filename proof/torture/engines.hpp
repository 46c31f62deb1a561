// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "redis_group.hpp"
#include "witness.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace nebis::torture {

/// What stands behind the instances and in front of them, and what befalls it. **Errors**: all throw. **Threads**: the
/// one that made it.
class Engines {
public:
    /// `store`: sqlite, postgres or mysql; `gate`: local, redis, redis-sentinel or redis-cluster. Starts their servers.
    Engines(const std::string& store, const std::string& gate, const std::filesystem::path& folder);

    /// How `nebis-torture-service` finds them.
    const std::vector<std::string>& arguments() const noexcept { return arguments_; }
    /// Once a service has made the tables.
    std::unique_ptr<Witness> witness() const;

    struct Trouble {
        std::string name;
        std::function<void(std::mt19937_64&)> strike;  ///< all is up again when it returns
    };
    const std::vector<Trouble>& troubles() const noexcept { return troubles_; }

private:
    void restart_database(std::mt19937_64& chance);

    std::string store_, where_;
    std::optional<nebis::test::Server> database_;
    std::optional<shop::RedisGroup> redis_;
    std::vector<std::string> arguments_;
    std::vector<Trouble> troubles_;
};

}  // namespace nebis::torture
