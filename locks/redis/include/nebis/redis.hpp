// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/gate.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Locks and finished results in Redis, in front of any store; tested with Redis 7.0. Redis makes it fast, the store
/// makes it true: a Redis that is flushed, fails over to a replica that lags, or is gone never lets two attempts both
/// count.
namespace nebis::redis {

enum class Topology : std::uint8_t {
    single,    ///< one server; of several addresses the first that answers
    sentinel,  ///< the addresses are Sentinels; they are asked for the master of `master_name`
    cluster,   ///< the addresses are some nodes of a Redis Cluster; the others are learnt from them
};

/// Name and password of one ACL user. **Errors**: a file that can't be read, is empty, or may be read by others is
/// `misconfigured` when a connection is opened. Never logged, never part of an error.
struct Credentials {
    std::string username = {};       ///< empty: the user `default`
    std::string password = {};       ///< empty, and no file: no AUTH is sent
    std::string password_file = {};  ///< read anew for each connection, so a changed password needs no restart
};

struct Tls {
    bool enabled = false;        ///< certificates are always verified, and the name in them
    std::string ca_file = {};    ///< PEM; empty: the authorities of the system
    std::string cert_file = {};  ///< PEM with our own certificate, where the server asks for one
    std::string key_file = {};   ///< PEM with its key
    std::string server_name =
        {};  ///< the name to ask for (SNI) and to find in the certificate; empty: that of the address
};

struct Options {
    /// "host:port", "[v6]:port" or "unix:/path".
    std::vector<std::string> addresses = {"127.0.0.1:6379"};
    Topology topology = Topology::single;
    std::string master_name = "mymaster";  ///< `sentinel`
    Credentials credentials = {};
    Credentials sentinel_credentials = {};  ///< Sentinels have users of their own
    Tls tls = {};
    int database = 0;             ///< SELECT; a Cluster has 0 only
    std::string key_prefix = {};  ///< before every name (S38); letters, digits and . _ : - / only
    bool results = true;          ///< keep finished results, so that most duplicates never reach the store (S29)
    bool wake = true;             ///< tell waiting duplicates of other processes when a key is left (S54)
    /// The longest wait for one connection, name look-up, TLS and AUTH included; a call's deadline may end it earlier.
    std::chrono::milliseconds connect_timeout{500};
};

/// A gate of one script, one round trip, for each enter and each leave. Opens no connection until it is used.
///
/// **Errors**: `misconfigured` from here when the options can't be right. From its sessions: `unavailable` when surely
/// nothing was applied (not reachable, LOADING, READONLY, failing over); `overloaded` for a full memory or too many
/// clients; `misconfigured` for a refused password, a missing right or a certificate that doesn't fit; `maybe_applied`
/// when a reply was lost. **Time**: every call keeps its deadline. While an address doesn't answer, further connections
/// to it are refused at once for a growing pause of at most half a second. **Threads**: the gate is safe.
Result<std::shared_ptr<Gate>> gate(Options options = {});

/// The lock alone, and the results alone, to `compose` with somebody else's. Errors and time as above. **Threads**:
/// safe; each call under way has a connection of its own, at most eight idle ones are kept.
Result<std::shared_ptr<Lock>> lock(Options options = {});
Result<std::shared_ptr<ResultCache>> result_cache(Options options = {});

/// What the settings of a configuration's `lock` mean. **Errors**: `misconfigured`, code "redis-setting".
Result<Options> options_of(const DriverSettings& settings);

/// Registers the gate driver "redis" and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::redis
