// SPDX-License-Identifier: Apache-2.0
#include "customers.hpp"

#include <algorithm>
#include <random>

namespace shop {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// What makes two answers the same for a customer.
std::string comparable(const CallReply& reply) { return std::to_string(reply.status) + " " + reply.body; }

/// Anything else is the business's own answer, for good.
bool says_later(const CallReply& reply) { return reply.status == 409 || reply.status == 429 || reply.status >= 500; }

}  // namespace

Customers::Customers(const Fleet& fleet, CustomersOptions options) : fleet_(fleet), options_(options) {
    std::mt19937_64 chance(options_.seed);
    std::uniform_int_distribution<int> times(1, 6);
    outcomes_.resize(static_cast<std::size_t>(options_.orders));
    const auto start = Clock::now();
    for (int order = 0; order < options_.orders; ++order) {
        const auto at = start + std::chrono::duration_cast<Clock::duration>(options_.spread) * order / options_.orders;
        const int customers = times(chance);
        outcomes_[static_cast<std::size_t>(order)].waiting = customers;
        for (int i = 0; i < customers; ++i) wishes_.push_back({order, at});
    }
    for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this, i] { serve(i); });
}

Customers::~Customers() { ended_ = true; }

bool Customers::done() const { return placed_ == options_.orders; }

bool Customers::take(Wish& wish) {
    const std::lock_guard lock(mutex_);
    if (next_ == wishes_.size()) return false;
    wish = wishes_[next_++];
    return true;
}

void Customers::serve(unsigned number) {
    std::mt19937_64 chance(options_.seed * 1'000'003 + number);
    for (Wish wish{}; !ended_ && take(wish);) {
        while (!ended_ && (Clock::now() < wish.at || (!released_ && wish.order >= options_.orders * 19 / 20)))
            std::this_thread::sleep_for(2ms);
        ask(wish, chance());
    }
}

void Customers::ask(const Wish& wish, std::uint64_t seed) {
    std::mt19937_64 chance(seed);
    const std::string name = note(wish.order);
    const Headers headers = {{"Idempotency-Key", "\"" + name + "\""}, {"Content-Type", "application/json"}};
    const std::string body = R"({"item":"tea","quantity":1,"note":")" + name + "\"}";
    std::string answer;
    for (const auto until = Clock::now() + options_.patience; !ended_ && answer.empty() && Clock::now() < until;) {
        const auto result = call(fleet_.instance(chance() % fleet_.size()), "POST", "/orders", headers, body, 10s);
        ++calls_;
        if (result.reply && !says_later(*result.reply)) {
            answer = comparable(*result.reply);
            if (result.reply->header("Idempotency-Replayed") == "true") ++replays_;
        } else {
            ++refusals_;
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + chance() % 150));
        }
    }
    const std::lock_guard lock(mutex_);
    Outcome& outcome = outcomes_[static_cast<std::size_t>(wish.order)];
    if (answer.empty())
        ++outcome.unanswered;
    else
        outcome.answers.insert(std::move(answer));
    if (--outcome.waiting == 0) ++placed_;
}

}  // namespace shop
