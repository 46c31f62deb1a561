// SPDX-License-Identifier: Apache-2.0
#include "audit.hpp"
#include "customers.hpp"
#include "troubles.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <iostream>
#include <random>
#include <sstream>

namespace shop {
namespace {

using namespace std::chrono_literals;

struct Options {
    std::string store = "postgres";
    std::uint64_t seed = 0;
    int orders = 2000;
    int seconds = 60;
    int rounds = 2;
    std::vector<std::string> sets;
};

std::string figures(const Customers& customers, const Troubles& troubles, int orders) {
    std::ostringstream line;
    line << "orders " << customers.placed() << "/" << orders << "  calls " << customers.calls() << "  replays "
         << customers.replays() << "  asked again " << customers.refusals();
    const char* separator = "  (";
    for (const auto& [what, times] : troubles.tally()) {
        line << separator << what << ' ' << times;
        separator = ", ";
    }
    if (!troubles.tally().empty()) line << ")";
    return line.str();
}

/// On a terminal one line that changes, else a line every five seconds.
class Progress {
public:
    void show(const std::string& line) {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal_ && now < next_) return;
        next_ = now + 5s;
        std::cout << (terminal_ ? "\r\033[K" : "") << line << (terminal_ ? "" : "\n") << std::flush;
    }
    void end(const std::string& line) const { std::cout << (terminal_ ? "\r\033[K" : "") << line << std::endl; }

private:
    const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
    std::chrono::steady_clock::time_point next_{};
};

struct Verdict {
    int doubled = 0;  ///< more than one row, or answers that differ
    int lost = 0;     ///< an answered order without a row, or a customer without an answer
};

Verdict judge(const std::vector<Customers::Outcome>& outcomes, const std::map<std::string, int>& rows) {
    Verdict verdict;
    for (std::size_t order = 0; order < outcomes.size(); ++order) {
        const std::string note = Customers::note(static_cast<int>(order));
        const auto& [answers, unanswered, waiting] = outcomes[order];
        const auto found = rows.find(note);
        const int count = found == rows.end() ? 0 : found->second;
        const bool doubled = count > 1 || answers.size() > 1;
        const bool lost = count < 1 || answers.empty() || unanswered > 0 || waiting > 0;
        verdict.doubled += doubled ? 1 : 0;
        verdict.lost += lost ? 1 : 0;
        if (!doubled && !lost) continue;
        std::cout << note << ": " << count << " rows, " << unanswered + waiting << " customers without an answer";
        for (const auto& answer : answers) std::cout << "\n  " << answer.substr(0, 200);
        std::cout << "\n";
    }
    return verdict;
}

int run(const Options& options) {
    std::cout << "Starting " << (options.store == "mysql" ? "MariaDB" : "PostgreSQL")
              << ", Redis with a replica and three Sentinels, and three order services; seed " << options.seed
              << std::endl;
    Fleet fleet(options.store, options.sets);
    Troubles troubles(fleet, options.seed);
    Customers customers(
        fleet, {.seed = options.seed, .orders = options.orders, .spread = std::chrono::seconds(options.seconds)});
    Progress progress;
    try {
        while (!customers.done()) {
            progress.show(figures(customers, troubles, options.orders));
            if (troubles.rounds() >= options.rounds) customers.release_all();
            if (customers.placed() < options.orders * 9 / 10 || troubles.rounds() < options.rounds)
                troubles.next();
            else
                std::this_thread::sleep_for(50ms);
        }
    } catch (...) {
        fleet.folder().keep();
        std::cout << "\nlogs in " << fleet.folder().path().string() << std::endl;
        throw;
    }
    progress.end(figures(customers, troubles, options.orders));
    fleet.stop_instances();
    const Verdict verdict = judge(customers.outcomes(), count_orders(options.store, fleet.database_address()));
    const bool clean = verdict.doubled == 0 && verdict.lost == 0;
    if (!clean) {
        fleet.folder().keep();
        std::cout << "seed " << options.seed << "; logs in " << fleet.folder().path().string() << std::endl;
    }
    std::cout << "orders=" << options.orders << " doubled=" << verdict.doubled << " lost=" << verdict.lost << std::endl;
    return clean ? 0 : 1;
}

}  // namespace
}  // namespace shop

int main(int argc, char** argv) {
    shop::Options options;
    CLI::App app(
        "Examples:\n"
        "  nebis-order-cluster                       PostgreSQL, 2000 orders\n"
        "  nebis-order-cluster --store mysql --orders 300 --seconds 20 --rounds 1 --seed 7\n"
        "  nebis-order-cluster --set enforcement=off  without Nebis, to see that the audit finds what it prevents\n"
        "\n"
        "Three order services behind one Redis with Sentinels and one database, all real. Each order is sent one to "
        "six\n"
        "times at once, to instances by chance, while Redis is killed, failed over and flushed, the database is "
        "killed,\n"
        "and instances are killed and stopped for longer than their lease. Exit 0 only if every order was placed once\n"
        "and every customer got its one answer.\n",
        "nebis-order-cluster");
    app.add_option("--store", options.store, "the database behind")
        ->check(CLI::IsMember({"postgres", "mysql"}))
        ->capture_default_str();
    app.add_option("--orders", options.orders)->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--seconds", options.seconds, "the time over which they come")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "how often each trouble comes at least")
        ->check(CLI::Range(0, 1'000))
        ->capture_default_str();
    app.add_option("--set", options.sets, "a setting of Nebis for all instances, as key=value");
    app.add_option("--seed", options.seed, "0: a random one")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    if (options.seed == 0) options.seed = std::random_device{}();
    try {
        return shop::run(options);
    } catch (const std::exception& error) {
        std::cerr << "nebis-order-cluster: seed " << options.seed << ": " << error.what() << '\n';
        return 1;
    }
}
