// SPDX-License-Identifier: Apache-2.0
#include "pool.hpp"

#include "errors.hpp"
#include "schema.hpp"

#include <algorithm>

namespace nebis::postgres {
namespace detail {

Result<std::shared_ptr<Connection>> Pool::lend(const std::string& table, Deadline deadline) {
    std::unique_ptr<Connection> connection;
    {
        const auto until = std::min(deadline, std::chrono::steady_clock::now() + options_.connection_wait);
        std::unique_lock lock(mutex_);
        if (!returned_.wait_until(lock, until, [this] { return lent_ < options_.connections; }))
            return Error(ErrorKind::overloaded, "all connections for `atomic` of this PostgreSQL database are in use",
                         {}, "raise `connections`, keep bodies short, or run less at a time")
                .with_code("postgres-pool");
        ++lent_;
        connection = pick(table);
    }
    if (!connection) {
        auto opened = open(table, deadline);
        if (!opened) {
            take_back({});
            return std::move(opened).error();
        }
        connection = *std::move(opened);
    }
    return std::shared_ptr<Connection>(connection.release(), [self = shared_from_this(), table](Connection* back) {
        self->take_back({table, std::unique_ptr<Connection>(back)});
    });
}

Result<std::unique_ptr<Connection>> Pool::open(const std::string& table, Deadline deadline) const {
    if (!good_table_name(table)) return bad_table_name();
    auto opened = Connection::open(options_, deadline);
    if (!opened) return opened;
    const auto until = std::min(deadline, std::chrono::steady_clock::now() + options_.connect_timeout);
    if (auto set = (*opened)->query(atomic_settings, until); !set) {
        if (set.error().code() != "postgres-permission") return surely_not_applied(std::move(set).error());
        return Error(ErrorKind::misconfigured, "`atomic` needs the right to make temporary tables",
                     set.error().detail(), "GRANT TEMPORARY ON DATABASE … TO the role")
            .with_code("postgres-temporary");
    }
    if (auto ready = (*opened)->prepare(table, until, Use::atomic); !ready)
        return surely_not_applied(std::move(ready).error());
    return opened;
}

std::unique_ptr<Connection> Pool::pick(const std::string& table) {
    std::erase_if(idle_, [](const Idle& one) { return !one.connection->usable(); });
    const auto fits = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& one) { return one.table == table; });
    if (fits != idle_.rend()) {
        auto connection = std::move(fits->connection);
        idle_.erase(std::next(fits).base());
        return connection;
    }
    if (lent_ + idle_.size() > options_.connections) idle_.erase(idle_.begin());
    return nullptr;
}

void Pool::take_back(Idle back) noexcept {
    const bool healthy = back.connection && back.connection->usable() && !back.connection->in_transaction();
    if (!healthy) back.connection.reset();
    {
        const std::lock_guard lock(mutex_);
        --lent_;
        if (healthy) idle_.push_back(std::move(back));
    }
    returned_.notify_one();
}

}  // namespace detail

Database::Database(Options options) : pool_(std::make_shared<detail::Pool>(std::move(options))) {}

const Options& Database::options() const noexcept { return pool_->options(); }

}  // namespace nebis::postgres
