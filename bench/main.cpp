// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"
#include "machine.hpp"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace nebis::bench;
namespace json = boost::json;

namespace {

void print(const Machine& m) {
    std::printf("machine  %s, %u cores, %.0f GiB, %s, load %.2f\n", m.cpu.c_str(), m.cores, m.memory_gib,
                m.kernel.c_str(), m.load);
    std::printf("build    %s, %s, SQLite %s\n", m.compiler.c_str(), m.build.c_str(), m.sqlite.c_str());
    std::printf("commit   %s, %s\n", m.commit.c_str(), m.time.c_str());
}

void print(const Case& what, const Context& found) {
    std::printf("\n%s: %.*s\n", std::string(what.name).c_str(), int(what.about.size()), what.about.data());
    for (const auto& figure : found.figures()) {
        const auto [low, high] = std::minmax_element(figure.rounds.begin(), figure.rounds.end());
        std::printf("  %-44s %12.5g %-8s (%.5g to %.5g)\n", figure.name.c_str(), figure.median(), figure.unit.c_str(),
                    *low, *high);
    }
    std::fflush(stdout);
}

void print(const Bound& bound) {
    std::printf("bound %s %.4g %.4g %s\n", bound.name.c_str(), bound.value, bound.limit, bound.ok() ? "ok" : "miss");
}

json::object as_json(const Machine& m) {
    return {{"cpu", m.cpu},           {"cores", m.cores}, {"memory_gib", m.memory_gib}, {"kernel", m.kernel},
            {"compiler", m.compiler}, {"build", m.build}, {"sqlite", m.sqlite},         {"load", m.load}};
}

json::object as_json(const Case& what, const Context& found) {
    json::array figures;
    for (const auto& figure : found.figures())
        figures.push_back(json::object{{"name", figure.name},
                                       {"unit", figure.unit},
                                       {"median", figure.median()},
                                       {"rounds", json::array(figure.rounds.begin(), figure.rounds.end())}});
    json::array bounds;
    for (const auto& bound : found.bounds())
        bounds.push_back(json::object{{"name", bound.name},
                                      {"value", bound.value},
                                      {"limit", bound.limit},
                                      {"sense", bound.sense == Bound::Sense::at_least ? "at least" : "at most"},
                                      {"ok", bound.ok()}});
    return {{"name", what.name}, {"about", what.about}, {"figures", std::move(figures)}, {"bounds", std::move(bounds)}};
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    settings.folder = std::filesystem::temp_directory_path();
    std::string json_file;
    std::vector<std::string> only;
    bool list = false;

    CLI::App app(
        "Measures Nebis against its floors; one `bound` line each. Exit: 0 all bounds hold, 1 a bound is missed, "
        "2 a measurement failed");
    app.add_option("--json", json_file, "write all figures to this file");
    app.add_option("--only", only, "these cases alone")->delimiter(',');
    app.add_option("--rounds", settings.rounds, "rounds that count")->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--folder", settings.folder, "databases are made below it")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    app.add_flag("--quick", settings.quick, "a tenth of the work: to see that it runs");
    app.add_flag("--list", list, "print the cases");
    CLI11_PARSE(app, argc, argv);

    if (list) {
        for (const auto& one : cases())
            std::printf("%-16s %s\n", std::string(one.name).c_str(), std::string(one.about).c_str());
        return 0;
    }
    for (const auto& name : only)
        if (std::none_of(cases().begin(), cases().end(), [&](const Case& one) { return one.name == name; })) {
            std::fprintf(stderr, "no case is called '%s'; --list names them\n", name.c_str());
            return 2;
        }

    const Machine where = machine();
    print(where);
    json::array measured;
    std::vector<Bound> bounds;
    bool failed = false;
    for (const auto& one : cases()) {
        if (!only.empty() && std::find(only.begin(), only.end(), one.name) == only.end()) continue;
        std::fprintf(stderr, "%s ...\n", std::string(one.name).c_str());
        Context context(settings);
        try {
            one.run(context);
        } catch (const std::exception& problem) {
            std::fprintf(stderr, "%s failed: %s\n", std::string(one.name).c_str(), problem.what());
            failed = true;
        }
        print(one, context);
        bounds.insert(bounds.end(), context.bounds().begin(), context.bounds().end());
        measured.push_back(as_json(one, context));
    }

    std::printf("\n");
    for (const auto& bound : bounds) print(bound);
    if (!json_file.empty()) {
        std::ofstream out(json_file);
        out << json::serialize(json::object{{"commit", where.commit},
                                            {"time", where.time},
                                            {"quick", settings.quick},
                                            {"machine", as_json(where)},
                                            {"cases", std::move(measured)}})
            << '\n';
        if (!out.flush()) {
            std::fprintf(stderr, "%s can't be written\n", json_file.c_str());
            failed = true;
        }
    }
    if (failed) return 2;
    return std::all_of(bounds.begin(), bounds.end(), [](const Bound& bound) { return bound.ok(); }) ? 0 : 1;
}
