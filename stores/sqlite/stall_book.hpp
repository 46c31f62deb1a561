// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace nebis::sqlite {

/// The last time the file was held so long that others had to wait, as one write transaction sees it.
struct Stall {
    static constexpr std::int64_t shortest_millis = 100;

    std::int64_t millis = 0;      ///< how long
    std::int64_t ago_millis = 0;  ///< since its end

    /// For how long an owner with such a lease may still be late, because it could not come to renew it: its lease is
    /// over by the clock alone. Whoever would take over waits one lease more, as after an outage. Owners renew past a
    /// third of the lease, so a quarter of it harms nobody.
    std::int64_t grace_left(std::int64_t lease_millis) const noexcept {
        const bool long_enough = millis >= shortest_millis && millis * 4 >= lease_millis;
        return long_enough && ago_millis < lease_millis ? lease_millis - ago_millis : 0;
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
    Stall passed(Deadline asked) noexcept;

private:
    /// The file's whole content; nanoseconds, 0: none.
    struct Entry {
        std::int64_t blocked_since = 0;
        std::int64_t length = 0;
        std::int64_t end = 0;
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
