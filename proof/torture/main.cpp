// SPDX-License-Identifier: Apache-2.0
#include "chaos.hpp"
#include "checker.hpp"
#include "evidence.hpp"
#include "load.hpp"
#include "pulse.hpp"
#include "straw_man.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>

namespace nebis::torture {
namespace {

using namespace std::chrono_literals;

struct Options {
    int cycles = 0;
    std::string store = "sqlite";
    std::string gate = "local";
    std::uint64_t seed = 0;
    std::string claim = "both";
    std::string mode = "both";
    unsigned clients = 6;
    int lease_millis = 1'500;
    int patience_seconds = 30;
    bool keep = false;
};

constexpr int cycles_per_round = 10;
constexpr std::chrono::seconds forget_after{45};

class Torture {
public:
    explicit Torture(const Options& options)
        : options_(options),
          load_(target_, {.seed = options.seed,
                          .clients = options.clients,
                          .orders = options.mode != "payments",
                          .payments = options.mode != "orders"}),
          chaos_({.seed = options.seed,
                  .lease = std::chrono::milliseconds(options.lease_millis),
                  .start_timeout = std::chrono::seconds(options.patience_seconds)},
                 engines_, folder_, target_) {}

    int run() {
        std::cout << "seed " << options_.seed << ", " << options_.cycles << " cycles on " << options_.store
                  << " behind " << options_.gate << ", files in " << folder_.path().string() << std::endl;
        if (options_.keep) folder_.keep();
        int done = 0;
        bool clean = true;
        try {
            while (done < options_.cycles && clean) {
                const int goal = std::min(options_.cycles, done + cycles_per_round);
                clean = round(done, goal);
                done = goal;
            }
        } catch (const std::exception& error) {
            clean = false;
            folder_.keep();
            std::cout << "\n"
                      << error.what() << "; seed " << options_.seed << "; logs in " << folder_.path().string()
                      << std::endl;
        }
        print(done);
        return clean ? 0 : 1;
    }

private:
    std::string claim_of_round() {
        if (options_.claim != "both") return options_.claim;
        return (++rounds_ % 2) == 1 ? "before" : "inside";
    }

