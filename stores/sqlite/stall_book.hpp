// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

namespace nebis::sqlite {

/// When the file was last held so long that others had to wait, as one write transaction sees it.
struct Stalls {
    static constexpr std::int64_t shortest_millis = 100;
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    /// One class for each doubling of the length: a short stall soon after a long one makes neither forgotten.
    static constexpr std::size_t classes = 16;

    /// [i]: since the end of the last stall of at least 100 ms × 2^i.
    std::array<std::int64_t, classes> ago_millis = all_never();

    /// For how long an owner with such a lease may still be late, because it could not come to renew it: its lease is
    /// over by the clock alone. Whoever would take over waits one lease more, as after an outage. Owners renew past a
    /// third of the lease, so a stall of less than an eighth of it harms nobody.
    std::int64_t grace_left(std::int64_t lease_millis) const noexcept {
        const std::int64_t ago = ago_millis[class_of(lease_millis / 4)];
        return ago < lease_millis ? lease_millis - ago : 0;
    }
    /// The last class that a stall of this length belongs to.
    static std::size_t class_of(std::int64_t millis) noexcept {
        const auto doublings = std::bit_width(static_cast<std::uint64_t>(std::max(millis, shortest_millis)) /
                                              static_cast<std::uint64_t>(shortest_millis));
        return std::min<std::size_t>(static_cast<std::size_t>(doublings) - 1, classes - 1);
    }

private:
    static constexpr std::array<std::int64_t, classes> all_never() {
        std::array<std::int64_t, classes> all{};
        for (auto& one : all) one = never;
        return all;
    }
};

/// Who was kept waiting for the file's write lock, and until when. All processes must know: one that comes only near
/// the end of a long transaction would see a short wait and abandoned leases. So whoever has waited in vain says so in
/// a small file beside the database (`<database>-stall`, made when it is first needed), and whoever gets the write lock
/// next reads there how long the stall was. Without that file (a folder that can't be written) a process knows only
/// what it saw itself.
///
/// Thread-safe. Times are CLOCK_MONOTONIC, one clock for all processes of a machine; what an earlier boot left behind
/// costs at most one lease of patience.
class StallBook {
public:
    explicit StallBook(std::string database_path);
    ~StallBook();
    StallBook(const StallBook&) = delete;
    StallBook& operator=(const StallBook&) = delete;

    /// A write that was asked for at `asked` could not begin: somebody holds the file.
    void blocked(Deadline asked) noexcept;
    /// A write that was asked for at `asked` has begun, and holds the write lock now.
    Stalls passed(Deadline asked) noexcept;

private:
    /// The file's whole content; nanoseconds, 0: none.
    struct Entry {
        std::int64_t blocked_since = 0;
        std::array<std::int64_t, Stalls::classes> ends{};
    };

    bool open(bool create) noexcept;
    bool read(Entry& entry) noexcept;

    const std::string database_path_;
    std::mutex mutex_;
    int file_ = -1;
    std::int64_t looked_ = 0;  // for the file, in vain
    Entry seen_;               // by this process
};

}  // namespace nebis::sqlite
