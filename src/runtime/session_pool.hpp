// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"
#include "nebis/store.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace nebis::runtime {

/// Open sessions of one store or gate, last in first out, so that the warm one is used. How many are in use at once is
/// the queue's business. **Threads**: safe.
template <class Part, class Session>
class SessionPool {
public:
    explicit SessionPool(std::shared_ptr<Part> part) : part_(std::move(part)) {}
    ~SessionPool() { delete warm_.load(std::memory_order_acquire); }
    SessionPool(const SessionPool&) = delete;
    SessionPool& operator=(const SessionPool&) = delete;

    Result<std::unique_ptr<Session>> take(Deadline deadline) {
        if (Session* const warm = warm_.exchange(nullptr, std::memory_order_acquire))
            return std::unique_ptr<Session>(warm);
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                std::unique_ptr<Session> session = std::move(idle_.back());
                idle_.pop_back();
                return session;
            }
        }
        return part_->open(deadline);
    }

    void give_back(std::unique_ptr<Session> session) {
        Session* none = nullptr;
        if (warm_.compare_exchange_strong(none, session.get(), std::memory_order_release, std::memory_order_relaxed)) {
            (void)session.release();
            return;
        }
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(session));
    }

private:
    const std::shared_ptr<Part> part_;
    std::atomic<Session*> warm_{nullptr};  ///< the one used last, had without the mutex
    std::mutex mutex_;
    std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace nebis::runtime
