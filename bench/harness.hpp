// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How figures are taken. Contestants of a case (ours, the floor) run in turns in one process, one round after the
/// other, in alternating order, because a shared machine is never as fast as a minute ago: what is compared is the
/// ratio within each round, and its median.
namespace nebis::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Settings {
    std::size_t rounds = 5;
    bool quick = false;            ///< smaller counts: to see that everything works, not to publish
    std::filesystem::path folder;  ///< databases are made below it; must be on the disk that is to be measured
};

/// One who takes part in a case. `measure` runs one round and gives its figure.
struct Contestant {
    std::string name;
    std::string unit;
    std::function<double()> measure;
};

struct Figure {
    std::string name;
    std::string unit;
    std::vector<double> rounds;
    double median() const;
    double least() const;
};

struct Bound {
    enum class Sense { at_least, at_most };
    std::string name;
    double value = 0;
    double limit = 0;
    Sense sense = Sense::at_least;
    bool ok() const { return sense == Sense::at_least ? value >= limit : value <= limit; }
};

double median(std::vector<double> values);

/// `ours / floor`, round by round, and the median of that.
std::vector<double> ratios(const Figure& ours, const Figure& floor);
double ratio(const Figure& ours, const Figure& floor);

/// The value below which that share of the samples lies. Reorders them.
double quantile(std::vector<double>& samples, double share);

/// A folder that goes away with its owner.
class Folder {
public:
    explicit Folder(const std::filesystem::path& below);
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// What a running case is given, and where it leaves what it found.
class Context {
public:
    explicit Context(const Settings& settings) : settings_(settings) {}

    /// `full`, or a tenth of it in a quick run.
    std::size_t count(std::size_t full) const { return settings_.quick ? full / 10 : full; }
    bool quick() const noexcept { return settings_.quick; }
    Folder folder() const { return Folder(settings_.folder); }

    /// One round of each to warm up, then the rounds that count. The figures come back in the order of the contestants.
    /// `at_least_rounds`: for a case whose figure needs more of them than were asked for; a quick run doesn't heed it.
    std::vector<Figure> interleave(std::initializer_list<Contestant> contestants, std::size_t at_least_rounds = 0) {
        return interleave(std::span(contestants.begin(), contestants.size()), at_least_rounds);
    }
    std::vector<Figure> interleave(std::span<const Contestant> contestants, std::size_t at_least_rounds = 0);
    /// A figure measured outside of `interleave`.
    void figure(Figure figure);

    void at_least(std::string name, double value, double limit) {
        judge({std::move(name), value, limit, Bound::Sense::at_least});
    }
    void at_most(std::string name, double value, double limit) {
        judge({std::move(name), value, limit, Bound::Sense::at_most});
    }

    /// A line of progress.
    void say(const std::string& text) const;

    const std::vector<Figure>& figures() const noexcept { return figures_; }
    const std::vector<Bound>& bounds() const noexcept { return bounds_; }

private:
    void judge(Bound bound);

    Settings settings_;
    std::vector<Figure> figures_;
    std::vector<Bound> bounds_;
};

struct Case {
    std::string_view name;
    std::string_view about;
    void (*run)(Context&);
};

/// All of them, in the order they run.
std::span<const Case> cases();

/// A measurement can't be taken: something that must work doesn't. The figures would be worth nothing.
[[noreturn]] void give_up(const std::string& why);

}  // namespace nebis::bench
