// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace shop {

/// A program of ours that we started. It dies with the thread that started it, with this object at the latest.
/// **Threads**: one at a time; start from a thread that outlives the child.
class Child {
public:
    Child() = default;
    /// Its stderr goes to `log` (appended). **Errors**: throws std::system_error.
    Child(const std::vector<std::string>& command, const std::string& log);
    ~Child() { kill(); }
    Child(Child&& other) noexcept { *this = std::move(other); }
    Child& operator=(Child&& other) noexcept;

    pid_t pid() const noexcept { return pid_; }
    /// The first line it prints; empty when it prints none in time or ends.
    std::optional<std::string> first_line(std::chrono::milliseconds timeout);
    void signal(int number) const;
    /// Did it end within the time? Collects it if so.
    bool ended(std::chrono::milliseconds timeout);
    /// How it ended, in words; empty when it ended well, still runs or never ran.
    std::string complaint() const;
    bool was_killed() const noexcept;              ///< by SIGKILL
    void kill();                                   ///< SIGKILL, and wait
    void stop(std::chrono::milliseconds timeout);  ///< SIGTERM, then `kill`

private:
    pid_t pid_ = -1;
    int output_ = -1;
    int status_ = 0;
};

}  // namespace shop
