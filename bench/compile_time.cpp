// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

extern char** environ;

/// What including Nebis costs whoever compiles. The compiler is started without ccache; its processor time is taken,
/// because on a machine that does other things too the time on the wall says more about those.
namespace nebis::bench {
namespace {

double processor_seconds(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (auto& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (const int code = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ))
        give_up(command[0] + " can't be started: " + std::strerror(code));
    int status = 0;
    rusage used{};
    if (wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        give_up(command[0] + " failed");
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) +
           seconds(used.ru_stime);  // the compiler proper is the driver's child, already waited for
}

}  // namespace

void compile_time(Context& context) {
    const Folder folder = context.folder();
    const auto compiled = [&](const std::string& name, const std::string& text) {
        const std::string source = folder.file(name + ".cpp");
        std::ofstream(source) << text;
        return processor_seconds({NEBIS_COMPILER, "-std=c++20", "-O0", "-I" NEBIS_SOURCE_DIR "/include", "-c", source,
                                  "-o", folder.file(name + ".o")});
    };
    // The floor is what nobody can do without: the headers of the standard library whose types the public ones use, by
    // the names that a user would write.
    const std::string standard =
        "#include <array>\n#include <chrono>\n#include <coroutine>\n#include <functional>\n#include <map>\n"
        "#include <memory>\n#include <optional>\n#include <span>\n#include <stdexcept>\n#include <stop_token>\n"
        "#include <string>\n#include <tuple>\n#include <vector>\nint main() {}\n";
    const auto figures = context.interleave(
        {
            {"floor: the standard headers alone", "s", [&] { return compiled("standard", standard); }},
            {"nebis/nebis.hpp", "s",
             [&] { return compiled("nebis", "#include \"nebis/nebis.hpp\"\nint main() {}\n"); }},
        },
        15);
    // The compiler does the same work each time, so what lies above the least round is the machine's other work.
    context.figure({"  its least round", "s", {figures[1].least()}});
    context.at_most("compile-seconds", figures[1].median(), 1.0);
    // The same without the machine's speed: neighbours come and go slower than a round takes. About 1, since
    // `nebis/standard.hpp` takes parts of some headers.
    context.at_most("compile-to-standard-headers", ratio(figures[1], figures[0]), 1.15);
}

}  // namespace nebis::bench
