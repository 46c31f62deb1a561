// SPDX-License-Identifier: Apache-2.0
#include "configs.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

namespace {

using namespace nebis::explore;

void print_trace(const Outcome& outcome) {
    std::printf("  %s\n", outcome.violation.c_str());
    for (std::size_t i = 0; i < outcome.trace.size(); ++i) std::printf("  %3zu. %s\n", i + 1, outcome.trace[i].c_str());
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Every interleaving of the protocol's machines, with every fault in small numbers."};
    unsigned threads = 2;
    std::size_t limit = 20'000'000;
    std::string only;
    bool traces = false, share = false, deepest = false, broken = true;
    app.add_option("--threads", threads, "configurations explored at the same time")->check(CLI::Range(1, 64));
    app.add_option("--states", limit, "give up on a configuration after so many states");
    app.add_option("--only", only, "configurations whose name contains this");
    app.add_flag("--traces", traces, "print the traces of the expected convictions too");
    app.add_flag("--deepest", deepest, "print the trace to the state found last");
    app.add_flag("--share", share, "the smaller configurations only");
    app.add_flag("!--no-broken", broken, "leave the broken variants out");
    CLI11_PARSE(app, argc, argv);

    // One list of things to run, each with what is expected of it.
    struct Entry {
        std::string_view name;
        bool convict;
        std::string_view charge;
        std::function<Outcome()> run;
    };
    const Limits limits{.states = limit, .deepest = deepest};
    const std::vector<Task> sound = sound_tasks(share), flawed = broken_tasks();
    const std::vector<ArticleTask> articles = article_tasks();
    std::vector<Entry> entries;
    const auto enlist = [&](const Task& task) {
        entries.push_back({task.config.name, task.convict, task.charge,
                           [&] { return Search<World, Config, Move>(task.config, limits).run(); }});
    };
    if (broken) {
        for (const ArticleTask& task : articles)
            entries.push_back({task.config.name, task.convict, "I", [&] {
                                   return Search<ArticleWorld, ArticleConfig, ArticleMove>(task.config, limits).run();
                               }});
        for (const Task& task : flawed) enlist(task);
    }
    for (const Task& task : sound) enlist(task);

    std::atomic<std::size_t> next = 0;
    std::mutex printing;
    std::size_t states = 0, transitions = 0, safe = 0, convicted = 0, wrong = 0;
    const auto work = [&] {
        for (std::size_t at = next++; at < entries.size(); at = next++) {
            const Entry& entry = entries[at];
            if (!only.empty() && entry.name.find(only) == std::string_view::npos) continue;
            const Outcome outcome = entry.run();
            const bool guilty = !outcome.violation.empty();
            const bool as_charged = outcome.violation.starts_with(entry.charge);
            const std::lock_guard lock(printing);
            states += outcome.states;
            transitions += outcome.transitions;
            const char* result = "safe";
            if (guilty && entry.convict && as_charged) {
                ++convicted;
                result = "convicted";
            } else if (guilty || entry.convict || !outcome.complete) {
                ++wrong;
                result = guilty ? "VIOLATION" : entry.convict ? "NOT CONVICTED" : "INCOMPLETE";
            } else {
                ++safe;
            }
            std::printf("%-60s %9zu states %10zu transitions  depth %3zu %6.1f s  %s%s\n", entry.name.data(),
                        outcome.states, outcome.transitions, outcome.depth, outcome.seconds, result,
                        guilty && entry.convict ? (": " + outcome.violation).c_str() : "");
            if (deepest || (guilty && (!entry.convict || traces))) print_trace(outcome);
            std::fflush(stdout);
        }
    };
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
    workers.clear();
    std::printf("explored states=%zu transitions=%zu safe=%zu convicted=%zu wrong=%zu\n", states, transitions, safe,
                convicted, wrong);
    return wrong == 0 && safe + convicted > 0 ? 0 : 1;
}
