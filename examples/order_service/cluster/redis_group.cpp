// SPDX-License-Identifier: Apache-2.0
#include "redis_group.hpp"

#include "call.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

constexpr auto patience = 40s;

std::string kind_of(const std::string& topology) { return topology == "single" ? "redis" : "redis-" + topology; }

}  // namespace

RedisGroup::RedisGroup(const std::string& topology) : topology_(topology), servers_(kind_of(topology)) {}

std::vector<std::string> RedisGroup::arguments() const {
    std::string addresses;
    const auto data = data_members();
    for (const auto& member : servers_.members())
        if ((topology_ == "sentinel") != (std::ranges::find(data, member) != data.end()))
            addresses.append(addresses.empty() ? "" : ",").append(servers_.address(member));
    return {"--redis", addresses, "--redis-topology", topology_, "--redis-master", "nebis"};
}

/// The first piece of the answer to an inline command; empty when none came.
std::string RedisGroup::says(const std::string& member, const std::string& command) const {
    boost::system::error_code code;
    boost::asio::io_context io;
    tcp::socket socket(io);
    socket.connect({boost::asio::ip::make_address(nebis::test::Server::host()), servers_.port(member)}, code);
    if (code) return {};
    const timeval wait{2, 0};
    ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    boost::asio::write(socket, boost::asio::buffer(command + "\r\n"), code);
    if (code) return {};
    std::string text(4096, '\0');
    text.resize(socket.read_some(boost::asio::buffer(text), code));
    return text;
}

void RedisGroup::until(const std::string& what, const std::function<bool()>& true_now) {
    for (const auto end = std::chrono::steady_clock::now() + patience; !true_now(); std::this_thread::sleep_for(50ms))
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("Redis: never came: " + what);
}

/// Those that keep data: not the Sentinels.
std::vector<std::string> RedisGroup::data_members() const {
    auto members = servers_.members();
    if (topology_ == "sentinel")
        std::erase_if(members,
                      [](const auto& name) { return !name.ends_with("-primary") && !name.ends_with("-replica"); });
    return members;
}

bool RedisGroup::is_master(const std::string& member) const {
    return says(member, "ROLE").find("\r\nmaster\r\n") != std::string::npos;
}

std::vector<std::string> RedisGroup::masters() const {
    if (topology_ == "single") return servers_.members();
    auto found = data_members();
    if (topology_ == "sentinel") {
        // Whom the Sentinels send clients to: one that just came back may think that it is master, too.
        const std::string said = says("redis-sentinel-1", "SENTINEL get-master-addr-by-name nebis");
        std::erase_if(found, [&](const auto& member) {
            return said.find("\r\n" + std::to_string(servers_.port(member)) + "\r\n") == std::string::npos;
        });
    }
    std::erase_if(found, [&](const auto& member) { return !is_master(member); });
    return found;
}

std::string RedisGroup::a_master(std::mt19937_64& chance) const {
    std::vector<std::string> found;
    until("a master", [&] { return !(found = masters()).empty(); });
    return found[std::uniform_int_distribution<std::size_t>(0, found.size() - 1)(chance)];
}

/// The member whose ROLE names that master's port, with everything read.
std::string RedisGroup::replica_of(const std::string& master) const {
    const std::string port = ":" + std::to_string(servers_.port(master)) + "\r\n";
    for (const auto& member : data_members())
        if (const std::string role = says(member, "ROLE"); role.find("\r\nslave\r\n") != std::string::npos &&
                                                           role.find(port) != std::string::npos &&
                                                           role.find("\r\nconnected\r\n") != std::string::npos)
            return member;
    return {};
}

void RedisGroup::kill(std::mt19937_64& chance) {
    const std::string dead = a_master(chance);
    std::string heir;
    if (topology_ != "single") until("a replica of " + dead, [&] { return !(heir = replica_of(dead)).empty(); });
    servers_.kill(dead);
    if (!heir.empty())
        until(heir + " as the new master", [&] {
            const auto now = masters();
            return std::ranges::find(now, heir) != now.end();
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 500)(chance)));
    servers_.start(dead);
}

void RedisGroup::fail_over(std::mt19937_64& chance) {
    const std::string before = a_master(chance);
    std::string heir;
    until("a replica of " + before, [&] { return !(heir = replica_of(before)).empty(); });
    const bool sentinel = topology_ == "sentinel";
    // Refused while the last one isn't over.
    until("a failover", [&] {
        return says(sentinel ? "redis-sentinel-1" : heir, sentinel ? "SENTINEL FAILOVER nebis" : "CLUSTER FAILOVER")
            .starts_with("+OK");
    });
    until(heir + " as the new master", [&] {
        const auto now = masters();
        return std::ranges::find(now, heir) != now.end();
    });
}

void RedisGroup::flush() {
    for (const auto& master : masters()) says(master, "FLUSHALL");
}

}  // namespace shop
