// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fleet.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shop {

struct CustomersOptions {
    std::uint64_t seed = 1;
    int orders = 2000;
    unsigned threads = 24;
    std::chrono::seconds spread{45};     ///< the time over which orders come
    std::chrono::seconds patience{120};  ///< the longest anybody asks for one answer
};

/// Customers who each want one thing once and ask for it one to six times at once, at instances by chance, each until
/// there is an answer.
class Customers {
public:
    Customers(const Fleet& fleet, CustomersOptions options);
    ~Customers();

    /// Until this is called, the last twentieth of the orders waits: whatever befalls the fleet meets a load.
    void release_all() { released_ = true; }
    bool done() const;
    int placed() const noexcept { return placed_; }  ///< orders all of whose customers have their answer
    std::uint64_t calls() const noexcept { return calls_; }
    std::uint64_t replays() const noexcept { return replays_; }
    std::uint64_t refusals() const noexcept { return refusals_; }  ///< "later", or no answer: asked again

    static std::string note(int order) { return "order-" + std::to_string(order); }

    /// Once done. Of an order: what was answered (one answer, if all is well), and how many never got any.
    struct Outcome {
        std::set<std::string> answers;
        int unanswered = 0;
        int waiting = 0;  ///< customers that still ask
    };
    const std::vector<Outcome>& outcomes() const noexcept { return outcomes_; }

private:
    struct Wish {
        int order;
        std::chrono::steady_clock::time_point at;
    };
    void serve(unsigned number);
    bool take(Wish& wish);
    void ask(const Wish& wish, std::uint64_t chance);

    const Fleet& fleet_;
    const CustomersOptions options_;
    std::vector<Wish> wishes_;
    std::vector<Outcome> outcomes_;
    mutable std::mutex mutex_;  ///< guards next_ and outcomes_
    std::size_t next_ = 0;
    std::atomic<bool> released_{false}, ended_{false};
    std::atomic<int> placed_{0};
    std::atomic<std::uint64_t> calls_{0}, replays_{0}, refusals_{0};
    std::vector<std::jthread> threads_;
};

}  // namespace shop
