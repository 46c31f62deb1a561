// SPDX-License-Identifier: Apache-2.0
#include "upkeep.hpp"

#include "calls.hpp"
#include "redis_client/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace nebis::redis::records {
namespace {

/// Buckets that one pipeline looks into, and rows that it takes from each.
constexpr std::size_t buckets_at_once = 32;
constexpr std::size_t page = 64;

bool is_member_of(std::size_t bucket, const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos &&
           bucket_of(text) == bucket;
}

/// Some neighbouring buckets, page by page.
class Window {
public:
    Window(Asking& asking, const Chore& chore, std::size_t first, Deadline deadline)
        : asking_(asking), chore_(chore), first_(first), deadline_(deadline) {}

    /// Changes what is due in the next page of each, `limit` rows at most. Returns how many were changed.
    std::size_t turn_page(std::size_t limit) {
        more_ = false;
        const std::vector<Due> due = next_page(limit);
        std::vector<Call> steps;
        steps.reserve(due.size());
        for (const auto& one : due) steps.push_back(chore_.step(one.member));
        if (steps.empty()) return 0;
        std::size_t changed = 0;
        auto replies = asking_.run(steps, deadline_);
        for (std::size_t i = 0; i < replies.size(); ++i) {
            if (!replies[i]) {
                fault_ = std::move(replies[i]).error();
                continue;
            }
            const Answer answer(*replies[i]);
            if (!answer.good()) {
                fault_ = strange();
                continue;
            }
            if (answer.code() == 1) ++changed;
            if (answer.code() == 0 || answer.code() == 7) ++passed_[due[i].place];
            chore_.take(answer, due[i].member);
        }
        return changed;
    }
    bool more() const noexcept { return more_; }
    std::optional<Error>& fault() noexcept { return fault_; }

private:
    struct Due {
        std::size_t place;  ///< of its bucket in the window
        std::string member;
    };

    std::vector<Due> next_page(std::size_t limit) {
        const std::size_t per_bucket = std::min(page, limit);
        std::vector<Call> calls;
        for (std::size_t i = 0; i < buckets_at_once; ++i)
            calls.push_back(due_call(chore_.index(bucket(i)), passed_[i], per_bucket));
        std::vector<Due> due;
        auto pages = asking_.run(calls, deadline_);
        for (std::size_t i = 0; i < pages.size(); ++i) {
            if (!pages[i]) {
                fault_ = of_a_read(std::move(pages[i]).error());
                continue;
            }
            more_ = more_ || pages[i]->elements.size() == per_bucket;
            for (auto& one : pages[i]->elements) {
                if (due.size() == limit) {
                    more_ = true;
                    break;
                }
                if (is_member_of(bucket(i), one.text))
                    due.push_back({i, std::move(one.text)});
                else
                    ++passed_[i];  // somebody else's
            }
        }
        return due;
    }
    std::size_t bucket(std::size_t place) const noexcept { return (first_ + place) % bucket_count; }

    Asking& asking_;
    const Chore& chore_;
    const std::size_t first_;
    const Deadline deadline_;
    std::array<std::size_t, buckets_at_once> passed_{};  ///< of each bucket: looked at, and in its index still
    bool more_ = false;
    std::optional<Error> fault_;
};

}  // namespace

Result<std::size_t> go_round(Asking& asking, const Chore& chore, std::atomic<std::size_t>& next, std::size_t limit,
                             Deadline deadline) {
    std::size_t changed = 0;
    std::optional<Error> fault;
    const auto failed = guarded([&] {
        const std::size_t first = next.load();
        for (std::size_t at = 0; at < bucket_count && changed < limit; at += buckets_at_once) {
            Window window(asking, chore, first + at, deadline);
            do {
                if (std::chrono::steady_clock::now() >= deadline) return;
                changed += window.turn_page(limit - changed);
            } while (!window.fault() && window.more() && changed < limit);
            if (!window.fault() && window.more()) return;  // here the next call goes on
            next = (first + at + buckets_at_once) % bucket_count;
            if (!window.fault()) continue;
            fault = std::move(window.fault());
            // A spoilt index must not keep other buckets from their turn; a server that is gone is gone for all.
            if (fault->kind() != ErrorKind::misconfigured) return;
        }
    });
    if (failed) return *failed;
    // What was done before the fault is done, and reported; the next call meets the fault again.
    if (fault && changed == 0) return *std::move(fault);
    return changed;
}

}  // namespace nebis::redis::records
