// SPDX-License-Identifier: Apache-2.0
#include "chaos.hpp"

#include <fstream>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace nebis::torture {
namespace {

using namespace std::chrono_literals;

/// Where an instance dies, and how often it passes by first.
struct Point {
    const char* name;
    int most;
};
constexpr Point points[] = {{"after-begin", 30},  {"in-handler", 20}, {"before-finish", 30}, {"finish-sent", 30},
                            {"after-finish", 30}, {"in-recovery", 2}, {"in-cleanup", 2}};

/// Short times, so that everything happens often: leases end, recovery and clean-up run, retentions end.
std::string configuration(std::chrono::milliseconds lease) {
    return "nebis:\n"
           "  idempotent:\n"
           "    lock-expire-millis: " +
           std::to_string(lease.count()) + "\n    budget-millis: " + std::to_string(lease.count() * 9 / 10) +
           "\n"
           "    record-expire-millis: 20000\n"
           "    scheduler-interval-millis: 200\n"
           "    processing-timeout-millis: 0\n"
           "    fail-open: true\n";
}

}  // namespace

Chaos::Chaos(ChaosOptions options, Engines& engines, shop::TemporaryFolder& folder, HttpTarget& target)
    : options_(options), engines_(engines), folder_(folder), target_(target), chance_(options.seed) {
    std::ofstream(folder_ / "nebis.yaml") << configuration(options_.lease);
    bank_ = shop::launch({shop::beside_me("nebis-flaky-bank"), "--port", "0", "--ledger", ledger()},
                         folder_ / "bank.log", options_.start_timeout);
}

Chaos::~Chaos() {
    for (auto& instance : instances_) instance.child.kill();
    bank_.child.kill();
}

std::chrono::milliseconds Chaos::a_while(int least, int most) {
    return std::chrono::milliseconds(std::uniform_int_distribution<int>(least, most)(chance_));
}

void Chaos::start(int instance, const std::string& die_at) {
    std::vector<std::string> command = {shop::beside_me("nebis-torture-service"),
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--bank",
                                        "127.0.0.1:" + std::to_string(bank_.endpoint.port),
                                        "--config",
                                        folder_ / "nebis.yaml",
                                        "--claim",
                                        claim_};
    const auto& engines = engines_.arguments();
    command.insert(command.end(), engines.begin(), engines.end());
    if (!die_at.empty()) command.insert(command.end(), {"--die-at", die_at});
    const std::string log = folder_ / ("instance" + std::to_string(instance) + ".log");
    auto& slot = instances_.at(static_cast<std::size_t>(instance));
    // As a supervisor does: a start that finds the file locked for longer than it waits (the other instance is stopped
    // inside a transaction, or the disk is slow) is tried again; any other failure is a finding.
    for (const auto until = std::chrono::steady_clock::now() + options_.start_timeout;; ++tally_["start again"]) {
        try {
            slot = shop::launch(command, log, options_.start_timeout);
            break;
        } catch (const std::runtime_error& error) {
            const bool locked = std::string_view(error.what()).find("database is locked") != std::string_view::npos;
            if (!locked || std::chrono::steady_clock::now() > until) throw;
        }
    }
    target_.moved(instance, slot.endpoint);
}

void Chaos::restart_all(const std::string& claim) {
    claim_ = claim;
    const proof::Micros from = now_micros();
    for (auto& instance : instances_) {
        instance.child.stop(30s);
        if (const auto complaint = instance.child.complaint(); !complaint.empty())
            throw std::runtime_error("an instance that was asked to stop " + complaint);
    }
    start(0, {});
    start(1, {});
    fault_since(from);
}

/// Nobody but us may end an instance: one that did so by itself found a fault (or a sanitizer did).
shop::Child& Chaos::living(int instance) {
    auto& child = instances_.at(static_cast<std::size_t>(instance)).child;
    if (child.ended(0ms))
        throw std::runtime_error("instance " + std::to_string(instance) + " " + child.complaint() + " by itself");
    return child;
}

/// What was under way when it struck shows up to a lease, a recovery and a start later.
void Chaos::fault_since(proof::Micros from) {
    faults_.push_back({from, now_micros() + std::chrono::microseconds(options_.lease + 2s).count()});
}

void Chaos::cycle() {
    const int instance = std::uniform_int_distribution<int>(0, 1)(chance_);
    const int dice = std::uniform_int_distribution<int>(0, 99)(chance_);
    const proof::Micros from = now_micros();
    if (dice < 35)
        kill_at_random(instance);
    else if (dice < 80)
        kill_at_point(instance);
    else if (dice < 93)
        stop_beyond_lease(instance);
    else
        kill_both();
    fault_since(from);
}

void Chaos::strike_engines(int cycle) {
    const auto& troubles = engines_.troubles();
    const auto turn = static_cast<std::size_t>(cycle % 10);
    if (turn % 2 == 0 || turn / 2 >= troubles.size()) return;
    const auto& [name, strike] = troubles[turn / 2];
    const proof::Micros from = now_micros();
    strike(chance_);
    ++tally_[name];
    fault_since(from);
}

void Chaos::kill_at_random(int instance) {
    ++tally_["kill"];
    std::this_thread::sleep_for(a_while(10, 500));
    living(instance).kill();
    std::this_thread::sleep_for(a_while(0, 300));
    start(instance, {});
}

void Chaos::kill_at_point(int instance) {
    const Point& point = points[std::uniform_int_distribution<std::size_t>(0, std::size(points) - 1)(chance_)];
    const int pass = std::uniform_int_distribution<int>(1, point.most)(chance_);
    auto& child = living(instance);
    // It is replaced by one that is going to die at that point.
    child.kill();
    start(instance, std::string(point.name) + ":" + std::to_string(pass));
    // Recovery and clean-up begin a lease after the start; a point that isn't reached in time ends by a plain kill.
    if (!child.ended(options_.lease + 3s)) {
        ++tally_["kill"];
        child.kill();
    } else if (child.was_killed()) {
        ++tally_[point.name];
    } else {
        throw std::runtime_error("instance " + std::to_string(instance) + " " + child.complaint() + " by itself");
    }
    start(instance, {});
}

void Chaos::kill_both() {
    ++tally_["kill-both"];
    std::this_thread::sleep_for(a_while(10, 300));
    living(0).kill();
    living(1).kill();
    start(0, {});
    start(1, {});
}

void Chaos::stop_beyond_lease(int instance) {
    ++tally_["stop"];
    auto& child = living(instance);
    std::this_thread::sleep_for(a_while(10, 200));
    child.signal(SIGSTOP);
    const auto lease = static_cast<int>(options_.lease.count());
    std::this_thread::sleep_for(a_while(lease, 2 * lease));
    child.signal(SIGCONT);
    std::this_thread::sleep_for(a_while(50, 300));  // it learns what it missed
}

}  // namespace nebis::torture
