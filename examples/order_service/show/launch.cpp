// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace shop {
namespace {

std::string end_of(const std::filesystem::path& log) {
    std::ifstream file(log);
    std::string text = (std::ostringstream() << file.rdbuf()).str();
    return text.size() > 2'000 ? text.substr(text.size() - 2'000) : text;
}

}  // namespace

Running launch(const std::vector<std::string>& command, const std::filesystem::path& log,
               std::chrono::milliseconds timeout) {
    constexpr std::string_view words = "listening on http://";
    Running running{Child(command, log.string()), {}};
    const auto line = running.child.first_line(timeout);
    if (!line || !line->starts_with(words)) {
        running.child.kill();
        throw std::runtime_error(command.front() + " did not start: " + end_of(log));
    }
    running.endpoint = Endpoint::parse(line->substr(words.size()));
    return running;
}

std::string beside_me(const std::string& program) {
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
    if (!std::filesystem::exists(path)) throw std::runtime_error("there is no " + path.string() + "; build it first");
    return path.string();
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
    std::string pattern = (std::filesystem::temp_directory_path() / (name + ".XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("can't make a folder " + pattern);
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace shop
