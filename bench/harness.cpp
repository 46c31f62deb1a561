// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace nebis::bench {

double median(std::vector<double> values) {
    if (values.empty()) give_up("the median of nothing");
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Figure::median() const { return bench::median(rounds); }

double Figure::least() const {
    if (rounds.empty()) give_up("the least of nothing");
    return *std::min_element(rounds.begin(), rounds.end());
}

std::vector<double> ratios(const Figure& ours, const Figure& floor) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.rounds.size(); ++i) ratios.push_back(ours.rounds[i] / floor.rounds.at(i));
    return ratios;
}

double ratio(const Figure& ours, const Figure& floor) { return median(ratios(ours, floor)); }

double quantile(std::vector<double>& samples, double share) {
    if (samples.empty()) give_up("a quantile of nothing");
    const auto at = std::min(samples.size() - 1, static_cast<std::size_t>(share * static_cast<double>(samples.size())));
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at), samples.end());
    return samples[at];
}

Folder::Folder(const std::filesystem::path& below) {
    std::string name = (below / "nebis-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) give_up("no folder can be made in " + below.string());
    path_ = name;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<Figure> Context::interleave(std::span<const Contestant> contestants, std::size_t at_least_rounds) {
    const std::size_t rounds = quick() ? settings_.rounds : std::max(settings_.rounds, at_least_rounds);
    std::vector<Figure> figures;
    for (const auto& one : contestants) figures.push_back({one.name, one.unit, {}});
    for (std::size_t round = 0; round <= rounds; ++round) {
        std::string line = round == 0 ? "warm-up:" : "round " + std::to_string(round) + ":";
        for (std::size_t i = 0; i < contestants.size(); ++i) {
            // Each comes after each other one equally often: what one leaves to the disk costs the next.
            const std::size_t turn = (round + i) % contestants.size();
            const double value = contestants[turn].measure();
            if (round > 0) figures[turn].rounds.push_back(value);
            char text[64];
            std::snprintf(text, sizeof text, " %.4g %s", value, contestants[turn].unit.c_str());
            line += "  " + contestants[turn].name + text;
        }
        say(line);
    }
    figures_.insert(figures_.end(), figures.begin(), figures.end());
    return figures;
}

void Context::figure(Figure figure) { figures_.push_back(std::move(figure)); }

void Context::judge(Bound bound) { bounds_.push_back(std::move(bound)); }

void Context::say(const std::string& text) const {
    std::fprintf(stderr, "    %s\n", text.c_str());
    std::fflush(stderr);
}

void give_up(const std::string& why) { throw std::runtime_error(why); }

}  // namespace nebis::bench
