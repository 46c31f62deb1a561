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

struct pg_conn;  // libpq's PGconn

/// Records in PostgreSQL (14 or newer), shared by every instance that reaches it.
namespace nebis::postgres {

struct Tls {
    bool enabled = false;        ///< the certificate is always verified, and the name in it
    std::string ca_file = {};    ///< PEM of the authorities to trust; required when enabled
    std::string cert_file = {};  ///< PEM with our own certificate, where the server asks for one
    std::string key_file = {};   ///< PEM with its key
};

struct Options {
    /// "host:port", "[v6]:port" or "unix:/folder/.s.PGSQL.5432"; of several the first that can be written to.
    std::vector<std::string> addresses = {"127.0.0.1:5432"};
    std::string database = "postgres";
    std::string username = {};  ///< empty: libpq's own choice (PGUSER, the system user)
    std::string password = {};  ///< empty, and no file: libpq's own choice (PGPASSWORD, a password file of its own)
    std::string password_file = {};  ///< read anew for each connection, so a changed password needs no restart
    Tls tls = {};
    /// The longest wait for one connection, TLS, login and preparation included; a call's deadline may end it earlier.
    std::chrono::milliseconds connect_timeout{2000};
    /// The server's own bound on one statement; a call's deadline may be shorter. Keep it below the lease.
    std::chrono::milliseconds statement_timeout{5000};
    std::size_t connections = 8;  ///< most connections for `atomic` at a time
    /// The longest wait for a free one of these; a call's deadline may be shorter.
    std::chrono::milliseconds connection_wait{800};
    bool create_schema = false;  ///< make the tables when they are missing, whenever a store is verified or opened
};

namespace detail {
class Pool;
}

/// One PostgreSQL database with a pool of connections for `atomic`. Opens none until it is used.
/// **Threads**: safe. **Lifetime**: a copyable handle; the connections live as long as any copy or runner made from it.
class Database {
public:
    explicit Database(Options options);
    const Options& options() const noexcept;
    const std::shared_ptr<detail::Pool>& pool() const noexcept { return pool_; }  ///< for this driver

private:
    std::shared_ptr<detail::Pool> pool_;
};

/// The record table of that name, found through the user's search path. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from `verify` and `open` for a name other than [a-z0-9_]{1,55}, a refused login, a
/// missing table or right, a server that is read-only. From its sessions: `unavailable` or `overloaded` when surely
/// nothing was applied, `maybe_applied` when the answer to a commit was lost. Passwords and raw keys are in none of
/// them. **Time**: every call keeps its deadline, except that libpq may wait for the resolver when an address is a host
/// name: write numbers where that counts. **Threads**: safe.
std::shared_ptr<Store> store(Options options, std::string table = "idempotent_record");

inline std::shared_ptr<Store> store(const Database& database, std::string table = "idempotent_record") {
    return store(database.options(), std::move(table));
}

/// Registers the store driver "postgres" and its settings.
void add_to(Drivers& drivers);

/// Runs bodies inside transactions of this database that also carry the record. Serves the stores with the same
/// addresses, database and role.
///
/// **Errors**, all with nothing applied unless said otherwise: `overloaded` "postgres-pool" when no connection came
/// free within `connection_wait`; `misconfigured` "transaction-ended" when the body committed or rolled back by itself,
/// "transaction-aborted" when it returned although one of its statements had failed; "postgres-temporary" when the role
/// may not make temporary tables. Only a COMMIT whose answer was lost is `maybe_applied`. **Time**: with `claim:
/// inside` a duplicate waits for the transaction that holds its key, at most for the claim's `lock_wait` and half of
/// `statement_timeout`; then it is told what is committed, or that the key is in progress.
std::shared_ptr<TransactionRunner> runner(const Database& database);

/// A body that writes its whole effect through the `pg_conn*` (libpq's PGconn*) it is given: effect and record commit
/// together or not at all. READ COMMITTED. The connection is blocking, outside of pipeline mode and the body's until it
/// returns, with every answer read.
///
/// The body must not end the transaction: the server refuses its COMMIT, and writes after a COMMIT or ROLLBACK of its
/// own; only one that then asks for `READ WRITE` or `AND CHAIN` in so many words could commit past the record. `SET
/// CONSTRAINTS ALL IMMEDIATE` fails; name the constraints. Session settings that it changes stay: use `SET LOCAL`.
/// **Time**: the server ends statements at the deadline of the attempt, and a transaction that lies idle for 10 s.
/// `body(request or arguments …, pg_conn*, Execution&)`, as engine.hpp and the HTTP server describe it.
template <class Body>
Atomic<pg_conn*, std::decay_t<Body>> atomic(const Database& database, Body&& body) {
    return {runner(database), std::forward<Body>(body)};
}

/// The bare piece for code that must own its transaction: writes the record's end through `transaction`, which must be
/// open, READ COMMITTED, blocking and outside of pipeline mode. Commit it, and effect and record are there together;
/// roll back, and neither is. **Time**: waits a second at most for a row that somebody holds. **Errors**: code
/// "fenced-off" when the record isn't this attempt's any more, `overloaded` when its row was held: roll back.
/// `misconfigured` "no-transaction" when none is open or it has failed, "isolation-level" when it isn't READ COMMITTED.
Result<void> finish_in(const Execution& execution, pg_conn* transaction, const Response& response,
                       const FinishIn& how = {});

}  // namespace nebis::postgres
