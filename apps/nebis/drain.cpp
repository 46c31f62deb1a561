// SPDX-License-Identifier: Apache-2.0
#include "drain.hpp"

#include "nebis/drain.hpp"
#include "nebis/engine.hpp"
#include "nebis/starter.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// stdout is data, stderr is talk.
namespace nebis::app {
namespace {

constexpr const char* about =
    "Examples:\n"
    "  nebis drain --config nebis.yaml                     no attempt is left half-way\n"
    "  nebis drain --config nebis.yaml --wait-seconds 0    look, and settle at once or not at all\n\n"
    "Before a fleet goes back to a version that doesn't read the record table, and after its instances were stopped:\n"
    "waits for the leases of those that died, then makes every attempt that was left half-way UNKNOWN. While a lease\n"
    "lives it refuses and changes nothing: somebody works there.\n\n"
    "Exit codes: 0 nothing is left, 1 failed, 2 usage, 4 a lease lives, 5 configuration or rights, 6 somebody holds\n"
    "rows, or the store can't be reached: run it again.";

struct Flags {
    std::string config = "nebis.yaml";
    std::string data_source = "primary";
    std::string table;
    std::vector<std::string> sets;
    std::int64_t wait_seconds = 30;
};

ExitCode drain(const Flags& flags) {
    OpenOptions options;
    options.sets = flags.sets;
    DrainOptions how;
    how.wait = std::chrono::seconds(flags.wait_seconds);
    how.waiting = [](const std::string& table, const Leases& left) {
        std::fprintf(stderr, "%s: %zu at work, for %lld ms more at most; %zu abandoned\n", table.c_str(), left.live,
                     static_cast<long long>(left.longest_millis), left.overdue);
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(1) + how.wait;
    const auto done =
        nebis::drain(flags.config, standard_drivers(), options, flags.data_source, flags.table, how, deadline);
    if (!done) return report(done.error());
    ExitCode code = ExitCode::done;
    for (const Drained& one : *done) {
        std::printf("%s: %zu settled as UNKNOWN, %zu at work, %zu abandoned\n", one.table.c_str(), one.settled,
                    one.left.live, one.left.overdue);
        if (one.left.live > 0)
            code = ExitCode::refused;
        else if (!one.done() && code == ExitCode::done)
            code = ExitCode::unreachable;
    }
    return code;
}

}  // namespace

void add_drain(CLI::App& app, ExitCode& code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* const command = app.add_subcommand("drain", about);
    command->add_option("--config", flags->config, "the configuration file, read as services read it")
        ->capture_default_str();
    command->add_option("--set", flags->sets, "a.b=c: a setting above the file and the environment");
    command->add_option("--data-source", flags->data_source, "which of its data sources")->capture_default_str();
    command->add_option("--table", flags->table, "this record table alone (default: all that the file names)");
    command->add_option("--wait-seconds", flags->wait_seconds, "how long to wait for leases to end, for each table")
        ->check(CLI::Range(0, 86'400))
        ->capture_default_str();
    command->callback([flags, &code] { code = drain(*flags); });
}

}  // namespace nebis::app
