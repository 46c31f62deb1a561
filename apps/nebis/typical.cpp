// SPDX-License-Identifier: Apache-2.0
#include "typical.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>

namespace nebis::app {
namespace {

using std::chrono::milliseconds;

/// The key comes from a header, an expression, marked fields or the whole request, as it would in a real service.
struct Typical {
    const char* name;
    KeyRule key;
    const char* number;  ///< the member that tells one business request from another
};

std::vector<Typical> typical() {
    return {{"createOrder", header("Idempotency-Key"), "cart"},
            {"paymentCallback", KeyRule("#request.paymentNo"), "paymentNo"},
            {"refund", fields({"/refundNo"}), "refundNo"},
            {"deductStock", KeyRule("#request.orderId + ':' + #request.sku"), "orderId"},
            {"grantPoints", all_parameters(), "event"}};
}

Policy policy_of(const Typical& one) {
    Policy policy;
    policy.operation = std::string("selftest/") + one.name;
    policy.key = one.key;
    policy.mode = Mode::execute;
    policy.enforcement = Enforcement::enforce;
    policy.on_duplicate = OnDuplicate::refuse;
    policy.on_finished = OnFinished::replay;
    policy.on_unknown = OnUnknown::hold;
    policy.on_store_failure = OnStoreFailure::deny;
    // Should the program be killed, clean-up finds what it left.
    policy.retention = std::chrono::minutes(10);
    policy.longest_retry = milliseconds(1'000);
    return policy;
}

/// What happens to the world in one situation, and what it should answer.
struct World {
    std::atomic<int> effects{0};
    Response done() { return {201, {}, "effect " + std::to_string(++effects), false}; }
};

std::string said(const Answer& answer) {
    std::string text(to_string(answer.outcome));
    if (answer.unprotected) text += ", unprotected";
    if (answer.error) text += " (" + answer.error->text() + ")";
    return text;
}

/// One operation in one situation: sends its requests and remembers the first thing that is wrong.
class Play {
public:
    Play(const Stage& stage, const Engine& one, const Engine& other, const Typical& what, Request request)
        : stage_(stage), one_(one), other_(other), what_(what), request_(std::move(request)) {}

    Result<void> prepare() {
        auto at_one = one_.operation(policy_of(what_));
        if (!at_one) return std::move(at_one).error();
        auto at_other = other_.operation(policy_of(what_));
        if (!at_other) return std::move(at_other).error();
        at_one_ = *std::move(at_one);
        at_other_ = *std::move(at_other);
        return {};
    }

    void normal() { ran_with(one_, at_one_, "the request"); }

    void double_click() {
        const Answer first = ran_with(one_, at_one_, "the first click");
        replayed_with(one_, at_one_, first, "the second click");
        replayed_with(other_, at_other_, first, "a click that reaches another instance");
    }

    void after_failure() {
        const Answer failed = one_.run(at_one_, request_, Handler([](const Request&, Execution&) -> Response {
                                           throw NotExecuted("selftest: surely nothing happened");
                                       }));
        expect(failed.outcome == Outcome::fresh && failed.failure, "the failure", failed);
        const Answer retry = ran_with(other_, at_other_, "the retry");
        replayed_with(one_, at_one_, retry, "one more retry");
    }

    void after_timeout() {
        const Answer lost = one_.run(at_one_, request_, Handler([this](const Request&, Execution&) -> Response {
                                         world_.done();
                                         throw OutcomeUnknown("selftest: no answer came back");
                                     }));
        expect(lost.outcome == Outcome::fresh && lost.failure, "the time-out", lost);
        const Answer retry = send(other_, at_other_);
        expect(retry.outcome == Outcome::outcome_unknown, "the retry", retry);
        const Response truth{201, {}, "effect 1", false};
        const auto settled = one_.settle(at_one_, request_, {Resolution::Kind::happened, truth}, "selftest");
        if (!settled || !*settled) wrong("the outcome could not be settled");
        const Answer after = send(other_, at_other_);
        expect(after.outcome == Outcome::replayed && after.response.body == truth.body, "a retry after that", after);
    }

    void concurrent() {
        constexpr int clients = 8;
        std::vector<Answer> answers(clients);
        std::vector<std::thread> threads;
        threads.reserve(clients);
        for (int i = 0; i < clients; ++i)
            threads.emplace_back([this, &answers, i] {
                answers[static_cast<std::size_t>(i)] =
                    i % 2 == 0 ? send(one_, at_one_, milliseconds(50)) : send(other_, at_other_, milliseconds(50));
            });
        for (auto& thread : threads) thread.join();
        int fresh = 0;
        for (const Answer& answer : answers) {
            fresh += answer.outcome == Outcome::fresh ? 1 : 0;
            expect(answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed ||
                       answer.outcome == Outcome::in_progress,
                   "one of several at once", answer);
        }
        if (fresh != 1) wrong(std::to_string(fresh) + " of several at once ran");
    }

    /// Nothing of the instance that did it is used: neither memory nor, with a lock service, connections.
    void after_restart() {
        Answer first;
        {
            auto before = stage_.open();
            if (!before) return wrong(before.error().text());
            auto operation = before->operation(policy_of(what_));
            if (!operation) return wrong(operation.error().text());
            first = ran_with(*before, *operation, "the request");
        }
        auto after = stage_.open();
        if (!after) return wrong(after.error().text());
        auto operation = after->operation(policy_of(what_));
        if (!operation) return wrong(operation.error().text());
        replayed_with(*after, *operation, first, "the retry");
    }

    /// At the end of each situation.
    Finding finding(const char* situation) {
        if (world_.effects != 1) wrong(std::to_string(world_.effects) + " effects instead of one");
        if (const auto gone = one_.purge(at_one_, request_, "selftest"); !gone)
            wrong("its record could not be removed: " + gone.error().text());
        return {what_.name, situation, why_.empty() ? Finding::Verdict::passed : Finding::Verdict::failed, why_};
    }

private:
    Answer send(const Engine& engine, const Operation& operation, milliseconds takes = {}) {
        return engine.run(operation, request_, Handler([this, takes](const Request&, Execution&) {
                              if (takes.count() > 0) std::this_thread::sleep_for(takes);
                              return world_.done();
                          }));
    }
    Answer ran_with(const Engine& engine, const Operation& operation, const char* who) {
        Answer answer = send(engine, operation);
        expect(answer.outcome == Outcome::fresh && !answer.failure && answer.recorded, who, answer);
        return answer;
    }
    void replayed_with(const Engine& engine, const Operation& operation, const Answer& first, const char* who) {
        const Answer answer = send(engine, operation);
        expect(answer.outcome == Outcome::replayed && answer.response == first.response, who, answer);
    }
    void expect(bool right, const char* who, const Answer& answer) {
        if (!right) wrong(std::string(who) + " got: " + said(answer));
    }
    void wrong(std::string what) {
        if (why_.empty()) why_ = std::move(what);
    }

    const Stage& stage_;
    const Engine& one_;
    const Engine& other_;
    const Typical& what_;
    const Request request_;
    Operation at_one_, at_other_;
    World world_;
    std::string why_;
};

struct Situation {
    const char* name;
    void (Play::*play)();
    bool needs_kept;
};
constexpr Situation situations[] = {
    {"normal", &Play::normal, false},
    {"double click", &Play::double_click, false},
    {"retry after failure", &Play::after_failure, false},
    {"retry after time-out", &Play::after_timeout, false},
    {"concurrent", &Play::concurrent, false},
    {"after restart", &Play::after_restart, true},
};

Request request_of(const Typical& what, const std::string& number) {
    Request request;
    request.method = "POST";
    request.path = std::string("/selftest/") + what.name;
    request.content_type = "application/json";
    request.principal = "nebis-selftest";
    request.headers = {{"Idempotency-Key", "\"" + number + "\""}};
    request.body = std::string("{\"") + what.number + "\":\"" + number + R"(","sku":"A-1","amount":"9.90"})";
    return request;
}

/// Keys that no earlier run has used.
std::string fresh_number() {
    static std::random_device chance;
    return "selftest-" + std::to_string(chance()) + "-" + std::to_string(chance()) + "-" + std::to_string(chance());
}

}  // namespace

Result<std::vector<Finding>> play_typical(const Stage& stage) {
    auto one = stage.open();
    if (!one) return std::move(one).error();
    auto other = stage.kept ? stage.open() : one;
    if (!other) return std::move(other).error();
    std::vector<Finding> findings;
    const auto all = typical();
    for (const Typical& what : all) {
        for (const auto& [name, play, needs_kept] : situations) {
            if (needs_kept && !stage.kept) {
                findings.push_back(
                    {what.name, name, Finding::Verdict::not_asked, "the store keeps nothing over a restart"});
                continue;
            }
            Play situation(stage, *one, *other, what, request_of(what, fresh_number()));
            if (auto ready = situation.prepare(); !ready) return std::move(ready).error();
            (situation.*play)();
            findings.push_back(situation.finding(name));
        }
    }
    return findings;
}

}  // namespace nebis::app
