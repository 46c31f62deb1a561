// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nebis::driver {

/// A bounded number of connections, each good for one kind of work (a record table). `Connection` tells by `usable()`
/// whether it may be used again, and by `in_transaction()` whether something was left open on it. **Threads**: safe.
/// **Lifetime**: what is lent keeps it alive.
template <class Connection>
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool<Connection>> {
public:
    using Open = std::function<Result<std::unique_ptr<Connection>>(const std::string& kind, Deadline deadline)>;

    /// `full` is told when no connection came free within `wait`.
    ConnectionPool(std::size_t most, std::chrono::milliseconds wait, Error full, Open open)
        : most_(most), wait_(wait), full_(std::move(full)), open_(std::move(open)) {}

    /// One of that kind; back in the pool when the pointer goes, if it is healthy and outside of a transaction.
    /// **Time**: `wait` at most for a free one, and what `open` takes where one must be opened. **Errors**: `full`, or
    /// those of `open`.
    Result<std::shared_ptr<Connection>> lend(const std::string& kind, Deadline deadline) {
        std::unique_ptr<Connection> connection;
        {
            const auto until = std::min(deadline, std::chrono::steady_clock::now() + wait_);
            std::unique_lock lock(mutex_);
            if (!returned_.wait_until(lock, until, [this] { return lent_ < most_; })) return full_;
            ++lent_;
            connection = pick(kind);
        }
        if (!connection) {
            auto opened = open_(kind, deadline);
            if (!opened) {
                take_back({});
                return std::move(opened).error();
            }
            connection = *std::move(opened);
        }
        return std::shared_ptr<Connection>(connection.release(),
                                           [self = this->shared_from_this(), kind](Connection* back) {
                                               self->take_back({kind, std::unique_ptr<Connection>(back)});
                                           });
    }

private:
    struct Idle {
        std::string kind;
        std::unique_ptr<Connection> connection;
    };

    /// One that is idle, of that kind; of another it makes room.
    std::unique_ptr<Connection> pick(const std::string& kind) {
        std::erase_if(idle_, [](const Idle& one) { return !one.connection->usable(); });
        const auto fits = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& one) { return one.kind == kind; });
        if (fits != idle_.rend()) {
            auto connection = std::move(fits->connection);
            idle_.erase(std::next(fits).base());
            return connection;
        }
        if (lent_ + idle_.size() > most_) idle_.erase(idle_.begin());
        return nullptr;
    }

    void take_back(Idle back) noexcept {
        const bool healthy = back.connection && back.connection->usable() && !back.connection->in_transaction();
        if (!healthy) back.connection.reset();
        {
            const std::lock_guard lock(mutex_);
            --lent_;
            if (healthy) idle_.push_back(std::move(back));
        }
        returned_.notify_one();
    }

    const std::size_t most_;
    const std::chrono::milliseconds wait_;
    const Error full_;
    const Open open_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::size_t lent_ = 0;
    std::vector<Idle> idle_;  ///< the one used last at the end
};

}  // namespace nebis::driver
