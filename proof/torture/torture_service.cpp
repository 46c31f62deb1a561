// SPDX-License-Identifier: Apache-2.0
// The order service that dies where it is told: `--die-at point:n` ends it with SIGKILL when it passes that point for
// the n-th time. The points are those of runtime/probe.hpp, and `in-handler`.
#include "runtime/probe.hpp"
#include "service.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// Takes `--die-at point:n` out of the arguments and sets the trap.
void set_trap(std::vector<char*>& arguments) {
    for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
        if (std::string_view(arguments[i]) != "--die-at") continue;
        const std::string_view value = arguments[i + 1];
        const auto colon = value.find(':');
        if (colon == std::string_view::npos) throw std::invalid_argument("--die-at takes point:n");
        auto left = std::make_shared<std::atomic<int>>(std::atoi(value.substr(colon + 1).data()));
        nebis::runtime::set_probe([point = std::string(value.substr(0, colon)), left](std::string_view passed) {
            if (passed == point && left->fetch_sub(1) == 1) ::kill(::getpid(), SIGKILL);
        });
        const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
        arguments.erase(at, at + 2);
        return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<char*> arguments(argv, argv + argc);
    try {
        set_trap(arguments);
        auto settings = shop::parse(static_cast<int>(arguments.size()), arguments.data());
        settings.packing = [] { nebis::runtime::probe("in-handler"); };
        // Scheduled clean-up waits a minute after a start, and nobody lives that long here.
        std::jthread cleaner;
        settings.serving = [&](const nebis::Engine& engine) {
            cleaner = std::jthread([engine](std::stop_token stop) {
                for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(250)))
                    (void)engine.clean_now();
            });
        };
        shop::serve(settings);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "nebis-torture-service: " << error.what() << '\n';
        return 1;
    }
}
