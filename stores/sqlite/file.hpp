// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "nebis/sqlite.hpp"
#include "runtime/row_rules.hpp"
#include "write_turn.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace nebis::sqlite::detail {

/// What all copies of a Database share.
class File : public std::enable_shared_from_this<File> {
public:
    explicit File(Options options);

    const Options& options() const noexcept { return options_; }
    const std::shared_ptr<WriteTurn>& turn() const noexcept { return turn_; }
    runtime::StoreTime now() const;
    /// The caller's deadline, and no more than `busy_timeout` from now.
    Deadline bounded(Deadline deadline) const;

    /// A connection of the store's own.
    Result<std::unique_ptr<Connection>> connect(Deadline deadline) const;
    /// One of the business pool; goes back when the pointer goes.
    Result<std::shared_ptr<Connection>> lend(Deadline deadline);

    /// The same file of the same file system, whatever the spelling of the path.
    bool same_as(const File& other) const;

private:
    void take_back(std::unique_ptr<Connection> connection) noexcept;

    const Options options_;
    const std::shared_ptr<WriteTurn> turn_;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Connection>> idle_;
    std::size_t lent_ = 0;
};

}  // namespace nebis::sqlite::detail
