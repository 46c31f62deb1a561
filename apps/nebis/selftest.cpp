// SPDX-License-Identifier: Apache-2.0
#include "selftest.hpp"

#include "nebis/engine.hpp"
#include "nebis/migrate.hpp"
#include "nebis/starter.hpp"
#include "typical.hpp"

#include <boost/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// stdout is data, stderr is talk.
namespace nebis::app {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  nebis selftest --config nebis.yaml         30 checks against the store and lock service that services use\n"
    "  nebis selftest --config nebis.yaml --json  for programs\n\n"
    "Five typical operations (create order, payment callback, refund, stock, points) in six situations: normal, "
    "double\n"
    "click, retry after a failure, retry after a time-out, several at once, after a restart. Two instances are opened\n"
    "on what the configuration names; keys are new ones, and the records made are removed again. Safe while services\n"
    "run: their operations are not touched.\n\n"
    "Exit codes: 0 all passed, 1 a check failed, 2 usage, 4 refused, 5 configuration, 6 the store can't be reached.";

struct Flags {
    std::string config = "nebis.yaml";
    std::vector<std::string> sets;
    bool json = false;
};

/// The services' own settings, but for what would hide the store from the checks or leave something of them behind.
OpenOptions options_of(const Flags& flags) {
    OpenOptions options;
    options.sets = flags.sets;
    for (const char* set :
         {"local-cache-millis=0", "scheduler-enabled=false", "key-rule-guard=false", "quota.new-keys=0"})
        options.sets.emplace_back(set);
    return options;
}

const char* word(Finding::Verdict verdict) {
    switch (verdict) {
        case Finding::Verdict::passed: return "ok";
        case Finding::Verdict::failed: return "FAILED";
        case Finding::Verdict::not_asked: return "not asked";
    }
    return "?";
}

void print(const std::vector<Finding>& findings, bool json) {
    boost::json::array all;
    for (const auto& [operation, situation, verdict, why] : findings) {
        if (json) {
            all.push_back(boost::json::object{
                {"operation", operation}, {"situation", situation}, {"result", word(verdict)}, {"why", why}});
            continue;
        }
        std::printf("%-16s %-21s %s%s%s\n", operation.c_str(), situation.c_str(), word(verdict),
                    why.empty() ? "" : ": ", why.c_str());
    }
    if (json) std::printf("%s\n", boost::json::serialize(boost::json::object{{"checks", all}}).c_str());
}

ExitCode selftest(const Flags& flags) {
    const OpenOptions options = options_of(flags);
    // Only a store that other processes see can be asked what is there after a restart.
    const auto tables = record_tables(flags.config, standard_drivers(), options, "primary");
    Stage stage;
    stage.kept = !tables || tables->empty() || tables->front().driver != "memory";
    stage.open = [&] { return Engine::open(flags.config, options); };
    const auto findings = play_typical(stage);
    if (!findings) return report(findings.error());
    print(*findings, flags.json);
    int passed = 0, failed = 0;
    for (const auto& finding : *findings) {
        passed += finding.verdict == Finding::Verdict::passed ? 1 : 0;
        failed += finding.verdict == Finding::Verdict::failed ? 1 : 0;
    }
    std::fprintf(stderr, "%d passed, %d failed\n", passed, failed);
    return failed == 0 ? ExitCode::done : ExitCode::failed;
}

}  // namespace

void add_selftest(CLI::App& app, ExitCode& code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* const command = app.add_subcommand("selftest", examples);
    command->add_option("--config", flags->config, "the configuration file, read as services read it")
        ->capture_default_str();
    command->add_option("--set", flags->sets, "a.b=c: a setting above the file and the environment");
    command->add_flag("--json", flags->json, "for programs");
    command->callback([flags, &code] { code = selftest(*flags); });
}

}  // namespace nebis::app
