// SPDX-License-Identifier: Apache-2.0
#include "drain.hpp"
#include "migrate.hpp"
#include "nebis/migrate.hpp"
#include "nebis/version.hpp"
#include "reseal.hpp"
#include "selftest.hpp"
#include "v1.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace nebis::app {

ExitCode report(const Error& error) {
    std::fprintf(stderr, "nebis: %s\n", error.text().c_str());
    if (is_refusal(error)) return ExitCode::refused;
    switch (error.kind()) {
        case ErrorKind::misconfigured: return ExitCode::configuration;
        case ErrorKind::unavailable:
        case ErrorKind::overloaded: return ExitCode::unreachable;
        default: return ExitCode::failed;
    }
}

}  // namespace nebis::app

int main(int argc, char** argv) {
    using nebis::app::ExitCode;
    try {
        ExitCode code = ExitCode::done;
        CLI::App app{
            "Examples:\n"
            "  nebis migrate status --config nebis.yaml   what the record tables lack\n"
            "  nebis migrate up --config nebis.yaml       bring it\n"
            "  nebis reseal --config nebis.yaml           bring stored snapshots under a new key\n"
            "  nebis drain --config nebis.yaml            no attempt is left half-way, before going back\n"
            "  nebis selftest --config nebis.yaml         whether store and lock service keep their promises\n"
            "  nebis v1 scan --config nebis.yaml          what version 1 left in Redis\n\n"
            "Idempotency for a fleet of services: tools for operators."};
        app.name("nebis");
        app.set_version_flag("--version", std::string(nebis::version()));
        app.require_subcommand(1);
        nebis::app::add_drain(app, code);
        nebis::app::add_migrate(app, code);
        nebis::app::add_reseal(app, code);
        nebis::app::add_selftest(app, code);
        nebis::app::add_v1(app, code);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
        }
        return static_cast<int>(code);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nebis: %s\n", error.what());
        return static_cast<int>(ExitCode::failed);
    }
}
