// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <condition_variable>
#include <mutex>

namespace nebis::postgres::detail {

/// The connections for `atomic` of one database, at most `Options::connections`. **Threads**: safe.
class Pool : public std::enable_shared_from_this<Pool> {
public:
    explicit Pool(Options options) : options_(std::move(options)) {}

    const Options& options() const noexcept { return options_; }

    /// One that is prepared for that table; back in the pool when the pointer goes, if it is healthy and outside of a
    /// transaction. **Time**: `connection_wait` at most for a free one, and `connect_timeout` where one must be opened.
    /// **Errors**: `overloaded` "postgres-pool", or why it can't be opened.
    Result<std::shared_ptr<Connection>> lend(const std::string& table, Deadline deadline);

private:
    struct Idle {
        std::string table;
        std::unique_ptr<Connection> connection;
    };

    Result<std::unique_ptr<Connection>> open(const std::string& table, Deadline deadline) const;
    /// One that is idle, of that table; of another it makes room.
    std::unique_ptr<Connection> pick(const std::string& table);
    void take_back(Idle back) noexcept;

    const Options options_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::size_t lent_ = 0;
    std::vector<Idle> idle_;  ///< the one used last at the end
};

}  // namespace nebis::postgres::detail
