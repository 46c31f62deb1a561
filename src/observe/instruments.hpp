// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

/// What is counted with: relaxed atomics that a scrape reads while requests go on. An update costs a few nanoseconds
/// and never waits.
namespace nebis::observe {

namespace detail {
/// A small number for the calling thread, so that threads on different cores touch different cache lines.
inline unsigned thread_slot() noexcept {
    static constinit std::atomic<unsigned> next{0};
    static constinit thread_local unsigned slot = 0;
    if (slot == 0) slot = next.fetch_add(1, std::memory_order_relaxed) + 1;
    return slot;
}
}  // namespace detail

class Counter {
public:
    void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// A counter for the hottest places: threads don't share its cache lines.
class WideCounter {
public:
    void add(std::uint64_t n = 1) noexcept {
        slots_[detail::thread_slot() % slots].value.fetch_add(n, std::memory_order_relaxed);
    }
    std::uint64_t value() const noexcept {
        std::uint64_t sum = 0;
        for (const auto& slot : slots_) sum += slot.value.load(std::memory_order_relaxed);
        return sum;
    }

private:
    static constexpr std::size_t slots = 8;
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> value{0};
    };
    std::array<Slot, slots> slots_;
};

class Gauge {
public:
    void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
    void add(std::int64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    void sub(std::int64_t n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
    std::int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::int64_t> value_{0};
};

/// Durations in the buckets that dashboards expect of HTTP (5 ms to 10 s), and three finer ones for stores.
class Histogram {
public:
    using Nanoseconds = std::chrono::nanoseconds;
    static constexpr std::array<std::int64_t, 17> bounds{
        500'000,       1'000'000,     2'500'000,     5'000'000,     10'000'000,    25'000'000,
        50'000'000,    75'000'000,    100'000'000,   250'000'000,   500'000'000,   750'000'000,
        1'000'000'000, 2'500'000'000, 5'000'000'000, 7'500'000'000, 10'000'000'000};

    void observe(Nanoseconds duration) noexcept {
        const auto value = duration.count() < 0 ? 0 : duration.count();
        std::size_t bucket = 0;
        while (bucket < bounds.size() && value > bounds[bucket]) ++bucket;
        buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
        if (value > 0) sum_.fetch_add(static_cast<std::uint64_t>(value), std::memory_order_relaxed);
    }

    /// Not cumulative; the last one holds what is longer than every bound.
    std::uint64_t bucket(std::size_t index) const noexcept { return buckets_[index].load(std::memory_order_relaxed); }
    Nanoseconds sum() const noexcept {
        return Nanoseconds{static_cast<std::int64_t>(sum_.load(std::memory_order_relaxed))};
    }

private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> buckets_{};
    std::atomic<std::uint64_t> sum_{0};
};

/// One instrument for each enumerator of `E`, which ends with `count_`.
template <class E, class Instrument = Counter>
class By {
public:
    static constexpr std::size_t size = static_cast<std::size_t>(E::count_);
    Instrument& operator[](E label) noexcept { return all_[static_cast<std::size_t>(label)]; }
    const Instrument& operator[](E label) const noexcept { return all_[static_cast<std::size_t>(label)]; }

private:
    std::array<Instrument, size> all_{};
};

}  // namespace nebis::observe
