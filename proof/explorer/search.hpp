// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Breadth-first search through every state of a small world; the first violation found has the shortest trace.
namespace nebis::explore {

/// 128 bits of a state. Equal for states that differ only in which of several equal requests or instances is which.
struct Digest {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Digest&, const Digest&) = default;

    /// Fold a word in, order matters.
    void take(std::uint64_t word) {
        low = mix(low ^ word);
        high = mix(high + word * 0x9E3779B97F4A7C15ULL);
    }
    void take(const Digest& other) {
        take(other.low);
        take(other.high);
    }
    /// Fold another digest in, order doesn't matter.
    void add(const Digest& other) {
        low += mix(other.low);
        high += mix(other.high ^ 0xD1B54A32D192ED03ULL);
    }

private:
    static std::uint64_t mix(std::uint64_t x) {
        x ^= x >> 32;
        x *= 0xE9846AF9B1A615DULL;
        x ^= x >> 32;
        x *= 0xE9846AF9B1A615DULL;
        x ^= x >> 28;
        return x;
    }
};

/// Every state seen once, numbered in the order of finding, with the number of the state it was found from.
class Visited {
public:
    Visited();
    /// The state's number; `fresh` tells whether it was new.
    std::uint32_t insert(const Digest& digest, std::uint32_t parent, bool& fresh);
    std::uint32_t parent(std::uint32_t number) const { return parents_[number]; }
    const Digest& digest(std::uint32_t number) const { return digests_[number]; }
    std::size_t size() const { return digests_.size(); }

private:
    void grow();
    std::vector<std::uint32_t> slots_;  ///< number + 1; 0: empty
    std::vector<Digest> digests_;
    std::vector<std::uint32_t> parents_;
};

struct Limits {
    std::size_t states = 5'000'000;
    bool deepest = false;  ///< give the trace to the state found last, too: how did it get so far?
    bool liveness = true;  ///< prove that from every state an end can be reached without any further fault
};

struct Outcome {
    std::size_t states = 0;
    std::size_t transitions = 0;
    std::size_t depth = 0;
    std::size_t ends = 0;  ///< states in which nothing is left to happen
    bool complete = true;  ///< every state was seen
    std::string violation;
    std::vector<std::string> trace;
    double seconds = 0;
};

/// Which states can't reach an end by progress alone? Edges lead from a state to its followers by moves that must
/// happen once faults have stopped.
class Liveness {
public:
    void edge(std::uint32_t from, std::uint32_t to) { edges_.push_back({from, to}); }
    void end(std::uint32_t state) { ends_.push_back(state); }
    std::size_t ends() const { return ends_.size(); }
    /// The first state that has no way to an end, or -1.
    std::int64_t stuck(std::size_t states) const;

private:
    struct Edge {
        std::uint32_t from, to;
    };
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> ends_;
};

/// `World` is copyable and has moves, apply, digest, violation, end_violation, is_progress, describe, picture.
template <class World, class Config, class Move>
class Search {
public:
    Search(const Config& config, Limits limits) : config_(config), limits_(limits) {}

    Outcome run() {
        const auto began = std::chrono::steady_clock::now();
        Outcome out;
        Liveness liveness;
        std::vector<Found> level{{World(config_), 0}}, next;
        bool fresh = false;
        visited_.insert(level[0].world.digest(config_), 0, fresh);
        std::int64_t bad = -1;
        for (; !level.empty() && bad < 0 && out.complete; level.swap(next), next.clear(), ++out.depth) {
            for (const Found& found : level) {
                bad = expand(found, next, liveness, out);
                if (bad >= 0) break;
                if (visited_.size() >= limits_.states) {
                    out.complete = false;
                    break;
                }
            }
        }
        if (bad < 0 && out.complete && limits_.liveness) {
            bad = liveness.stuck(visited_.size());
            if (bad >= 0) out.violation = "I10: from here no end can be reached any more, even without faults";
        }
        out.states = visited_.size();
        out.ends = liveness.ends();
        if (bad < 0 && limits_.deepest) bad = static_cast<std::int64_t>(visited_.size()) - 1;
        if (bad >= 0) out.trace = trace(static_cast<std::uint32_t>(bad));
        out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        return out;
    }

private:
    struct Found {
        World world;
        std::uint32_t number;
    };

    std::int64_t expand(const Found& found, std::vector<Found>& next, Liveness& liveness, Outcome& out) {
        moves_.clear();
        found.world.moves(config_, moves_);
        bool progress = false;
        for (const Move& move : moves_) progress = progress || World::is_progress(move.kind);
        if (!progress) {
            liveness.end(found.number);
            out.violation = found.world.end_violation(config_);
            if (!out.violation.empty()) return found.number;
        }
        for (const Move& move : moves_) {
            World world = found.world;
            world.apply(config_, move);
            ++out.transitions;
            bool fresh = false;
            const std::uint32_t number = visited_.insert(world.digest(config_), found.number, fresh);
            if (!world.violation().empty()) {
                out.violation = world.violation();
                last_ = move;
                // A violation isn't part of the digest, so the state may have been reached before in a harmless way.
                last_from_ = found.number;
                last_known_ = true;
                return number;
            }
            if (limits_.liveness && World::is_progress(move.kind)) liveness.edge(found.number, number);
            if (fresh) next.push_back({world, number});
        }
        return -1;
    }

    /// Walks the path again from the beginning and puts each step into words.
    std::vector<std::string> trace(std::uint32_t number) {
        std::vector<std::uint32_t> path;
        for (std::uint32_t at = last_known_ ? last_from_ : number; at != 0; at = visited_.parent(at))
            path.push_back(at);
        std::vector<std::string> lines;
        World world(config_);
        for (auto step = path.rbegin(); step != path.rend(); ++step) {
            moves_.clear();
            world.moves(config_, moves_);
            for (const Move& move : moves_) {
                World follower = world;
                follower.apply(config_, move);
                if (!(follower.digest(config_) == visited_.digest(*step))) continue;
                lines.push_back(world.describe(config_, move) + "  " + follower.picture(config_));
                world = follower;
                break;
            }
        }
        if (last_known_) {
            World follower = world;
            follower.apply(config_, last_);
            lines.push_back(world.describe(config_, last_) + "  " + follower.picture(config_));
        }
        return lines;
    }

    const Config& config_;
    Limits limits_;
    Visited visited_;
    std::vector<Move> moves_;
    Move last_{};
    std::uint32_t last_from_ = 0;
    bool last_known_ = false;
};

}  // namespace nebis::explore
