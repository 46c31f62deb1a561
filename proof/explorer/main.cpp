// SPDX-License-Identifier: Apache-2.0
#include "configs.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdio>
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

    std::vector<Task> tasks = sound_tasks(share);
    if (broken)
        for (const Task& task : broken_tasks()) tasks.push_back(task);
    std::atomic<std::size_t> next = 0;
    std::mutex printing;
    std::size_t states = 0, transitions = 0;
    bool good = true;
    const auto work = [&] {
        for (std::size_t at = next++; at < tasks.size(); at = next++) {
            const Task& task = tasks[at];
            if (!only.empty() && task.config.name.find(only) == std::string_view::npos) continue;
            const Outcome outcome =
                Search<World, Config, Move>(task.config, {.states = limit, .deepest = deepest}).run();
            const bool guilty = !outcome.violation.empty();
            const bool right = guilty == task.convict && (guilty || outcome.complete);
            const std::lock_guard lock(printing);
            states += outcome.states;
            transitions += outcome.transitions;
            good = good && right;
            std::printf("%-64s %9zu states %10zu transitions depth %3zu %6.1f s  %s\n", task.config.name.data(),
                        outcome.states, outcome.transitions, outcome.depth, outcome.seconds,
                        guilty ? (task.convict ? "convicted" : "VIOLATION")
                               : (task.convict ? "NOT CONVICTED" : (outcome.complete ? "safe" : "INCOMPLETE")));
            if (deepest || (guilty && (!task.convict || traces))) print_trace(outcome);
            std::fflush(stdout);
        }
    };
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
    workers.clear();
    std::printf("total: states=%zu transitions=%zu result=%s\n", states, transitions, good ? "ok" : "FAILED");
    return good ? 0 : 1;
}
