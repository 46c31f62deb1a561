// SPDX-License-Identifier: Apache-2.0
#include "troubles.hpp"

#include <chrono>
#include <csignal>
#include <thread>

namespace shop {
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

void Troubles::kill_redis() {
    fleet_.redis().kill(chance_);
    ++tally_["redis killed"];
}

void Troubles::fail_redis_over() {
    fleet_.redis().fail_over(chance_);
    ++tally_["redis failed over"];
}

void Troubles::flush_redis() {
    fleet_.redis().flush();
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
