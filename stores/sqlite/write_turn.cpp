// SPDX-License-Identifier: Apache-2.0
#include "write_turn.hpp"

#include "errors.hpp"

#include <filesystem>
#include <map>

namespace nebis::sqlite {

std::shared_ptr<WriteTurn> WriteTurn::of(const std::string& path) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<WriteTurn>> turns;
    std::error_code ignored;
    std::string canonical = std::filesystem::weakly_canonical(path, ignored).string();
    if (canonical.empty()) canonical = path;
    const std::lock_guard lock(mutex);
    std::erase_if(turns, [](const auto& entry) { return entry.second.expired(); });
    auto& known = turns[canonical];
    auto turn = known.lock();
    if (!turn) known = turn = std::make_shared<WriteTurn>(canonical);
    return turn;
}

WriteTurn::Taken WriteTurn::take(Deadline deadline) {
    const std::thread::id me = std::this_thread::get_id();
    std::unique_lock lock(mutex_);
    if (taken_ && holder_ == me) return Taken::by_this_thread;
    if (taken_) {
        Waiter waiter{.thread = me, .since = std::chrono::steady_clock::now(), .granted = false, .wake = {}};
        const auto place = waiting_.insert(waiting_.end(), &waiter);
        waiter.wake.wait_until(lock, deadline, [&] { return waiter.granted || !taken_; });
        if (waiter.granted) return Taken::yes;
        waiting_.erase(place);
        if (taken_) return Taken::too_late;
    }
    taken_ = true;
    holder_ = me;
    return Taken::yes;
}

void WriteTurn::give_back() noexcept {
    const std::lock_guard lock(mutex_);
    taken_ = false;
    holder_ = {};
    if (waiting_.empty()) return;
    Waiter* const oldest = waiting_.front();
    if (std::chrono::steady_clock::now() - oldest->since >= patience) {
        waiting_.pop_front();
        oldest->granted = true;
        taken_ = true;
        holder_ = oldest->thread;
    }
    oldest->wake.notify_one();  // under the mutex: the waiter lives on its thread's stack
}

bool WriteTurn::is_with_this_thread() const noexcept {
    const std::lock_guard lock(mutex_);
    return taken_ && holder_ == std::this_thread::get_id();
}

Result<void> Turn::check() const {
    switch (taken_) {
        case WriteTurn::Taken::yes: return {};
        case WriteTurn::Taken::too_late:
            return error_of(SQLITE_BUSY, "begin a transaction", "waited for another of this process");
        case WriteTurn::Taken::by_this_thread: break;
    }
    return Error(ErrorKind::unsupported,
                 "a protected call inside the `atomic` body of another one on the same SQLite file", {},
                 "do it after the body has returned, or put the second operation's records into another file")
        .with_code("nested-atomic");
}

}  // namespace nebis::sqlite
