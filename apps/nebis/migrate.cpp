// SPDX-License-Identifier: Apache-2.0
#include "migrate.hpp"

#include "nebis/engine.hpp"
#include "nebis/migrate.hpp"
#include "nebis/starter.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// stdout is data, stderr is talk.
namespace nebis::app {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  nebis migrate status --config nebis.yaml          what the record tables lack; exit 3 when `up` has work\n"
    "  nebis migrate plan --config nebis.yaml            the SQL that `up` would run; changes nothing\n"
    "  nebis migrate up --config nebis.yaml              make or mend the tables; loses nothing\n"
    "  nebis migrate up --set datasources.primary.password-file=/run/owner.secret --config nebis.yaml\n"
    "                                                    the same as another role, who owns the tables\n"
    "  nebis migrate down --config nebis.yaml --lose 12  drop the table with its 12 records\n\n"
    "Versions of the record tables that a configuration names.\n\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 3 `status`: needs `up`, 4 refused, 5 configuration or rights,\n"
    "6 the store can't be reached or is busy.";

struct Flags {
    std::string config = "nebis.yaml";
    std::string data_source = "primary";
    std::string table;
    std::vector<std::string> sets;
    bool json = false;
    bool down = false;
    std::int64_t lose = 0;
    std::int64_t timeout_seconds = 3600;
    std::int64_t lock_wait_seconds = 30;
    std::string time_zone;
};

Deadline deadline_of(const Flags& flags) {
    return std::chrono::steady_clock::now() + std::chrono::seconds(flags.timeout_seconds);
}

MigrateOptions options_of(const Flags& flags) {
    MigrateOptions options;
    options.lock_wait = std::chrono::seconds(flags.lock_wait_seconds);
    options.time_zone = flags.time_zone;
    options.done = [](const SchemaStep& step) { std::fprintf(stderr, "done: %s\n", step.about.c_str()); };
    return options;
}

/// The more serious of two: a refusal matters more than a thing to do, which matters more than nothing.
ExitCode worse(ExitCode one, ExitCode other) { return std::max(one, other); }

/// Calls `what` for each table; one that fails doesn't keep the others from their turn.
template <class What>
ExitCode for_each_table(const Flags& flags, What what) {
    OpenOptions options;
    options.sets = flags.sets;
    const auto tables = record_tables(flags.config, standard_drivers(), options, flags.data_source, flags.table);
    if (!tables) return report(tables.error());
    ExitCode code = ExitCode::done;
    for (const RecordTable& table : *tables) {
        if (!table.migrations) {
            std::fprintf(stderr,
                         "%s: nothing to migrate: the store '%s' has no tables, or makes them itself "
                         "(`create-schema`)\n",
                         table.data_source.c_str(), table.driver.c_str());
            continue;
        }
        code = worse(code, what(table));
    }
    return code;
}

boost::json::object json_of(const RecordTable& table, const SchemaStatus& status) {
    boost::json::object one{{"data_source", table.data_source}, {"driver", table.driver},    {"table", table.table},
                            {"state", to_string(status.state)}, {"version", status.version}, {"newest", newest_schema}};
    boost::json::array obstacles;
    for (const auto& [what, hint] : status.obstacles)
        obstacles.push_back(boost::json::object{{"what", what}, {"hint", hint}});
    one["missing"] = boost::json::array(status.missing.begin(), status.missing.end());
    one["obstacles"] = std::move(obstacles);
    one["notes"] = boost::json::array(status.notes.begin(), status.notes.end());
    return one;
}

void print(const RecordTable& table, const SchemaStatus& status) {
    std::printf("%s %s %s: %s, version %d of %d\n", table.data_source.c_str(), table.driver.c_str(),
                table.table.c_str(), std::string(to_string(status.state)).c_str(), status.version, newest_schema);
    for (const auto& one : status.missing) std::printf("  needs up: %s\n", one.c_str());
    for (const auto& [what, hint] : status.obstacles)
        std::printf("  up refuses: %s%s\n", what.c_str(), hint.empty() ? "" : (" (" + hint + ")").c_str());
    for (const auto& one : status.notes) std::printf("  note: %s\n", one.c_str());
}

ExitCode code_of(const SchemaStatus& status, std::string_view table) {
    if (status.state == SchemaState::current) return ExitCode::done;
    return may_go_up(status, table) ? ExitCode::needs_up : ExitCode::refused;
}

ExitCode status(const Flags& flags) {
    boost::json::array all;
    const ExitCode code = for_each_table(flags, [&](const RecordTable& table) {
        const auto found = table.migrations->status(options_of(flags), deadline_of(flags));
        if (!found) return report(found.error());
        if (flags.json)
            all.push_back(json_of(table, *found));
        else
            print(table, *found);
        return code_of(*found, table.table);
    });
    if (flags.json) std::printf("%s\n", boost::json::serialize(boost::json::object{{"tables", all}}).c_str());
    return code;
}

ExitCode plan(const Flags& flags) {
    return for_each_table(flags, [&](const RecordTable& table) {
        const auto steps =
            table.migrations->plan(flags.down ? 0 : newest_schema, options_of(flags), deadline_of(flags));
        if (!steps) return report(steps.error());
        if (steps->empty()) std::fprintf(stderr, "%s: nothing to do\n", table.table.c_str());
        for (const auto& [about, sql] : *steps) std::printf("-- %s\n%s\n\n", about.c_str(), sql.c_str());
        return ExitCode::done;
    });
}

ExitCode up(const Flags& flags) {
    return for_each_table(flags, [&](const RecordTable& table) {
        const auto steps = table.migrations->up(options_of(flags), deadline_of(flags));
        if (!steps) return report(steps.error());
        std::fprintf(stderr, "%s: %s\n", table.table.c_str(),
                     steps->empty() ? "already current" : ("now of version " + std::to_string(newest_schema)).c_str());
        const auto after = table.migrations->status(options_of(flags), deadline_of(flags));
        if (after)
            for (const auto& note : after->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
        return ExitCode::done;
    });
}

ExitCode down(const Flags& flags) {
    return for_each_table(flags, [&](const RecordTable& table) {
        const auto lost = table.migrations->down(flags.lose, options_of(flags), deadline_of(flags));
        if (!lost) return report(lost.error());
        std::fprintf(stderr, "%s: gone, with %lld records\n", table.table.c_str(), static_cast<long long>(*lost));
        return ExitCode::done;
    });
}

/// What all four take.
void add_common(CLI::App& command, Flags& flags) {
    command.add_option("--config", flags.config, "the configuration file, read as services read it")
        ->capture_default_str();
    command.add_option("--set", flags.sets, "a.b=c: a setting above the file and the environment");
    command.add_option("--data-source", flags.data_source, "which of its data sources")->capture_default_str();
    command.add_option("--table", flags.table, "this record table alone (default: all that the file names)");
    command.add_option("--timeout-seconds", flags.timeout_seconds, "give up after so long; what is done stays")
        ->check(CLI::Range(1, 604'800))
        ->capture_default_str();
    command
        .add_option("--lock-wait-seconds", flags.lock_wait_seconds,
                    "the longest wait for another migration of the same database")
        ->check(CLI::Range(0, 3600))
        ->capture_default_str();
}

void add_time_zone(CLI::App& command, Flags& flags) {
    command.add_option("--time-zone", flags.time_zone,
                       "what times without a zone mean in a table made by hand (default: as the server says)");
}

}  // namespace

void add_migrate(CLI::App& app, ExitCode& code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* const migrate = app.add_subcommand("migrate", examples);
    migrate->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, ExitCode (*run)(const Flags&)) {
        CLI::App* const command = migrate->add_subcommand(name, about);
        add_common(*command, *flags);
        command->callback([flags, run, &code] { code = run(*flags); });
        return command;
    };
    CLI::App* const asked = add("status", "What there is and what is missing.", &status);
    asked->add_flag("--json", flags->json, "for programs");
    add_time_zone(*asked, *flags);
    CLI::App* const planned = add("plan", "Print the SQL that `up` would run; nothing is changed.", &plan);
    planned->add_flag("--down", flags->down, "what `down` would run");
    add_time_zone(*planned, *flags);
    add_time_zone(*add("up", "Make or mend the tables. Loses nothing; refuses with the reason what it can't do.", &up),
                  *flags);
    add("down", "Undo the newest version.", &down)
        ->add_option("--lose", flags->lose, "accept the loss of so many records")
        ->check(CLI::NonNegativeNumber);
}

}  // namespace nebis::app
