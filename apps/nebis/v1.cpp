// SPDX-License-Identifier: Apache-2.0
#include "v1.hpp"

#include "nebis/redis_v1.hpp"
#include "nebis/starter.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// What version 1 of the article's component left in Redis. stdout is data, stderr is talk.
namespace nebis::app {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  nebis v1 scan --config nebis.yaml               count the locks that version 1 left in Redis\n"
    "  nebis v1 scan --config nebis.yaml --list        each of them, by a digest of its name\n"
    "  nebis v1 clean --config nebis.yaml              dry run: how many it would delete; exit 4 if any\n"
    "  nebis v1 clean --config nebis.yaml --delete 12  delete them, 12 at most\n"
    "  nebis v1 clean --config nebis.yaml --no-v1-runs --delete 15\n"
    "                                                  those that would end by themselves, too\n\n"
    "Leftover locks `idempotent:<trace id>` of version 1. Nebis' own names and values that aren't strings are never\n"
    "touched. The Redis is the one of the configuration's `lock`.\n\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 refused: not so many accepted, 5 configuration or rights,\n"
    "6 Redis can't be reached or is busy.";

struct Flags {
    std::string config = "nebis.yaml";
    std::vector<std::string> sets;
    std::int64_t timeout_seconds = 600;
    bool json = false;
    bool list = false;
    bool no_v1_runs = false;
    std::uint64_t accepted = 0;
};

Deadline deadline_of(const Flags& flags) {
    return std::chrono::steady_clock::now() + std::chrono::seconds(flags.timeout_seconds);
}

Result<redis::Options> redis_of(const Flags& flags) {
    OpenOptions options;
    options.sets = flags.sets;
    const auto lock = lock_service(flags.config, options);
    if (!lock) return lock.error();
    if (lock->driver != "redis")
        return Error(ErrorKind::misconfigured, "the configuration's lock.driver is '" + lock->driver + "', not redis",
                     {}, "name version 1's Redis: --set lock.driver=redis --set lock.address=host:port");
    return redis::options_of(lock->settings);
}

std::string_view word(redis::V1Key::Kind kind) {
    switch (kind) {
        case redis::V1Key::Kind::left_behind: return "left behind";
        case redis::V1Key::Kind::limited: return "ends by itself";
        case redis::V1Key::Kind::foreign: return "not a string";
    }
    return "?";
}

void print(const redis::V1Key& key) {
    std::printf("%s: %s", key.shown.c_str(), std::string(word(key.kind)).c_str());
    if (key.kind == redis::V1Key::Kind::limited) std::printf(" in %lld ms", static_cast<long long>(key.rest_millis));
    std::printf("\n");
}

ExitCode scan(const Flags& flags) {
    const auto redis = redis_of(flags);
    if (!redis) return report(redis.error());
    boost::json::array keys;
    const auto each = [&](const redis::V1Key& key) {
        if (!flags.list) return;
        if (!flags.json) return print(key);
        keys.push_back(
            boost::json::object{{"key", key.shown}, {"kind", word(key.kind)}, {"rest_millis", key.rest_millis}});
    };
    const auto count = redis::v1_scan(*redis, {}, each, deadline_of(flags));
    if (!count) return report(count.error());
    if (flags.json) {
        boost::json::object all{{"left_behind", count->left_behind},
                                {"end_by_themselves", count->limited},
                                {"not_strings", count->foreign}};
        if (flags.list) all["keys"] = std::move(keys);
        std::printf("%s\n", boost::json::serialize(all).c_str());
    } else {
        std::printf("left behind: %zu\nend by themselves: %zu\nnot strings: %zu\n", count->left_behind, count->limited,
                    count->foreign);
    }
    if (count->limited > 0)
        std::fprintf(stderr, "what ends by itself may be the lock of a request that version 1 is working on\n");
    if (count->foreign > 0) std::fprintf(stderr, "what isn't a string is somebody else's; clean leaves it\n");
    return ExitCode::done;
}

ExitCode clean(const Flags& flags) {
    const auto redis = redis_of(flags);
    if (!redis) return report(redis.error());
    const Deadline deadline = deadline_of(flags);
    const auto found = redis::v1_scan(*redis, {}, {}, deadline);
    if (!found) return report(found.error());
    const std::size_t would = found->left_behind + (flags.no_v1_runs ? found->limited : 0);
    if (would == 0) {
        std::fprintf(stderr, "nothing to delete\n");
        if (found->limited > 0)
            std::fprintf(stderr, "%zu locks end by themselves; with --no-v1-runs they would go now\n", found->limited);
        std::printf("deleted: 0\n");
        return ExitCode::done;
    }
    if (would > flags.accepted) {
        std::printf("would delete: %zu\n", would);
        std::fprintf(stderr,
                     "nebis: clean would delete %zu locks of version 1; accepted are %llu. If that is meant, "
                     "say `--delete %zu`\n",
                     would, static_cast<unsigned long long>(flags.accepted), would);
        return ExitCode::refused;
    }
    redis::V1Options how;
    how.limited_too = flags.no_v1_runs;
    how.most = flags.accepted;
    const auto cleaned = redis::v1_clean(*redis, how, deadline);
    if (!cleaned) return report(cleaned.error());
    std::printf("deleted: %zu\n", cleaned->deleted);
    return ExitCode::done;
}

}  // namespace

void add_v1(CLI::App& app, ExitCode& code) {
    const auto flags = std::make_shared<Flags>();
    CLI::App* const v1 = app.add_subcommand("v1", examples);
    v1->require_subcommand(1);
    const auto add = [&](const char* name, const char* about, ExitCode (*run)(const Flags&)) {
        CLI::App* const command = v1->add_subcommand(name, about);
        command->add_option("--config", flags->config, "the configuration file, read as services read it")
            ->capture_default_str();
        command->add_option("--set", flags->sets, "a.b=c: a setting above the file and the environment");
        command->add_option("--timeout-seconds", flags->timeout_seconds, "give up after so long; what is done stays")
            ->check(CLI::Range(1, 86'400))
            ->capture_default_str();
        command->callback([flags, run, &code] { code = run(*flags); });
        return command;
    };
    CLI::App* const scanned = add("scan", "Count what there is; changes nothing.", &scan);
    scanned->add_flag("--json", flags->json, "for programs");
    scanned->add_flag("--list", flags->list, "each key, by a digest of its name");
    CLI::App* const cleaned = add("clean", "Delete what was left behind, when so many are accepted.", &clean);
    cleaned->add_option("--delete", flags->accepted, "accept that so many are deleted");
    cleaned->add_flag("--no-v1-runs", flags->no_v1_runs,
                      "no instance of version 1 runs any more: locks that would end by themselves may go, too");
}

}  // namespace nebis::app
