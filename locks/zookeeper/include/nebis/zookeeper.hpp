// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/extend.hpp"
#include "nebis/gate.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Locks in ZooKeeper (3.5 or newer), through its C client. `nebis::compose` makes a gate of the lock, with somebody
/// else's result cache if wanted. The store stays the truth: a ZooKeeper that is restored, slow or gone never lets two
/// attempts both count.
namespace nebis::zookeeper {

/// Name and password for the scheme "digest". With them the nodes are this user's alone; without, anybody's.
/// **Errors**: a file that can't be read, is empty, or may be read by others is `misconfigured` when a session is
/// opened. Never logged, never part of an error.
struct Credentials {
    std::string username = {};       ///< empty: nobody logs in
    std::string password = {};       ///< goes over the network as it is: Debian's client speaks no TLS
    std::string password_file = {};  ///< read anew for each session
};

struct Options {
    /// Members of one ensemble, "host:port" or "[v6]:port". The client takes any that answers.
    std::vector<std::string> addresses = {"127.0.0.1:2181"};
    Credentials credentials = {};
    /// The root of all nodes (S38), made when it isn't there: "shop/prod/"; letters, digits and . _ : - / only.
    std::string key_prefix = {};
    /// After so long without a word from this process ZooKeeper drops its locks; after two thirds of it without a word
    /// from a member the client turns to the next. The servers may allow less or more.
    std::chrono::milliseconds session_timeout{6000};
    /// The longest wait for a session that isn't there, from when it was lost or first asked for; a call's deadline may
    /// end it earlier. After that, calls fail at once until there is one.
    std::chrono::milliseconds connect_timeout{500};
    std::function<std::chrono::system_clock::time_point()> clock = {};  ///< for tests; empty: the system's
};

/// Opens no session until it is used; then one, shared by all calls, with three threads: two of the client, one that
/// opens and closes. A lock is an ephemeral node of that session; the node's value says to the millisecond, by the
/// instances' wall clocks, when the lock is over.
///
/// **Errors**: `misconfigured` from here when the options can't be right. From its calls: `unavailable` when surely
/// nothing was applied (no session, no leader); `overloaded` for a server that throttles; `misconfigured` for a missing
/// right; `maybe_applied` when a reply was lost or didn't come in time. **Time**: every call keeps its deadline.
/// **Threads**: safe. **Lifetime**: the last reference ends the session, and with it all its locks; that waits for
/// the client, ten seconds at most.
Result<std::shared_ptr<Lock>> lock(Options options = {});

/// Registers the gate driver "zookeeper", the lock without a result cache, and its settings.
void add_to(Drivers& drivers);

}  // namespace nebis::zookeeper
