// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "driver/connection_pool.hpp"

namespace nebis::postgres::detail {

/// The connections for `atomic` of one database, at most `Options::connections`, each prepared for one table.
/// **Errors** of `lend`: `overloaded` "postgres-pool", or why one can't be opened.
class Pool {
public:
    explicit Pool(Options options);

    const Options& options() const noexcept { return options_; }
    Result<std::shared_ptr<Connection>> lend(const std::string& table, Deadline deadline) {
        return connections_->lend(table, deadline);
    }

private:
    const Options options_;
    const std::shared_ptr<driver::ConnectionPool<Connection>> connections_;
};

}  // namespace nebis::postgres::detail
