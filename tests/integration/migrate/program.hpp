// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The program `nebis`, as an operator starts it.
namespace nebis::test {

struct Ended {
    int code = -1;  ///< -1: a signal ended it
    std::string out, err;
};

inline std::string text_of_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A started one; killed when it goes out of sight.
class Program {
public:
    Program(const std::filesystem::path& folder, std::vector<std::string> arguments)
        : out_(folder / ("out-" + std::to_string(++count()))), err_(folder / ("err-" + std::to_string(count()))) {
        arguments.insert(arguments.begin(), NEBIS_PROGRAM);
        std::vector<char*> raw;
        for (auto& one : arguments) raw.push_back(one.data());
        raw.push_back(nullptr);
        const int out = ::open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int err = ::open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(out, STDOUT_FILENO);
            ::dup2(err, STDERR_FILENO);
            ::execv(raw[0], raw.data());
            ::_exit(127);
        }
        ::close(out);
        ::close(err);
        if (pid_ < 0) throw std::runtime_error("fork");
    }
    ~Program() {
        if (pid_ < 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// How often it has said this by now.
    int said(const std::string& words) const {
        const std::string all = text_of_file(err_);
        int count = 0;
        for (std::size_t at = 0; (at = all.find(words, at)) != std::string::npos; at += words.size()) ++count;
        return count;
    }
    bool ended() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
    }
    void kill() const { ::kill(pid_, SIGKILL); }
    Ended wait() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of_file(out_), text_of_file(err_)};
    }

private:
    static int& count() {
        static int number = 0;
        return number;
    }
    std::filesystem::path out_, err_;
    pid_t pid_ = -1;
};

/// Compares with tests/golden/migrate/<name>; NEBIS_UPDATE_GOLDEN=1 writes it instead.
inline std::string golden(const std::string& name, const std::string& made) {
    const std::filesystem::path path = std::filesystem::path(NEBIS_SOURCE_DIR) / "tests/golden/migrate" / name;
    if (std::getenv("NEBIS_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << made;
    return text_of_file(path);
}

}  // namespace nebis::test
