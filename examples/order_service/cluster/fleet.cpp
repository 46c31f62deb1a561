// SPDX-License-Identifier: Apache-2.0
#include "fleet.hpp"

#include <fstream>

namespace shop {
namespace {

using namespace std::chrono_literals;

// A short lease, so that the dead are missed soon. A Redis that is away doesn't stop anybody: the table decides.
constexpr std::string_view configuration = R"(nebis:
  idempotent:
    lock-expire-millis: 3000
    scheduler-interval-millis: 500
    fail-open: true
)";

}  // namespace

Fleet::Fleet(const std::string& store, std::vector<std::string> sets)
    : store_(store), sets_(std::move(sets)), database_(store == "mysql" ? "mariadb" : "postgres") {
    std::ofstream(folder_ / "nebis.yaml") << configuration;
    bank_ = launch({beside_me("nebis-flaky-bank"), "--port", "0"}, folder_ / "bank.log");
    for (std::size_t number = 0; number < fleet_size; ++number) start_instance(number);
}

Fleet::~Fleet() {
    stop_instances();
    bank_.child.kill();
}

Endpoint Fleet::instance(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    return listening_.at(number);
}

void Fleet::start_instance(std::size_t number) {
    std::vector<std::string> command{beside_me("nebis-order-service"),
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--store",
                                     store_,
                                     "--db",
                                     database_.address(),
                                     "--bank",
                                     bank_.endpoint.host + ":" + std::to_string(bank_.endpoint.port),
                                     "--config",
                                     folder_ / "nebis.yaml"};
    const auto redis = redis_.arguments();
    command.insert(command.end(), redis.begin(), redis.end());
    for (const auto& set : sets_) command.insert(command.end(), {"--set", set});
    Running started = launch(command, folder_ / ("instance" + std::to_string(number) + ".log"));
    const std::lock_guard lock(mutex_);
    children_.at(number) = std::move(started.child);
    listening_.at(number) = started.endpoint;
}

void Fleet::kill_instance(std::size_t number) { children_.at(number).kill(); }
void Fleet::signal_instance(std::size_t number, int signal) { children_.at(number).signal(signal); }

void Fleet::stop_instances() {
    for (Child& child : children_) child.stop(10s);
}

}  // namespace shop
