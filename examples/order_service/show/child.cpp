// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace shop {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::string& log) {
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
        // Only calls that are safe between fork and exec of a program with threads.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        ::dup2(ends[1], STDOUT_FILENO);
        if (file >= 0) ::dup2(file, STDERR_FILENO);
        ::close_range(3, ~0U, 0);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
}

Child& Child::operator=(Child&& other) noexcept {
    if (this != &other) {
        kill();
        pid_ = std::exchange(other.pid_, -1);
        output_ = std::exchange(other.output_, -1);
        status_ = other.status_;
    }
    return *this;
}

std::optional<std::string> Child::first_line(std::chrono::milliseconds timeout) {
    const auto until = Clock::now() + timeout;
    std::string line;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd waiting{output_, POLLIN, 0};
        if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) == 0) return {};
        char c = 0;
        const ssize_t got = ::read(output_, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return {};
        if (c == '\n') return line;
        line.push_back(c);
    }
}

void Child::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

bool Child::ended(std::chrono::milliseconds timeout) {
    const auto until = Clock::now() + timeout;
    while (pid_ > 0) {
        const pid_t got = ::waitpid(pid_, &status_, WNOHANG);
        if (got == pid_ || (got < 0 && errno == ECHILD)) {
            pid_ = -1;
            break;
        }
        if (Clock::now() >= until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (output_ >= 0) ::close(std::exchange(output_, -1));
    return true;
}

bool Child::was_killed() const noexcept { return pid_ < 0 && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

std::string Child::complaint() const {
    if (pid_ > 0 || status_ == 0) return {};
    if (WIFSIGNALED(status_)) return "ended by signal " + std::to_string(WTERMSIG(status_));
    return "ended with exit code " + std::to_string(WEXITSTATUS(status_));
}

void Child::kill() {
    signal(SIGKILL);
    // SIGKILL can't be refused, only a machine in trouble can delay it.
    ended(std::chrono::seconds(30));
}

void Child::stop(std::chrono::milliseconds timeout) {
    signal(SIGTERM);
    if (!ended(timeout)) kill();
}

}  // namespace shop
