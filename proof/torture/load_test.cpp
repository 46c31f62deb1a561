// SPDX-License-Identifier: Apache-2.0
#include "load.hpp"

#include "checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>

/// The load generator and the checker against services of a few lines: a right one is acquitted, each wrong one is
/// convicted of what it does. If that weren't so, an acquittal of the real service would mean nothing.
namespace nebis::torture {
namespace {

using proof::Said;

enum class Flaw { none, runs_again, answers_others, loses_effects, takes_any_payload, forgets, never_ends };

class Toy : public Target {
public:
    explicit Toy(Flaw flaw) : flaw_(flaw) {}

    proof::Call ask(const Ask& ask) override {
        const std::lock_guard lock(mutex_);
        proof::Call call{.logical = ask.logical, .instance = ask.instance, .sent = now_micros(), .answer = {}};
        ++asked_;
        changed_.notify_all();
        answer(ask, call);
        if (asked_ % 7 == 0) {  // the answer is lost
            call.said = Said::lost;
            call.answer.clear();
        }
        call.answered = now_micros();
        return call;
    }

    bool wait_for(std::uint64_t calls) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return asked_ >= calls; });
    }

    std::vector<proof::Effect> effects_of(const std::string& key) const {
        const auto found = done_.find(key);
        return found == done_.end() ? std::vector<proof::Effect>{} : found->second.effects;
    }

private:
    struct Done {
        std::string logical;
        std::string answer;
        std::vector<proof::Effect> effects;
    };

    void answer(const Ask& ask, proof::Call& call) {
        auto [at, fresh] = done_.try_emplace(ask.key);
        Done& done = at->second;
        if (flaw_ == Flaw::never_ends && ask.key.ends_with("3")) {
            call.said = Said::in_progress;
            return;
        }
        const bool again = flaw_ == Flaw::runs_again && asked_ % 5 == 0 && done.logical == ask.logical;
        if (fresh || again) {
            if (fresh) done.logical = ask.logical;
            done.answer = "201 " + ask.logical;
            if (flaw_ != Flaw::loses_effects) done.effects.push_back({ask.logical, ++tokens_, now_micros()});
        }
        call.replayed = !fresh;
        call.answer = done.answer;
        call.said = Said::success;
        if (done.logical != ask.logical && flaw_ != Flaw::takes_any_payload) {
            call.said = Said::mismatch;
            call.answer = "422";
        }
        if (flaw_ == Flaw::answers_others && asked_ % 11 == 0) call.answer = done_.begin()->second.answer;
        if (flaw_ == Flaw::forgets && !fresh && asked_ % 11 == 0) call.said = Said::in_progress;
    }

    const Flaw flaw_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Done> done_;
    std::uint64_t asked_ = 0;
    std::uint64_t tokens_ = 0;
};

proof::Verdict torture(Flaw flaw) {
    Toy toy(flaw);
    Load load(toy, {.seed = 5, .clients = 4, .orders = true, .payments = true});
    load.start();
    EXPECT_TRUE(toy.wait_for(600));
    load.finish(flaw == Flaw::never_ends ? std::chrono::milliseconds(100) : std::chrono::seconds(20));
    proof::Verdict verdict;
    for (auto& [key, history] : load.take(std::chrono::seconds(60))) {
        proof::KeyHistory whole = history;
        whole.effects = toy.effects_of(key);
        verdict.add(whole, {.faults = {}, .at_rest = true, .has_trail = false});
    }
    return verdict;
}

auto broken(int invariant) {
    return testing::Contains(testing::Field("invariant", &proof::Violation::invariant, invariant));
}

TEST(Load, acquits_a_right_service) {
    const auto verdict = torture(Flaw::none);
    EXPECT_TRUE(verdict.clean()) << verdict.violations.front().what;
    EXPECT_GT(verdict.keys, 20U);
    EXPECT_EQ(verdict.answered, verdict.keys);
}

TEST(Load, I1_convicts_a_service_that_runs_again) {
    const auto verdict = torture(Flaw::runs_again);
    EXPECT_THAT(verdict.violations, broken(1));
    EXPECT_GT(verdict.doubled, 0U);
}

TEST(Load, I2_convicts_a_service_that_loses_effects) {
    const auto verdict = torture(Flaw::loses_effects);
    EXPECT_THAT(verdict.violations, broken(2));
    EXPECT_GT(verdict.lost, 0U);
}

TEST(Load, I3_and_I4_convict_a_service_that_mixes_answers_up) {
    const auto verdict = torture(Flaw::answers_others);
    EXPECT_THAT(verdict.violations, broken(3));
    EXPECT_THAT(verdict.violations, broken(4));
}

TEST(Load, I6_convicts_a_service_that_forgets) { EXPECT_THAT(torture(Flaw::forgets).violations, broken(6)); }

TEST(Load, I10_convicts_a_service_that_never_ends) {
    const auto verdict = torture(Flaw::never_ends);
    EXPECT_THAT(verdict.violations, broken(10));
    EXPECT_GT(verdict.stuck, 0U);
}

TEST(Load, I12_convicts_a_service_that_takes_any_payload) {
    EXPECT_THAT(torture(Flaw::takes_any_payload).violations, broken(12));
}

}  // namespace
}  // namespace nebis::torture
