// SPDX-License-Identifier: Apache-2.0
#include "stall_book.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace nebis::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

constexpr std::int64_t nanos_per_milli = 1'000'000;
constexpr std::int64_t shortest = Stalls::shortest_millis * nanos_per_milli;
/// Where nobody was ever blocked there is no file, and each commit would look for it in vain. Whoever makes it has been
/// blocked for `shortest`; a look that is less than half of that old has missed nothing but what is still going on.
constexpr std::int64_t look_again_after = shortest / 2;

std::int64_t nanos_of(Deadline time) { return duration_cast<nanoseconds>(time.time_since_epoch()).count(); }
std::int64_t now_nanos() { return nanos_of(std::chrono::steady_clock::now()); }

/// The earlier of two times where 0 is none, and one that lies ahead (of another boot) is none either.
std::int64_t earlier(std::int64_t a, std::int64_t b, std::int64_t now) {
    if (a <= 0 || a > now) return b;
    if (b <= 0 || b > now) return a;
    return std::min(a, b);
}

}  // namespace

StallBook::StallBook(std::string database_path) : database_path_(std::move(database_path)) {}

StallBook::~StallBook() {
    if (file_ >= 0) close(file_);
}

bool StallBook::open(bool create) noexcept {
    if (file_ >= 0) return true;
    try {
        const std::string path = database_path_ + "-stall";
        constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
        file_ = ::open(path.c_str(), flags);
        if (file_ >= 0 || !create) return file_ >= 0;
        // Whoever may write the database may write this, as SQLite does it for its own files.
        struct stat database {};
        if (stat(database_path_.c_str(), &database) != 0) return false;
        file_ = ::open(path.c_str(), flags | O_CREAT, database.st_mode & 0666);
        if (file_ < 0) return false;
        (void)!fchmod(file_, database.st_mode & 0666);
        if (geteuid() == 0) (void)!fchown(file_, database.st_uid, database.st_gid);
        return true;
    } catch (...) {
        return false;
    }
}

bool StallBook::read(Entry& entry) noexcept {
    return open(false) && pread(file_, &entry, sizeof entry, 0) >= 0;  // a file just made is shorter: nothing yet
}

void StallBook::blocked(Deadline asked) noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = now_nanos();
    seen_.blocked_since = earlier(seen_.blocked_since, nanos_of(asked), now);
    if (now - seen_.blocked_since < shortest || !open(true)) return;
    Entry shared;
    (void)read(shared);
    const std::int64_t since = earlier(shared.blocked_since, seen_.blocked_since, now);
    if (since == shared.blocked_since) return;
    // Only this one number: the others belong to whoever holds the write lock.
    static_assert(offsetof(Entry, blocked_since) == 0);
    (void)!pwrite(file_, &since, sizeof since, 0);
}

Stalls StallBook::passed(Deadline asked) noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = now_nanos();
    Entry shared;
    bool sharing = false;
    if (file_ >= 0 || now - looked_ >= look_again_after) {
        sharing = read(shared);
        looked_ = now;
    }
    if (sharing)  // what was seen before there was a file
        for (std::size_t i = 0; i < Stalls::classes; ++i)
            if (shared.ends[i] > now || shared.ends[i] < seen_.ends[i]) shared.ends[i] = seen_.ends[i];
    Entry& known = sharing ? shared : seen_;
    const std::int64_t since = earlier(earlier(known.blocked_since, seen_.blocked_since, now), nanos_of(asked), now);
    const std::int64_t length = now - since;
    const bool stalled = length >= shortest;
    if (stalled) std::fill_n(known.ends.begin(), Stalls::class_of(length / nanos_per_milli) + 1, now);
    const bool news = stalled || known.blocked_since != 0;
    known.blocked_since = seen_.blocked_since = 0;
    if (sharing && news) (void)!pwrite(file_, &known, sizeof known, 0);

    Stalls stalls;
    for (std::size_t i = 0; i < Stalls::classes; ++i) {
        const std::int64_t end = known.ends[i];
        if (end > 0 && end <= now) stalls.ago_millis[i] = (now - end) / nanos_per_milli;
    }
    return stalls;
}

}  // namespace nebis::sqlite
