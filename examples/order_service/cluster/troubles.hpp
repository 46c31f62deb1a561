// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fleet.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace shop {

/// What befalls the fleet: each kind once in every round, in an order by chance. **Threads**: that of the fleet.
class Troubles {
public:
    Troubles(Fleet& fleet, std::uint64_t seed);
    /// One, with everybody up again when it returns.
    void next();
    int rounds() const noexcept { return rounds_; }  ///< whole ones
    const std::map<std::string, int>& tally() const noexcept { return tally_; }

private:
    void kill_redis();
    void fail_redis_over();
    void flush_redis();
    void restart_database();
    void kill_instance();
    void stop_instance();
    void rest(int least_millis, int most_millis);

    Fleet& fleet_;
    std::mt19937_64 chance_;
    std::vector<void (Troubles::*)()> left_;
    int rounds_ = 0;
    std::map<std::string, int> tally_;
};

}  // namespace shop
