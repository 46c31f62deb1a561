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

/// Open sessions of one store or gate, last in first out, so that the warm one is used. How many are in use at once is the
/// queue's business. **Threads**: safe.
template <class Part, class Session>
class SessionPool {
public:
    explicit SessionPool(std::shared_ptr<Part> part) : part_(std::move(part)) {}

    Result<std::unique_ptr<Session>> take(Deadline deadline) {
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
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(session));
    }

    void clear() {
        std::vector<std::unique_ptr<Session>> closing;
        const std::lock_guard lock(mutex_);
        closing.swap(idle_);
    }

private:
    const std::shared_ptr<Part> part_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace nebis::runtime
