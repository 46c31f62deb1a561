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
    if (!turn) known = turn = std::make_shared<WriteTurn>();
    return turn;
}

WriteTurn::Taken WriteTurn::take(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (taken_) {
        if (holder_ == std::this_thread::get_id()) return Taken::by_this_thread;
        if (!free_.wait_until(lock, deadline, [this] { return !taken_; })) return Taken::too_late;
    }
    taken_ = true;
    holder_ = std::this_thread::get_id();
    return Taken::yes;
}

void WriteTurn::give_back() noexcept {
    {
        const std::lock_guard lock(mutex_);
        taken_ = false;
        holder_ = {};
    }
    free_.notify_one();
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
