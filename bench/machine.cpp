// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <sqlite3.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace nebis::bench {
namespace {

std::string output_of(const char* command) {
    std::string text;
    if (FILE* pipe = popen(command, "r")) {
        char part[256];
        while (std::fgets(part, sizeof part, pipe)) text += part;
        if (pclose(pipe) != 0) text.clear();
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string commit() {
    std::string text = output_of("git -C '" NEBIS_SOURCE_DIR "' rev-parse --short=12 HEAD 2>/dev/null");
    if (text.empty()) return "unknown";
    if (!output_of("git -C '" NEBIS_SOURCE_DIR "' status --porcelain --untracked-files=no 2>/dev/null").empty())
        text += "+";
    return text;
}

}  // namespace

Machine machine() {
    Machine m;
    m.cpu = cpu_name();
    m.cores = std::thread::hardware_concurrency();
    m.memory_gib =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1u << 30);
    utsname name{};
    if (uname(&name) == 0) m.kernel = std::string(name.sysname) + ' ' + name.release;
    m.compiler = NEBIS_COMPILER_NAME;
    m.build = NEBIS_BUILD_FLAGS;
    m.sqlite = sqlite3_libversion();
    m.commit = commit();
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    m.time = text;
    if (getloadavg(&m.load, 1) != 1) m.load = 0;
    return m;
}

}  // namespace nebis::bench
