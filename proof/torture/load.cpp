// SPDX-License-Identifier: Apache-2.0
#include "load.hpp"

#include <algorithm>
#include <utility>

namespace nebis::torture {
namespace {

using namespace std::chrono_literals;
using proof::Said;

constexpr std::size_t hot_keys = 6;
constexpr std::size_t open_per_client = 8;
constexpr unsigned hot_uses = 40;  ///< then another key is hot

bool happens(std::mt19937_64& chance, double probability) {
    return std::uniform_real_distribution<double>(0, 1)(chance) < probability;
}
int between(std::mt19937_64& chance, int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(chance);
}

/// How the bank treats the next payment.
std::string misbehaviour(std::mt19937_64& chance) {
    const int dice = between(chance, 0, 99);
    if (dice < 12) return "hang-up";
    if (dice < 18) return "hang-up-before";
    if (dice < 23) return "error-after";
    if (dice < 26) return "error";
    if (dice < 31) return "delay:" + std::to_string(between(chance, 20, 400));
    if (dice < 34) return "busy";
    if (dice < 36) return "refuse";
    return {};
}

bool final_answer(Said said) { return said == Said::success || said == Said::rejected; }

}  // namespace

Load::Load(Target& target, LoadOptions options) : target_(target), options_(options) {}

Load::~Load() {
    for (auto& client : clients_) client.request_stop();
}

void Load::start() {
    settling_ = false;
    ++rounds_;
    for (unsigned i = 0; i < options_.clients; ++i)
        clients_.emplace_back([this, i](std::stop_token stop) { client(i, std::move(stop)); });
}

std::size_t Load::finish(std::chrono::milliseconds patience) {
    const auto open = [&] {
        const std::lock_guard lock(mutex_);
        return open_count();
    };
    settling_ = true;
    auto progress = std::chrono::steady_clock::now();
    for (std::size_t left = open(); left > 0 && std::chrono::steady_clock::now() - progress < patience;) {
        std::this_thread::sleep_for(20ms);
        const std::size_t now = open();
        if (now < left) progress = std::chrono::steady_clock::now();
        left = now;
    }
    for (auto& client : clients_) client.request_stop();
    clients_.clear();
    return open();
}

std::size_t Load::open_count() const {
    return static_cast<std::size_t>(
        std::count_if(wishes_.begin(), wishes_.end(), [](const auto& wish) { return !wish->answered; }));
}

proof::History Load::take(std::chrono::seconds forget_after) {
    const std::lock_guard lock(mutex_);
    proof::History history;
    for (const auto& wish : wishes_) {
        if (!std::exchange(wish->touched, false)) continue;
        auto& calls = wish->history.calls;
        std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.sent < b.sent; });
        history.emplace(wish->key, wish->history);
    }
    const proof::Micros oldest = now_micros() - std::chrono::microseconds(forget_after).count();
    std::erase_if(wishes_, [&](const auto& wish) { return wish->born < oldest; });
    hot_.clear();
    return history;
}

void Load::client(unsigned number, std::stop_token stop) {
    std::mt19937_64 chance(options_.seed * 1'000'003 + rounds_ * 1'009 + number);
    while (!stop.stop_requested()) {
        const bool settling = settling_;
        const auto wish = choose(chance, settling);
        if (!wish) {
            std::this_thread::sleep_for(5ms);
            continue;
        }
        ask(*wish, chance, settling);
        std::this_thread::sleep_for(std::chrono::milliseconds(between(chance, 0, settling ? 20 : 4)));
    }
}

std::shared_ptr<Load::Wish> Load::new_wish(std::mt19937_64& chance) {
    auto wish = std::make_shared<Wish>();
    const std::uint64_t number = next_++;
    wish->order = options_.orders && (!options_.payments || happens(chance, 0.5));
    wish->key = (wish->order ? "o-" : "p-") + std::to_string(options_.seed) + "-" + std::to_string(number);
    wish->logical = proof::logical_id(number * 2);
    wish->born = now_micros();
    wish->history.key = wish->key;
    wish->history.atomic = wish->order;
    wishes_.push_back(wish);
    return wish;
}

std::shared_ptr<Load::Wish> Load::choose(std::mt19937_64& chance, bool settling) {
    const std::lock_guard lock(mutex_);
    if (settling) return open_wish(chance);
    // Nobody wants ever more while nothing is done.
    if (open_count() > open_per_client * options_.clients) return open_wish(chance);
    const int dice = between(chance, 0, 99);
    if (dice < 45) {
        std::erase_if(hot_, [](const auto& wish) { return wish->uses >= hot_uses; });
        if (hot_.size() < hot_keys) hot_.push_back(new_wish(chance));
        return hot_[static_cast<std::size_t>(between(chance, 0, static_cast<int>(hot_.size()) - 1))];
    }
    if (dice < 70 || wishes_.empty()) return new_wish(chance);
    // A retry of something recent, or a late one.
    const auto last = static_cast<int>(wishes_.size()) - 1;
    const int from = dice < 92 ? std::max(0, last - 20) : 0;
    return wishes_[static_cast<std::size_t>(between(chance, from, last))];
}

std::shared_ptr<Load::Wish> Load::open_wish(std::mt19937_64& chance) {
    std::vector<std::shared_ptr<Wish>> open;
    for (const auto& wish : wishes_)
        if (!wish->answered) open.push_back(wish);
    if (open.empty()) return nullptr;
    return open[static_cast<std::size_t>(between(chance, 0, static_cast<int>(open.size()) - 1))];
}

void Load::ask(Wish& wish, std::mt19937_64& chance, bool settling) {
    Ask ask;
    {
        const std::lock_guard lock(mutex_);
        ask.key = wish.key;
        ask.order = wish.order;
        ask.logical = wish.logical;
        if (!settling && wish.begun && happens(chance, 0.06)) {
            if (wish.other.empty()) wish.other = wish.logical.substr(0, wish.logical.size() - 1) + "f~";
            ask.logical = wish.other;
        }
        ask.instance = between(chance, 0, 1);
        ask.patience = std::chrono::milliseconds(settling ? 8'000 : between(chance, 300, 4'000));
        if (!wish.order && !settling && wish.uses < 3) ask.bank_mode = misbehaviour(chance);
        const bool trouble = !ask.bank_mode.empty() && ask.bank_mode != "busy" && ask.bank_mode != "refuse";
        wish.history.upstream_faulted = wish.history.upstream_faulted || trouble;
        ++wish.uses;
        wish.touched = true;
    }
    proof::Call call = target_.ask(ask);
    ++calls_;
    const std::lock_guard lock(mutex_);
    if (final_answer(call.said) || call.said == Said::in_progress || call.said == Said::unknown) wish.begun = true;
    if (final_answer(call.said) && !std::exchange(wish.answered, true)) ++answered_;
    // The changed payload may have won after a rollback left nothing behind; then that one is the key's own.
    if (call.said == Said::mismatch && call.logical == wish.logical && !wish.other.empty())
        std::swap(wish.logical, wish.other);
    wish.touched = true;
    wish.history.calls.push_back(std::move(call));
}

}  // namespace nebis::torture
