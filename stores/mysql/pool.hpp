// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "driver/connection_pool.hpp"

namespace nebis::mysql::detail {

/// The connections for `atomic` of one database, at most `Options::connections`. **Errors** of `lend`: `overloaded`
/// "mysql-pool", or why one can't be opened.
class Pool {
public:
    explicit Pool(Options options);

    const Options& options() const noexcept { return options_; }
    Result<std::shared_ptr<Connection>> lend(Deadline deadline) { return connections_->lend({}, deadline); }

private:
    const Options options_;
    const std::shared_ptr<driver::ConnectionPool<Connection>> connections_;
};

}  // namespace nebis::mysql::detail
