// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/store.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

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
    bool create_schema = false;  ///< make the tables when they are missing, whenever a store is verified or opened
};

/// The record table of that name, found through the user's search path. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from `verify` and `open` for a name other than [a-z0-9_]{1,55}, a refused login, a
/// missing table or right, a server that is read-only. From its sessions: `unavailable` or `overloaded` when surely
/// nothing was applied, `maybe_applied` when the answer to a commit was lost. Passwords and raw keys are in none of
/// them. **Time**: every call keeps its deadline, except that libpq may wait for the resolver when an address is a host
/// name: write numbers where that counts. **Threads**: safe.
std::shared_ptr<Store> store(Options options, std::string table = "idempotent_record");

/// Registers the store driver "postgres" and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::postgres
