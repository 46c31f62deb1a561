// SPDX-License-Identifier: Apache-2.0
#include "troubles.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto patience = 30s;

}  // namespace

Troubles::Troubles(Fleet& fleet, std::uint64_t seed) : fleet_(fleet), chance_(seed) {}

void Troubles::rest(int least, int most) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(least, most)(chance_)));
}

void Troubles::next() {
    if (left_.empty())
        left_ = {&Troubles::kill_redis,       &Troubles::fail_redis_over, &Troubles::flush_redis,
                 &Troubles::restart_database, &Troubles::kill_instance,   &Troubles::stop_instance};
    const auto at = left_.begin() + std::uniform_int_distribution<std::ptrdiff_t>(0, std::ssize(left_) - 1)(chance_);
    const auto trouble = *at;
    left_.erase(at);
    rest(300, 1'000);
    (this->*trouble)();
    if (left_.empty()) ++rounds_;
}

std::string Troubles::master() {
    for (const auto until = Clock::now() + patience; Clock::now() < until; std::this_thread::sleep_for(50ms))
        if (auto member = fleet_.redis_master(); !member.empty()) return member;
    throw std::runtime_error("the Sentinels know no master");
}

/// The Sentinels must notice by themselves and make the replica the master; the dead one comes back as its replica.
void Troubles::kill_redis() {
    const std::string dead = master();
    fleet_.kill_redis(dead);
    for (const auto until = Clock::now() + patience; master() == dead; std::this_thread::sleep_for(50ms))
        if (Clock::now() > until) throw std::runtime_error("the Sentinels didn't notice that " + dead + " is dead");
    rest(0, 500);
    fleet_.start_redis(dead);
    ++tally_["redis killed"];
}

void Troubles::fail_redis_over() {
    // Refused while the last one isn't over.
    const std::string before = master();
    const auto until = Clock::now() + patience;
    while (!fleet_.tell_redis("redis-sentinel-1", "SENTINEL FAILOVER nebis")) {
        if (Clock::now() > until) throw std::runtime_error("the Sentinels refuse to fail over");
        std::this_thread::sleep_for(100ms);
    }
    while (master() == before) {
        if (Clock::now() > until) throw std::runtime_error("no failover came");
        std::this_thread::sleep_for(50ms);
    }
    ++tally_["redis failed over"];
}

void Troubles::flush_redis() {
    for (const auto until = Clock::now() + patience; !fleet_.tell_redis(master(), "FLUSHALL");
         std::this_thread::sleep_for(100ms))
        if (Clock::now() > until) throw std::runtime_error("Redis can't be flushed");
    ++tally_["redis flushed"];
}

void Troubles::restart_database() {
    fleet_.kill_database();
    rest(0, 1'000);
    fleet_.start_database();
    ++tally_["database killed"];
}

void Troubles::kill_instance() {
    const auto number = std::uniform_int_distribution<std::size_t>(0, fleet_.size() - 1)(chance_);
    fleet_.kill_instance(number);
    rest(0, 1'000);
    fleet_.start_instance(number);
    ++tally_["instance killed"];
}

/// For longer than its lease: what it had under way is somebody else's when it wakes.
void Troubles::stop_instance() {
    const auto number = std::uniform_int_distribution<std::size_t>(0, fleet_.size() - 1)(chance_);
    fleet_.signal_instance(number, SIGSTOP);
    rest(3'500, 4'500);
    fleet_.signal_instance(number, SIGCONT);
    ++tally_["instance stopped"];
}

}  // namespace shop
