// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"
#include "stall_book.hpp"

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace nebis::sqlite {

/// Who of this process may ask for the file's write lock. SQLite lets waiters poll for it; inside one process we can
/// queue instead. One for each file and process, whatever the number of Database objects: it stands for a lock that
/// exists once, too.
///
/// Whoever comes while it is free takes it, which saves a thread switch; but one that has waited for `patience` is
/// handed it next. So nobody starves, renewals of leases least of all, however tight the loops of others are.
class WriteTurn {
public:
    explicit WriteTurn(std::string path) : stalls_(std::move(path)) {}
    static std::shared_ptr<WriteTurn> of(const std::string& path);

    enum class Taken : std::uint8_t { yes, too_late, by_this_thread };
    Taken take(Deadline deadline);
    void give_back() noexcept;

    /// The calling thread is inside an `atomic` transaction of this file: to wait for the turn would be to wait for
    /// itself.
    bool is_with_this_thread() const noexcept;

    StallBook& stalls() noexcept { return stalls_; }

private:
    static constexpr std::chrono::milliseconds patience{10};
    struct Waiter {
        std::thread::id thread;
        Deadline since;
        bool granted = false;
        std::condition_variable wake;
    };

    mutable std::mutex mutex_;
    std::list<Waiter*> waiting_;  // oldest first
    bool taken_ = false;
    std::thread::id holder_;
    StallBook stalls_;
};

/// Holds the turn until the end of a block.
class Turn {
public:
    Turn(std::shared_ptr<WriteTurn> turn, Deadline deadline) : turn_(std::move(turn)), taken_(turn_->take(deadline)) {}
    ~Turn() {
        if (taken_ == WriteTurn::Taken::yes) turn_->give_back();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    Result<void> check() const;

private:
    std::shared_ptr<WriteTurn> turn_;
    WriteTurn::Taken taken_;
};

}  // namespace nebis::sqlite
