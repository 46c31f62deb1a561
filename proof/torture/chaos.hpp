// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engines.hpp"
#include "history.hpp"
#include "http_target.hpp"
#include "launch.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace nebis::torture {

struct ChaosOptions {
    std::uint64_t seed = 1;
    std::chrono::milliseconds lease{1'500};
    std::chrono::milliseconds start_timeout{30'000};
};

/// Two order services on one database and the bank; and what befalls them. **Threads**: one, that outlives it.
class Chaos {
public:
    Chaos(ChaosOptions options, Engines& engines, shop::TemporaryFolder& folder, HttpTarget& target);
    ~Chaos();

    /// Both instances anew, orderly.
    void restart_all(const std::string& claim);
    /// One fault, chosen by the seed, and everybody up again after it.
    void cycle();
    /// What befalls the servers: each of their troubles once in ten cycles.
    void strike_engines(int cycle);

    std::string ledger() const { return folder_ / "ledger.txt"; }
    const std::vector<proof::Fault>& faults() const noexcept { return faults_; }
    const std::map<std::string, int>& tally() const noexcept { return tally_; }

private:
    void start(int instance, const std::string& die_at);
    shop::Child& living(int instance);
    void kill_at_random(int instance);
    void kill_at_point(int instance);
    void kill_both();
    void stop_beyond_lease(int instance);
    std::chrono::milliseconds a_while(int least, int most);
    void fault_since(proof::Micros from);

    ChaosOptions options_;
    Engines& engines_;
    shop::TemporaryFolder& folder_;
    HttpTarget& target_;
    std::mt19937_64 chance_;
    std::string claim_ = "before";
    shop::Running bank_;
    std::array<shop::Running, 2> instances_;
    std::vector<proof::Fault> faults_;
    std::map<std::string, int> tally_;
};

}  // namespace nebis::torture
