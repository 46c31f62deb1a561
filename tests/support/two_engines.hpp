// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/nebis.hpp"
#include "nebis/sqlite.hpp"
#include "support/eventually.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace nebis::test {

/// Two instances of a service: one record table, a lock service in front of it.
class TwoEngines {
public:
    using MakeGate = std::function<std::shared_ptr<Gate>()>;

    explicit TwoEngines(MakeGate make_gate) : make_gate_(std::move(make_gate)) {
        if (!::mkdtemp(folder_.data())) throw std::runtime_error("no folder");
        open(one_);
        open(two_);
    }
    ~TwoEngines() {
        one_.reset();
        two_.reset();
        std::filesystem::remove_all(folder_);
    }
    TwoEngines(const TwoEngines&) = delete;
    TwoEngines& operator=(const TwoEngines&) = delete;

    Answer at_one(const std::string& key, const Handler& handler) const { return one_->run(key, handler); }
    Answer at_two(const std::string& key, const Handler& handler) const { return two_->run(key, handler); }
    std::string metrics_of_two() const { return two_->engine.metrics(); }
    Answer at(bool first, const std::string& key, const Handler& handler) const {
        return first ? at_one(key, handler) : at_two(key, handler);
    }

private:
    struct Instance {
        Engine engine;
        Operation operation;
        Answer run(const std::string& key, const Handler& handler) const {
            Request request;
            request.method = "POST";
            request.path = "/orders";
            request.headers = {{"Idempotency-Key", key}};
            return engine.run(operation, request, handler);
        }
    };

    void open(std::unique_ptr<Instance>& into) const {
        sqlite::Options options;
        options.path = folder_ + "/records.db";
        auto store = sqlite::store(options);
        store->create_schema(std::chrono::steady_clock::now() + std::chrono::seconds(20)).value();
        Engine::Parts parts;
        parts.store = std::move(store);
        parts.gate = make_gate_();
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0, breaker: { open-millis: 50 } } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        Policy policy;
        policy.operation = "order";
        policy.key = header("Idempotency-Key");
        Operation operation = engine.operation(policy).value();
        into.reset(new Instance{std::move(engine), std::move(operation)});
    }

    const MakeGate make_gate_;
    std::string folder_ = (std::filesystem::temp_directory_path() / "nebis-two-engines-XXXXXX").string();
    std::unique_ptr<Instance> one_, two_;
};

/// Callers that send every request four times, two and two at the same time to both instances.
class Rush {
public:
    explicit Rush(const TwoEngines& engines) {
        for (unsigned caller = 0; caller < 4; ++caller)
            threads_.emplace_back([this, &engines, caller] {
                for (unsigned turn = next_++; !stopping_ && turn < keys * 4; turn = next_++)
                    send(engines, (turn + caller) % 2 == 0, turn / 4);
            });
    }
    ~Rush() { stop(); }
    void stop() {
        stopping_ = true;
        for (auto& thread : threads_)
            if (thread.joinable()) thread.join();
    }
    /// True once as many more have been answered.
    bool answers(int more) const {
        const int before = answered_;
        return eventually([&] { return answered_ >= before + more; });
    }
    int lost() const { return lost_; }  ///< neither run nor replayed nor told to come again
    int run() const {
        return static_cast<int>(std::ranges::count_if(runs_, [](const auto& n) { return n > 0; }));
    }
    int doubled() const {
        return static_cast<int>(std::ranges::count_if(runs_, [](const auto& n) { return n > 1; }));
    }
    std::chrono::milliseconds slowest() const { return std::chrono::milliseconds(slowest_); }

private:
    static constexpr unsigned keys = 200'000;

    void send(const TwoEngines& engines, bool first, unsigned key) {
        const auto started = std::chrono::steady_clock::now();
        const Answer answer =
            engines.at(first, "k" + std::to_string(key), Handler([&](const nebis::Request&, Execution&) {
                           ++runs_[key];
                           return Response{201, {}, std::to_string(key), false};
                       }));
        const auto took =
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started).count();
        for (auto seen = slowest_.load(); seen < took && !slowest_.compare_exchange_weak(seen, took);) {}
        const bool held = answer.outcome == Outcome::in_progress;
        if (answer.outcome != Outcome::fresh && answer.outcome != Outcome::replayed && !held) ++lost_;
        if (!held) ++answered_;
    }

    std::vector<std::atomic<int>> runs_ = std::vector<std::atomic<int>>(keys);
    std::atomic<unsigned> next_{0};
    std::atomic<int> answered_{0}, lost_{0};
    std::atomic<std::int64_t> slowest_{0};
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

}  // namespace nebis::test
