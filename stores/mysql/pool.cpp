// SPDX-License-Identifier: Apache-2.0
#include "pool.hpp"

#include "errors.hpp"

namespace nebis::mysql {
namespace detail {
namespace {

Result<std::unique_ptr<Connection>> open_for_bodies(const Options& options, Deadline deadline) {
    auto opened = Connection::open(options, deadline);
    if (!opened) return opened;
    // Without autocommit, what a body wrote outside of its transaction is never committed.
    Script script;
    script.statement("SET autocommit=0,time_zone=@@global.time_zone");
    if (auto set = (*opened)->run(script, deadline); !set) return surely_not_applied(std::move(set).error());
    return opened;
}

Error all_in_use() {
    return Error(ErrorKind::overloaded, "all connections for `atomic` of this MySQL database are in use", {},
                 "raise `connections`, keep bodies short, or run less at a time")
        .with_code("mysql-pool");
}

}  // namespace

Pool::Pool(Options options)
    : options_(std::move(options)),
      connections_(std::make_shared<driver::ConnectionPool<Connection>>(
          options_.connections, options_.connection_wait, all_in_use(),
          [options = options_](const std::string&, Deadline deadline) { return open_for_bodies(options, deadline); })) {
}

}  // namespace detail

Database::Database(Options options) : pool_(std::make_shared<detail::Pool>(std::move(options))) {}

const Options& Database::options() const noexcept { return pool_->options(); }

}  // namespace nebis::mysql
