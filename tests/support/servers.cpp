// SPDX-License-Identifier: Apache-2.0
#include "support/servers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

namespace nebis::test {

namespace {

constexpr std::chrono::seconds longest_wait{90};

}  // namespace

Server::Server(const std::string& kind, bool quick) : kind_(kind) {
    // A socket pair rather than a pipe: writing to a tools/servers that is gone is then an error, not a SIGPIPE.
    std::array<int, 2> channel{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) != 0)
        throw ServerError("no socket pair for tools/servers");
    program_ = ::fork();
    if (program_ == 0) {
        ::dup2(channel[1], 0);
        ::dup2(channel[1], 1);
        const char* const program = NEBIS_SOURCE_DIR "/tools/servers";
        if (quick)
            ::execl(program, program, "up", "--quick", kind.c_str(), nullptr);
        else
            ::execl(program, program, "up", kind.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(channel[1]);
    channel_ = channel[0];
    try {
        if (program_ < 0) throw ServerError("no process for tools/servers");
        read_members();
    } catch (...) {
        ::close(channel[0]);
        if (program_ > 0) ::waitpid(program_, nullptr, 0);
        throw;
    }
}

Server::~Server() {
    ::close(channel_);  // its stdin closes: it ends the server, bounded, and leaves
    ::waitpid(program_, nullptr, 0);
}

Server& Server::shared(const std::string& kind) {
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<Server>> servers;
    const std::lock_guard lock(mutex);
    auto& server = servers[kind];
    if (!server) server = std::make_unique<Server>(kind);
    return *server;
}

void Server::read_members() {
    for (std::string text = line(); text != "ready"; text = line()) {
        std::istringstream facts(text);
        Member member;
        std::string address;
        facts >> member.name >> address >> member.pid >> member.ca;
        const auto colon = address.rfind(':');
        if (colon == std::string::npos) throw ServerError("tools/servers said: " + text);
        member.port = static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1)));
        members_.push_back(std::move(member));
    }
    if (members_.empty()) throw ServerError("tools/servers up " + kind_ + " listed no server");
}

const Server::Member& Server::one(const std::string& member) const {
    for (const Member& known : members_)
        if (member.empty() || known.name == member) return known;
    throw ServerError(kind_ + " has no member " + member);
}

std::string Server::address(const std::string& member) const {
    return std::string(host()) + ":" + std::to_string(port(member));
}

std::vector<std::string> Server::members() const {
    std::vector<std::string> names;
    for (const Member& member : members_) names.push_back(member.name);
    return names;
}

void Server::command(const std::string& verb, const std::string& member) {
    const std::string name = one(member).name;
    const std::string text = verb + " " + name + "\n";
    if (::send(channel_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
        throw ServerError("tools/servers, which runs " + kind_ + ", is gone");
    const std::string said = line();
    std::istringstream answer(said);
    std::string word;
    std::string whom;
    pid_t pid = -1;
    answer >> word >> whom >> pid;
    if (word != "ok" || whom != name) throw ServerError(text.substr(0, text.size() - 1) + ": " + said);
    for (Member& known : members_)
        if (known.name == name) known.pid = pid;
}

std::string Server::line() {
    const auto until = std::chrono::steady_clock::now() + longest_wait;
    for (;;) {
        if (const auto end = received_.find('\n'); end != std::string::npos) {
            std::string found = received_.substr(0, end);
            received_.erase(0, end + 1);
            return found;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd readable{channel_, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) == 0)
            throw ServerError("tools/servers, asked for " + kind_ + ", did not answer in time");
        std::array<char, 512> part{};
        const ssize_t got = ::read(channel_, part.data(), part.size());
        if (got <= 0) throw ServerError("tools/servers could not run " + kind_ + "; its reason is above, on stderr");
        received_.append(part.data(), static_cast<std::size_t>(got));
    }
}

}  // namespace nebis::test
