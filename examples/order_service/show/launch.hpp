// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "child.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace shop {

/// A program that listens.
struct Running {
    Child child;
    Endpoint endpoint;
};

/// Starts it and waits for its "listening on http://…". **Errors**: throws, with the end of its log, when that line
/// doesn't come.
Running launch(const std::vector<std::string>& command, const std::filesystem::path& log,
               std::chrono::milliseconds timeout = std::chrono::seconds(30));

/// A program in the folder of this one. **Errors**: throws when there is none.
std::string beside_me(const std::string& program);

/// Gone with its object, unless kept.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string& name);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    void keep() noexcept { keep_ = true; }
    const std::filesystem::path& path() const noexcept { return path_; }
    std::string operator/(const std::string& file) const { return (path_ / file).string(); }

private:
    std::filesystem::path path_;
    bool keep_ = false;
};

}  // namespace shop
