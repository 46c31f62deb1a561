// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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
    bool create_schema = false;  ///< make the tables when they are missing, whenever a store is verified or opened
};

/// The record table of that name in `Options::database`. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from `verify` and `open` for a name other than [a-z0-9_]{1,55}, a refused login, a
/// missing table or right, a server that is read-only, forgets commits or replicates statements. From its sessions:
/// `unavailable` or `overloaded` when surely nothing was applied, `maybe_applied` when the answer to a commit was lost.
/// Passwords and raw keys are in none of them. **Time**: every call keeps its deadline, except that the client library
/// may wait for the resolver when an address is a host name: write numbers where that counts. **Threads**: safe.
std::shared_ptr<Store> store(Options options, std::string table = "idempotent_record");

/// Registers the store driver "mysql" and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::mysql
