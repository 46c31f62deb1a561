// SPDX-License-Identifier: Apache-2.0
#include "reseal.hpp"

#include "nebis/engine.hpp"
#include "nebis/reseal.hpp"
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
    "  nebis reseal --config nebis.yaml   every stored snapshot comes under seal.current\n\n"
    "The end of a rotation of keys: after every instance seals with the new one, and before the old one is dropped.\n"
    "Runs beside the fleet and may be killed and run again.\n\n"
    "Exit codes: 0 all records are under the current key, 1 failed, 2 usage, 4 some don't open (their key is gone, or\n"
    "they are damaged), 5 configuration or rights, 6 some were in use, or the store can't be reached: run it again.";

struct Flags {
    std::string config = "nebis.yaml";
    std::string data_source = "primary";
    std::string table;
    std::vector<std::string> sets;
    std::size_t batch = 50;
    std::int64_t timeout_seconds = 3600;
};

ExitCode reseal(const Flags& flags) {
    OpenOptions options;
    options.sets = flags.sets;
    ResealOptions how;
    how.batch = flags.batch;
    const auto done = nebis::reseal(flags.config, standard_drivers(), options, flags.data_source, flags.table, how,
                                    std::chrono::steady_clock::now() + std::chrono::seconds(flags.timeout_seconds));
    if (!done) return report(done.error());
    ExitCode code = ExitCode::done;
    for (const Resealed& one : *done) {
        std::printf("%s: %zu records, %zu sealed anew, %zu in use, %zu don't open, %zu unreadable\n", one.table.c_str(),
                    one.looked_at, one.sealed, one.in_use, one.unopened, one.unreadable);
        if (one.unopened + one.unreadable > 0)
            code = ExitCode::refused;
        else if (one.in_use > 0 && code == ExitCode::done)
            code = ExitCode::unreachable;
    }
    return code;
}

}  // namespace

void add_reseal(CLI::App& app, ExitCode& code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* const command = app.add_subcommand("reseal", about);
    command->add_option("--config", flags->config, "the configuration file, read as services read it")
        ->capture_default_str();
    command->add_option("--set", flags->sets, "a.b=c: a setting above the file and the environment");
    command->add_option("--data-source", flags->data_source, "which of its data sources")->capture_default_str();
    command->add_option("--table", flags->table, "this record table alone (default: all that the file names)");
    command->add_option("--batch", flags->batch, "rows of one commit")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--timeout-seconds", flags->timeout_seconds, "give up after so long; what is done stays")
        ->check(CLI::Range(1, 604'800))
        ->capture_default_str();
    command->callback([flags, &code] { code = reseal(*flags); });
}

}  // namespace nebis::app
