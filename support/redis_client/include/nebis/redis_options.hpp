// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// How to reach Redis, for the gate (redis.hpp) and for the store (redis_store.hpp).
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
    bool results = true;          ///< gate: keep finished results, so that most duplicates never reach the store (S29)
    bool wake = true;             ///< gate: tell waiting duplicates of other processes when a key is left (S54)
    /// Gate: take `idempotent:<key>` too, as version 1 of the article's component does, so that its instances and ours
    /// keep each other out during a rolling upgrade (S40). Operations then need `fail-open: false`.
    bool v1_compat = false;
    /// The longest wait for one connection, name look-up, TLS and AUTH included; a call's deadline may end it earlier.
    std::chrono::milliseconds connect_timeout{500};
};

}  // namespace nebis::redis
