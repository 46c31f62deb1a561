// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checker.hpp"
#include "nebis/nebis.hpp"
#include "nebis/redis_store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

/// Instances of a service whose only store is Redis, and witnesses of what they do.
namespace nebis::test {

/// One instance of a service, without any memory of its own.
struct Instance {
    Engine engine;
    Operation operation;

    explicit Instance(const redis::StoreOptions& options, Policy policy = {}) : engine(engine_on(options)) {
        if (policy.operation.empty()) policy.operation = "order";
        policy.key = header("Idempotency-Key");
        operation = engine.operation(policy).value();
    }
    Answer run(const std::string& key, const Handler& handler) const {
        Request request;
        request.method = "POST";
        request.path = "/orders";
        request.headers = {{"Idempotency-Key", key}};
        return engine.run(operation, request, handler);
    }

private:
    static Engine engine_on(const redis::StoreOptions& options) {
        Engine::Parts parts;
        parts.store = redis::store(options).value();
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0, breaker: { open-millis: 50 } } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }
};

inline bool is_final(const Answer& answer) {
    return answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed;
}

/// Writes down what clients were told and what happened, for proof/checker. **Threads**: safe.
class Witness {
public:
    static proof::Micros now() {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }

    /// The effect of one run of `key`'s handler, and the answer that tells of it.
    Response effect(const std::string& key, std::uint64_t number, const Execution& execution) {
        const std::string logical = proof::logical_id(number);
        const std::lock_guard lock(mutex_);
        auto& effects = of(key).effects;
        effects.push_back({logical, execution.fencing_token(), now()});
        return {201, {}, logical + " run " + std::to_string(effects.size()), false};
    }

    void told(const std::string& key, std::uint64_t number, int instance, proof::Micros sent, const Answer& answer) {
        proof::Call call;
        call.logical = proof::logical_id(number);
        call.instance = instance;
        call.sent = sent;
        call.answered = now();
        call.said = said(answer);
        call.replayed = answer.outcome == Outcome::replayed;
        call.recorded = answer.recorded;
        if (is_final(answer)) call.answer = answer.response.body;
        const std::lock_guard lock(mutex_);
        of(key).calls.push_back(std::move(call));
    }

    proof::Verdict verdict() {
        const std::lock_guard lock(mutex_);
        proof::Circumstances rest;
        rest.at_rest = true;
        proof::Verdict verdict;
        for (auto& [key, history] : histories_) {
            std::ranges::sort(history.calls, {}, &proof::Call::sent);
            verdict.add(history, rest);
        }
        return verdict;
    }
    proof::History histories() {
        const std::lock_guard lock(mutex_);
        return histories_;
    }

private:
    static proof::Said said(const Answer& answer) {
        switch (answer.outcome) {
            case Outcome::fresh:
            case Outcome::replayed: return proof::Said::success;
            // Told by an attempt of the same process that doesn't know yet what the store says: "try later", no more.
            case Outcome::in_progress: return answer.joined ? proof::Said::unavailable : proof::Said::in_progress;
            case Outcome::outcome_unknown: return proof::Said::unknown;
            case Outcome::mismatch: return proof::Said::mismatch;
            case Outcome::unavailable: return proof::Said::unavailable;
            default: return proof::Said::surprise;
        }
    }
    proof::KeyHistory& of(const std::string& key) {
        auto& history = histories_[key];
        history.key = key;
        return history;
    }

    std::mutex mutex_;
    proof::History histories_;
};

/// For a test's output, when the verdict isn't clean.
inline std::string text_of(const proof::Verdict& verdict) {
    std::string text = "keys=" + std::to_string(verdict.keys) + " answered=" + std::to_string(verdict.answered) +
                       " doubled=" + std::to_string(verdict.doubled) + " lost=" + std::to_string(verdict.lost) +
                       " stuck=" + std::to_string(verdict.stuck);
    for (const auto& one : verdict.violations)
        text += "\nI" + std::to_string(one.invariant) + " " + one.key + ": " + one.what;
    return text;
}

}  // namespace nebis::test
