// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/gate.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Locks in etcd (3.4 or newer), over its JSON gateway. `nebis::compose` makes a gate of the lock, with somebody else's
/// result cache if wanted. The store stays the truth: an etcd that is restored, slow or gone never lets two attempts
/// both count.
namespace nebis::etcd {

/// Name and password of one user. **Errors**: a file that can't be read, is empty, or may be read by others is
/// `misconfigured` when logging in. Never logged, never part of an error.
struct Credentials {
    std::string username = {};       ///< empty: nobody logs in
    std::string password = {};       ///< sent to etcd once for each token
    std::string password_file = {};  ///< read anew for each log-in, so a changed password needs no restart
};

struct Tls {
    bool enabled = false;        ///< certificates are always verified, and the name in them
    std::string ca_file = {};    ///< PEM; empty: the authorities of the system
    std::string cert_file = {};  ///< PEM with our own certificate, where etcd asks for one
    std::string key_file = {};   ///< PEM with its key
    std::string server_name =
        {};  ///< the name to ask for (SNI) and to find in the certificate; empty: that of the address
};

struct Options {
    /// Members of one cluster, "host:port" or "[v6]:port". One that fails is left for the next.
    std::vector<std::string> addresses = {"127.0.0.1:2379"};
    Credentials credentials = {};
    Tls tls = {};
    std::string key_prefix = {};  ///< before every name (S38); letters, digits and . _ : - / only
    /// The longest wait for one connection, name look-up and TLS included; a call's deadline may end it earlier.
    std::chrono::milliseconds connect_timeout{500};
    std::function<std::chrono::system_clock::time_point()> clock = {};  ///< for tests; empty: the system's
};

/// Opens no connection until it is used. A lock is an etcd key with a lease of its own; the key's value says to the
/// millisecond, by the instances' wall clocks, when the lock is over, and the lease, which counts in whole seconds,
/// removes it at the latest a few seconds after that.
///
/// **Errors**: `misconfigured` from here when the options can't be right. From its calls: `unavailable` when surely
/// nothing was applied (no member reachable, no leader); `overloaded` for a full etcd or too many requests;
/// `misconfigured` for a refused password, a missing right or a certificate that doesn't fit; `maybe_applied` when a
/// reply was lost or can't be understood. **Time**: every call keeps its deadline. **Threads**: safe; each call under
/// way has a connection of its own, at most eight idle ones are kept.
Result<std::shared_ptr<Lock>> lock(Options options = {});

/// Registers the gate driver "etcd", the lock without a result cache, and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::etcd
