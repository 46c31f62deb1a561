// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

/// Marks on branches that should be rare: tests and proofs ask whether they were ever taken, so that "it works" never
/// means "it was never tried". A mark taken costs an increment; one not taken costs nothing.
namespace nebis::observe {

class Mark {
public:
    explicit Mark(const char* text) noexcept : text_(text), next_(head_.load(std::memory_order_relaxed)) {
        while (!head_.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {}
    }
    void hit() noexcept { hits_.fetch_add(1, std::memory_order_relaxed); }

    /// How often the mark of that text was taken, all places of that text together.
    static std::uint64_t hits(std::string_view text) noexcept {
        std::uint64_t sum = 0;
        for (const Mark* mark = head_.load(std::memory_order_acquire); mark; mark = mark->next_)
            if (text == mark->text_) sum += mark->hits_.load(std::memory_order_relaxed);
        return sum;
    }

private:
    static inline constinit std::atomic<Mark*> head_{nullptr};
    const char* const text_;
    Mark* next_;
    std::atomic<std::uint64_t> hits_{0};
};

}  // namespace nebis::observe

#define NEBIS_MARK(text)                                 \
    do {                                                 \
        static ::nebis::observe::Mark nebis_mark_(text); \
        nebis_mark_.hit();                               \
    } while (false)
