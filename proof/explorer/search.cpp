// SPDX-License-Identifier: Apache-2.0
#include "search.hpp"

namespace nebis::explore {

Visited::Visited() : slots_(1 << 12) {}

std::uint32_t Visited::insert(const Digest& digest, std::uint32_t parent, bool& fresh) {
    if (digests_.size() * 2 >= slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = digest.low & mask;; at = (at + 1) & mask) {
        if (slots_[at] == 0) {
            digests_.push_back(digest);
            parents_.push_back(parent);
            slots_[at] = static_cast<std::uint32_t>(digests_.size());
            fresh = true;
            return slots_[at] - 1;
        }
        if (digests_[slots_[at] - 1] == digest) {
            fresh = false;
            return slots_[at] - 1;
        }
    }
}

void Visited::grow() {
    std::vector<std::uint32_t> bigger(slots_.size() * 2);
    const std::size_t mask = bigger.size() - 1;
    for (std::uint32_t number = 0; number < digests_.size(); ++number) {
        std::size_t at = digests_[number].low & mask;
        while (bigger[at] != 0) at = (at + 1) & mask;
        bigger[at] = number + 1;
    }
    slots_.swap(bigger);
}

std::int64_t Liveness::stuck(std::size_t states) const {
    // Edges by their goal, then backwards from the ends.
    std::vector<std::uint32_t> first(states + 2), from(edges_.size());
    for (const Edge& edge : edges_) ++first[edge.to + 2];
    for (std::size_t i = 2; i < first.size(); ++i) first[i] += first[i - 1];
    for (const Edge& edge : edges_) from[first[edge.to + 1]++] = edge.from;
    std::vector<bool> alive(states);
    std::vector<std::uint32_t> open = ends_;
    for (std::uint32_t end : ends_) alive[end] = true;
    while (!open.empty()) {
        const std::uint32_t state = open.back();
        open.pop_back();
        for (std::uint32_t i = first[state]; i < first[state + 1]; ++i) {
            if (alive[from[i]]) continue;
            alive[from[i]] = true;
            open.push_back(from[i]);
        }
    }
    for (std::size_t state = 0; state < states; ++state)
        if (!alive[state]) return static_cast<std::int64_t>(state);
    return -1;
}

}  // namespace nebis::explore