    /// Some cycles under load, then peace, then judgement. The judgement sees whole histories: nothing is under way.
    bool round(int from, int to) {
        chaos_.restart_all(claim_of_round());
        if (!evidence_) evidence_.emplace(engines_.witness(), chaos_.ledger());
        load_.start();
        for (int cycle = from; cycle < to; ++cycle) {
            chaos_.cycle();
            chaos_.strike_engines(cycle);
            progress(cycle + 1);
        }
        const auto patience = std::chrono::seconds(options_.patience_seconds);
        load_.finish(patience);
        const auto until = std::chrono::steady_clock::now() + patience;
        while (evidence_->in_progress() > 0 && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(50ms);
        return judge();
    }

    bool judge() {
        proof::History history = load_.take(forget_after);
        evidence_->complete(history, forget_after);
        proof::Circumstances circumstances{chaos_.faults(), true, true};
        const auto stalls = pulse_.faults();
        circumstances.faults.insert(circumstances.faults.end(), stalls.begin(), stalls.end());
        proof::Verdict verdict;
        for (const auto& [key, of_key] : history) verdict.add(of_key, circumstances);
        doubled_ += verdict.doubled;
        lost_ += verdict.lost;
        stuck_ += verdict.stuck;
        if (verdict.clean()) return true;
        complain(history, verdict);
        return false;
    }

    void complain(const proof::History& history, const proof::Verdict& verdict) {
        folder_.keep();
        const std::string file = folder_ / "history.jsonl";
        std::ofstream out(file);
        std::string last;
        for (const auto& violation : verdict.violations)
            if (violation.key != last) out << to_json(history.at(last = violation.key)) << '\n';
        for (const auto& [key, of_key] : history) out << to_json(of_key) << '\n';
        std::cout << '\n';
        for (std::size_t i = 0; i < verdict.violations.size() && i < 20; ++i) {
            const auto& violation = verdict.violations[i];
            std::string what = violation.what.substr(0, 300);
            std::replace(what.begin(), what.end(), '\n', ' ');
            std::cout << "I" << violation.invariant << " broken, key " << violation.key << ": " << what << '\n';
        }
        std::cout << verdict.violations.size() << " violations; seed " << options_.seed << "; histories in " << file
                  << ", logs and database beside it" << std::endl;
    }

    void progress(int cycle) {
        const bool terminal = ::isatty(STDOUT_FILENO) == 1;
        if (!terminal && cycle % cycles_per_round != 0) return;
        std::ostringstream line;
        line << "cycle " << cycle << "/" << options_.cycles << "  calls " << load_.calls() << "  answered "
             << load_.answered() << "  (";
        const char* separator = "";
        for (const auto& [what, times] : chaos_.tally()) {
            line << separator << what << ' ' << times;
            separator = ", ";
        }
        line << ")";
        std::cout << (terminal ? "\r\033[K" : "") << line.str() << (terminal ? "" : "\n") << std::flush;
    }

    void print(int done) {
        if (::isatty(STDOUT_FILENO) == 1) std::cout << '\n';
        std::cout << "cycles=" << done << " answered=" << load_.answered() << " doubled=" << doubled_
                  << " lost=" << lost_ << " stuck=" << stuck_ << std::endl;
    }

    Options options_;
    shop::TemporaryFolder folder_{"nebis-torture"};
    Pulse pulse_{folder_ / "pulse", std::chrono::milliseconds(options_.lease_millis / 3),
                 std::chrono::milliseconds(options_.lease_millis) + 2s};
    Engines engines_{options_.store, options_.gate, folder_.path()};
    HttpTarget target_;
    Load load_;
    Chaos chaos_;
    std::optional<Evidence> evidence_;
    int rounds_ = 0;
    std::size_t doubled_ = 0, lost_ = 0, stuck_ = 0;
};

}  // namespace
}  // namespace nebis::torture

int main(int argc, char** argv) {
    nebis::torture::Options options;
    bool short_run = false, straw_man = false;
    CLI::App app(
        "Examples:\n"
        "  nebis-torture                       500 cycles, another seed each time\n"
        "  nebis-torture --cycles 30 --seed 7\n"
        "  nebis-torture --claim inside --mode orders\n"
        "  nebis-torture --store postgres --gate redis-sentinel\n"
        "  nebis-torture --straw-man           the article's algorithm instead: exit 0 when it is convicted\n"
        "\n"
        "Two order services on one database under load, killed and stopped at random and at named points, with "
        "whatever\n"
        "servers stand behind and before them, each of whose troubles comes once in ten cycles; then an\n"
        "audit of every answer, effect and row. Exit 0 only if nothing was doubled, lost, stuck or otherwise wrong.\n",
        "nebis-torture");
    app.add_option("--cycles", options.cycles, "faults of the instances (default: 500, on servers 200)")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--store", options.store, "the database: a file, or a server that is killed, too")
        ->check(CLI::IsMember({"sqlite", "postgres", "mysql"}))
        ->capture_default_str();
    app.add_option("--gate", options.gate,
                   "what stands in front: each in its own memory, or a Redis that is killed, too")
        ->check(CLI::IsMember({"local", "redis", "redis-sentinel", "redis-cluster"}))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "0: a random one")->capture_default_str();
    app.add_option("--claim", options.claim, "before, inside, or both in turn")
        ->check(CLI::IsMember({"before", "inside", "both"}))
        ->capture_default_str();
    app.add_option("--mode", options.mode, "orders (atomic), payments (execute), or both")
        ->check(CLI::IsMember({"orders", "payments", "both"}))
        ->capture_default_str();
    app.add_option("--clients", options.clients, "threads that ask")->check(CLI::Range(1, 64))->capture_default_str();
    app.add_option("--lease-millis", options.lease_millis)->check(CLI::Range(200, 60'000))->capture_default_str();
    app.add_option("--patience-seconds", options.patience_seconds, "how long a start, or a last answer, may take")
        ->capture_default_str();
    app.add_flag("--short", short_run, "30 cycles");
    app.add_flag("--straw-man", straw_man, "torture the article's algorithm, to prove that this torture bites");
    app.add_flag("--keep", options.keep, "keep the files of a good run too");
    CLI11_PARSE(app, argc, argv);
    if (short_run) options.cycles = 30;
    if (options.cycles == 0) options.cycles = options.store == "sqlite" ? 500 : 200;
    if (options.seed == 0) options.seed = std::random_device{}();
    try {
        if (straw_man) return nebis::torture::convict_straw_man(options.seed) ? 0 : 1;
        return nebis::torture::Torture(options).run();
    } catch (const std::exception& error) {
        std::cerr << "nebis-torture: seed " << options.seed << ": " << error.what() << '\n';
        return 1;
    }
}
