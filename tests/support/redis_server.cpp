// SPDX-License-Identifier: Apache-2.0
#include "redis_server.hpp"

#include "redis_client/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace nebis::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds patience{30};
/// A Cluster's bus listens 10 000 above, so both must fit.
constexpr std::uint16_t lowest_port = 20'000, highest_port = 30'000;

bool is_free(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    return free;
}

/// Whether Redis of that pid answers. A connection alone says little: the kernel takes it as soon as the port is open,
/// before Redis has opened its Unix socket; and the port may be another one's. A refusal is an answer too.
bool answers(std::uint16_t port, pid_t pid) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(1);
    auto socket = redis::Socket::connect(*redis::parse_address("127.0.0.1:" + std::to_string(port)), deadline);
    std::size_t sent = 0;
    if (!socket || !socket->send("INFO server\r\n", sent, deadline)) return false;
    std::array<char, 16'384> answer;
    std::string_view end = "\r\n", text;
    for (std::size_t size = 0; !text.ends_with(end); text = {answer.data(), size}) {
        const auto more = socket->receive(answer.data() + size, answer.size() - size, deadline);
        if (!more || *more == 0) return false;
        size += *more;
    }
    return text.starts_with('-') || text.find("process_id:" + std::to_string(pid) + "\r") != text.npos;
}

}  // namespace

std::uint16_t free_port() {
    // Test programs run beside each other; each begins somewhere else.
    static unsigned next = static_cast<unsigned>(::getpid()) * 37U;
    for (int i = 0; i < 10'000; ++i) {
        const auto port = static_cast<std::uint16_t>(lowest_port + next++ % (highest_port - lowest_port));
        if (is_free(port) && is_free(static_cast<std::uint16_t>(port + 10'000))) return port;
    }
    throw std::runtime_error("no port is free");
}

RedisServer::RedisServer(std::vector<std::string> options, bool sentinel)
    : options_(std::move(options)), sentinel_(sentinel), port_(free_port()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "nebis-redis-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no folder for Redis");
    folder_ = pattern;
    // Between finding a port free and taking it, another program may take it.
    constexpr int most_tries = 3;
    for (int tries = 1; pid_ < 0; ++tries) {
        try {
            start();
        } catch (const std::runtime_error&) {
            if (tries == most_tries) throw;
            port_ = free_port();
        }
    }
}

RedisServer::~RedisServer() {
    kill();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::start() {
    const std::string port = std::to_string(port_), conf = folder_ + "/redis.conf";
    std::vector<std::string> words{"redis-server"};
    if (sentinel_) {
        std::ofstream(conf).close();  // Sentinel insists on a file that it may write
        words.push_back(conf);
    }
    words.insert(words.end(), {"--port", port, "--bind", "127.0.0.1", "--dir", folder_});
    if (!sentinel_) words.insert(words.end(), {"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"});
    words.insert(words.end(), options_.begin(), options_.end());
    if (sentinel_) words.emplace_back("--sentinel");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string log = folder_ + "/log";
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(out, 1);
        ::dup2(out, 2);
        ::execvp("redis-server", argv.data());
        ::_exit(127);
    }
    if (pid_ < 0) throw std::runtime_error("no process for Redis");
    wait_until_ready();
}

void RedisServer::wait_until_ready() {
    const bool up = eventually(
        [this] {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) {
                pid_ = -1;
                return true;
            }
            return answers(port_, pid_);
        },
        patience);
    if (up && pid_ > 0) return;
    kill();
    std::ifstream log(folder_ + "/log");
    throw std::runtime_error("Redis did not come up: " + std::string(std::istreambuf_iterator<char>(log), {}));
}

void RedisServer::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}
void RedisServer::pause() { ::kill(pid_, SIGSTOP); }
void RedisServer::resume() { ::kill(pid_, SIGCONT); }

bool RedisServer::has_replica() const {
    return eventually([this] {
        const std::string info = ask({"INFO", "replication"}).text;
        constexpr std::string_view before = "master_repl_offset:";
        const auto at = info.find(before);
        if (at == std::string::npos) return false;
        const auto from = at + before.size();
        const std::string offset = info.substr(from, info.find('\r', from) - from);
        return info.find("state=online,offset=" + offset + ",") != std::string::npos;
    });
}

redis::Reply RedisServer::ask(std::initializer_list<std::string_view> words, bool may_fail) const {
    return ask(std::vector<std::string>(words.begin(), words.end()), may_fail);
}

redis::Reply RedisServer::ask(const std::vector<std::string>& words, bool may_fail) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    redis::Opening how;
    how.credentials = who_;
    how.tls = tls_;
    auto connection = redis::Connection::open(*redis::parse_address(address()), how, deadline);
    redis::Commands command;
    command.begin(words.size());
    for (const auto& word : words) command.word(word);
    auto reply = connection.value()->ask(command, deadline);
    if (reply.value().is_error() && !may_fail) throw std::runtime_error(reply->text);
    return *std::move(reply);
}

}  // namespace nebis::test
