// SPDX-License-Identifier: Apache-2.0
#include "pool.hpp"

#include "errors.hpp"
#include "schema.hpp"

#include <algorithm>

namespace nebis::postgres {
namespace detail {
namespace {

Result<std::unique_ptr<Connection>> open_for(const Options& options, const std::string& table, Deadline deadline) {
    if (!good_table_name(table)) return bad_table_name();
    auto opened = Connection::open(options, deadline);
    if (!opened) return opened;
    const auto until = std::min(deadline, std::chrono::steady_clock::now() + options.connect_timeout);
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

Error all_in_use() {
    return Error(ErrorKind::overloaded, "all connections for `atomic` of this PostgreSQL database are in use", {},
                 "raise `connections`, keep bodies short, or run less at a time")
        .with_code("postgres-pool");
}

}  // namespace

Pool::Pool(Options options)
    : options_(std::move(options)),
      connections_(std::make_shared<driver::ConnectionPool<Connection>>(
          options_.connections, options_.connection_wait, all_in_use(),
          [options = options_](const std::string& table, Deadline deadline) {
              return open_for(options, table, deadline);
          })) {}

}  // namespace detail

Database::Database(Options options) : pool_(std::make_shared<detail::Pool>(std::move(options))) {}

const Options& Database::options() const noexcept { return pool_->options(); }

}  // namespace nebis::postgres
