// SPDX-License-Identifier: Apache-2.0
#include "in_flight.hpp"

#include "harness.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace nebis::bench {
namespace {

class Callbacks {
public:
    Callbacks(const Engine& engine, const Operation& operation, std::vector<Keys>& keys, std::size_t total)
        : engine_(engine), operation_(operation), keys_(keys), left_(total), latencies_(keys.size()) {}

    double rate() {
        const auto total = static_cast<double>(left_.load());
        const auto start = Clock::now();
        for (std::size_t i = 0; i < keys_.size(); ++i) next(i);
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [&] { return idle_ == keys_.size(); });
        const double rate = total / seconds_since(start);
        watch_.check();
        return rate;
    }
    void add_latencies(std::vector<double>& to) const {
        for (const auto& one : latencies_) to.insert(to.end(), one.begin(), one.end());
    }

private:
    void next(std::size_t caller) {
        std::size_t left = left_.load(std::memory_order_relaxed);
        while (left && !left_.compare_exchange_weak(left, left - 1)) {}
        if (!left) {
            const std::lock_guard lock(mutex_);
            if (++idle_ == keys_.size()) ended_.notify_one();
            return;
        }
        const auto start = Clock::now();
        engine_.run_async(operation_, order_request(keys_[caller].next()), at_once(), inline_executor(),
                          [this, caller, start](const Answer& answer) {
                              watch_.look(answer);
                              latencies_[caller].push_back(seconds_since(start) * 1e6);
                              next(caller);
                          });
    }

    const Engine& engine_;
    const Operation& operation_;
    std::vector<Keys>& keys_;
    std::atomic<std::size_t> left_;
    std::vector<std::vector<double>> latencies_;  ///< by caller, who is never on two threads at once
    Watch watch_{Outcome::fresh};
    std::mutex mutex_;
    std::condition_variable ended_;
    std::size_t idle_ = 0;
};

}  // namespace

const Handler& at_once() {
    static const Handler handler([](const Request&, Execution&) { return order_answer(); });
    return handler;
}

double callback_rate(const Engine& engine, const Operation& operation, std::vector<Keys>& keys, std::size_t total,
                     std::vector<double>* latencies) {
    Callbacks callers(engine, operation, keys, total);
    const double rate = callers.rate();
    if (latencies) callers.add_latencies(*latencies);
    return rate;
}

double thread_rate(const Engine& engine, const Operation& operation, std::vector<Keys>& keys, std::size_t total) {
    Watch watch(Outcome::fresh);
    const std::size_t each = total / keys.size();
    const auto start = Clock::now();
    {
        std::vector<std::jthread> callers;
        for (Keys& one : keys)
            callers.emplace_back([&] {
                for (std::size_t n = 0; n < each; ++n)
                    watch.look(engine.run(operation, order_request(one.next()), at_once()));
            });
    }
    const double rate = static_cast<double>(each * keys.size()) / seconds_since(start);
    watch.check();
    return rate;
}

}  // namespace nebis::bench
