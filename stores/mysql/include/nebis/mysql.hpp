// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct st_mysql;  // the client library's MYSQL

/// Records in MariaDB (10.6 or newer) or MySQL (8.0 or newer), shared by every instance that reaches the server; tested
/// with MariaDB 10.11.
namespace nebis::mysql {

struct Tls {
    bool enabled = false;        ///< the certificate is always verified, and the name in it
    std::string ca_file = {};    ///< PEM of the authorities to trust; required when enabled
    std::string cert_file = {};  ///< PEM with our own certificate, where the server asks for one
    std::string key_file = {};   ///< PEM with its key
};

struct Options {
    /// "host:port", "[v6]:port" or "unix:/path"; of several the first that can be written to.
    std::vector<std::string> addresses = {"127.0.0.1:3306"};
    std::string database = {};  ///< required
    std::string username = {};
    std::string password = {};
    std::string password_file = {};  ///< read anew for each connection, so a changed password needs no restart
    Tls tls = {};
    /// The longest wait for one connection, TLS and login included; a call's deadline may end it earlier.
    std::chrono::milliseconds connect_timeout{2000};
    /// MariaDB's own bound on one statement. Keep it below the lease. MySQL has none for writes.
    std::chrono::milliseconds statement_timeout{5000};
    /// A server that answers a commit before it is on disk (`innodb_flush_log_at_trx_commit` other than 1) is refused.
    bool require_durable_commits = true;
    std::size_t connections = 8;  ///< most connections for `atomic` at a time
    /// The longest wait for a free one of these; a call's deadline may be shorter.
    std::chrono::milliseconds connection_wait{800};
    bool create_schema = false;  ///< make the tables when they are missing, whenever a store is verified or opened
};

namespace detail {
class Pool;
}

/// One database of a server with a pool of connections for `atomic`. Opens none until it is used.
/// **Threads**: safe. **Lifetime**: a copyable handle; the connections live as long as any copy or runner made from it.
class Database {
public:
    explicit Database(Options options);
    const Options& options() const noexcept;
    const std::shared_ptr<detail::Pool>& pool() const noexcept { return pool_; }  ///< for this driver

private:
    std::shared_ptr<detail::Pool> pool_;
};

/// The record table of that name in `Options::database`. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from `verify` and `open` for a name other than [a-z0-9_]{1,55}, a refused login, a
/// missing table or right, a server that is read-only, forgets commits or replicates statements. From its sessions:
/// `unavailable` or `overloaded` when surely nothing was applied, `maybe_applied` when the answer to a commit was lost.
/// Passwords and raw keys are in none of them. **Time**: every call keeps its deadline, except that the client library
/// may wait for the resolver when an address is a host name: write numbers where that counts. **Threads**: safe.
std::shared_ptr<Store> store(Options options, std::string table = "idempotent_record");

inline std::shared_ptr<Store> store(const Database& database, std::string table = "idempotent_record") {
    return store(database.options(), std::move(table));
}

/// Registers the store driver "mysql" and its settings.
void add_to(Drivers& drivers);

/// Runs bodies inside transactions of this database that also carry the record. Serves the stores with the same
/// addresses and database.
///
/// **Errors**, all with nothing applied unless said otherwise: `overloaded` "mysql-pool" when no connection came free
/// within `connection_wait`; `misconfigured` "transaction-ended" when the body asked for a COMMIT, a ROLLBACK, a BEGIN
/// or a statement that commits by itself, all of which the server refuses, "transaction-aborted" when it returned
/// although a deadlock had rolled everything back. Only a COMMIT whose answer was lost is `maybe_applied`.
/// **Time**: with `claim: inside` a duplicate waits for the transaction that holds its key, at most for the claim's
/// `lock_wait` and `statement_timeout`; then it is told what is committed, or that the key is in progress.
std::shared_ptr<TransactionRunner> runner(const Database& database);

/// A body that writes its whole effect through the `st_mysql*` (the client library's MYSQL*) it is given: effect and
/// record commit together or not at all. READ COMMITTED. The connection is the body's until it returns, with every
/// answer read.
///
/// The transaction is an XA transaction with one phase: no COMMIT, ROLLBACK, BEGIN, SET autocommit, DDL or LOCK TABLES
/// can end it, and a body that tried one of them is rolled back and told. A statement that fails is undone alone; a
/// deadlock undoes everything. The body must neither reset the connection nor change its user. Session settings that it
/// changes stay. **Time**: MariaDB ends statements at the deadline of the attempt (MySQL only its lock waits), and a
/// transaction that lies idle for 10 s.
/// `body(request or arguments …, st_mysql*, Execution&)`, as engine.hpp and the HTTP server describe it.
template <class Body>
Atomic<st_mysql*, std::decay_t<Body>> atomic(const Database& database, Body&& body) {
    return {runner(database), std::forward<Body>(body)};
}

/// The bare piece for code that must own its transaction: writes the record's end through `transaction`, which must be
/// open, READ COMMITTED, and have every answer read. Commit it, and effect and record are there together; roll back,
/// and neither is. **Time**: waits a second at most for a row that somebody holds. **Errors**: code "fenced-off" when
/// the record isn't this attempt's any more, `overloaded` when its row was held: roll back. `misconfigured`
/// "no-transaction" when none is open, "isolation-level" when the session isn't READ COMMITTED. It writes the session's
/// user variables @us and @ms.
Result<void> finish_in(const Execution& execution, st_mysql* transaction, const Response& response,
                       const FinishIn& how = {});

}  // namespace nebis::mysql
