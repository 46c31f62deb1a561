// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "history.hpp"
#include "target.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace nebis::torture {

struct LoadOptions {
    std::uint64_t seed = 1;
    unsigned clients = 6;
    bool orders = true;
    bool payments = true;
};

/// Clients as they really are: each wants one thing done at a time and asks again when the answer is lost or "later";
/// some keys are hot, asked for by several clients at both instances at once; some clients change the payload under a
/// used key; some come back late, even after the retention.
///
/// **Threads**: `start`, `finish` and `take` from one.
class Load {
public:
    Load(Target& target, LoadOptions options);
    ~Load();

    void start();
    /// No new wishes; those that have no final answer yet are asked for again until they have. Gives up when none got
    /// one for that long: a slow machine isn't a stuck service. Returns how many remained without.
    std::size_t finish(std::chrono::milliseconds patience);
    /// Everything that clients saw of the keys touched since the last `take`, from their beginning on. What is older
    /// than `forget_after` is forgotten then.
    proof::History take(std::chrono::seconds forget_after);

    std::uint64_t calls() const noexcept { return calls_.load(); }
    std::uint64_t answered() const noexcept { return answered_.load(); }

private:
    struct Wish {
        std::string key;
        bool order = true;
        std::string logical;
        std::string other;  ///< the payload that was changed under the same key; empty while nobody did
        unsigned uses = 0;
        bool begun = false;  ///< surely there is a record
        bool answered = false;
        bool touched = true;
        proof::Micros born = 0;
        proof::KeyHistory history;
    };

    void client(unsigned number, std::stop_token stop);
    std::shared_ptr<Wish> choose(std::mt19937_64& chance, bool settling);
    std::size_t open_count() const;
    std::shared_ptr<Wish> new_wish(std::mt19937_64& chance);
    std::shared_ptr<Wish> open_wish(std::mt19937_64& chance);
    void ask(Wish& wish, std::mt19937_64& chance, bool settling);

    Target& target_;
    const LoadOptions options_;
    std::mutex mutex_;  ///< guards everything below and in the wishes
    std::vector<std::shared_ptr<Wish>> wishes_, hot_;
    std::uint64_t next_ = 1;
    std::uint64_t rounds_ = 0;
    std::atomic<std::uint64_t> calls_{0}, answered_{0};
    std::atomic<bool> settling_{false};
    std::vector<std::jthread> clients_;
};

}  // namespace nebis::torture
