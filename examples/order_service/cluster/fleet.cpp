// SPDX-License-Identifier: Apache-2.0
#include "fleet.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>
#include <sys/time.h>

#include <fstream>

namespace shop {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

// A short lease, so that the dead are missed soon. A Redis that is away doesn't stop anybody: the table decides.
constexpr std::string_view configuration = R"(nebis:
  idempotent:
    lock-expire-millis: 3000
    scheduler-interval-millis: 500
    fail-open: true
)";

/// The whole answer of Redis to an inline command; empty when there was none.
std::string redis_says(const std::string& address, const std::string& command) {
    const Endpoint to = Endpoint::parse(address);
    boost::system::error_code code;
    boost::asio::io_context io;
    tcp::socket socket(io);
    socket.connect({boost::asio::ip::make_address(to.host), to.port}, code);
    if (code) return {};
    const timeval patience{2, 0};
    ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    boost::asio::write(socket, boost::asio::buffer(command + "\r\n"), code);
    if (code) return {};
    std::string text(4096, '\0');
    text.resize(socket.read_some(boost::asio::buffer(text), code));
    return text;
}

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
    std::string sentinels;
    for (const auto& member : redis_.members())
        if (member.starts_with("redis-sentinel-") && member.back() >= '1' && member.back() <= '9')
            sentinels += (sentinels.empty() ? "" : ",") + redis_.address(member);
    std::vector<std::string> command{beside_me("nebis-order-service"),
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--store",
                                     store_,
                                     "--db",
                                     database_.address(),
                                     "--redis",
                                     sentinels,
                                     "--sentinel-master",
                                     "nebis",
                                     "--bank",
                                     bank_.endpoint.host + ":" + std::to_string(bank_.endpoint.port),
                                     "--config",
                                     folder_ / "nebis.yaml"};
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

std::string Fleet::redis_master() const {
    const std::string said = redis_says(redis_.address("redis-sentinel-1"), "SENTINEL get-master-addr-by-name nebis");
    for (const auto& member : redis_.members())
        if (said.find("\r\n" + std::to_string(redis_.port(member)) + "\r\n") != std::string::npos) return member;
    return {};
}

bool Fleet::tell_redis(const std::string& member, const std::string& command) const {
    return redis_says(redis_.address(member), command).starts_with("+OK");
}

}  // namespace shop
