// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <zookeeper/zookeeper.h>

#include <string>

namespace nebis::zookeeper {

Error error_of(int code, bool sent, bool write) {
    const std::string detail = std::string(::zerror(code)) + " (" + std::to_string(code) + ")";
    switch (code) {
        case ZNOAUTH:
        case ZINVALIDACL:
            return Error(ErrorKind::misconfigured, "this user of ZooKeeper lacks a right", detail,
                         "the user of `lock.username` must own the nodes below `key-prefix` and the scheme digest be "
                         "allowed; see the README of this driver")
                .with_code("zookeeper-right");
        case ZAUTHFAILED:
        case ZSESSIONCLOSEDREQUIRESASLAUTH:
            return Error(ErrorKind::misconfigured, "ZooKeeper refuses the log-in", detail,
                         "check `lock.username` and `lock.password`; only the scheme digest is spoken")
                .with_code("zookeeper-login");
        case ZNOCHILDRENFOREPHEMERALS:
            return Error(ErrorKind::misconfigured, "the root of the locks can't have nodes below it", detail,
                         "somebody has put an ephemeral node where `key-prefix` points to")
                .with_code("zookeeper-root");
        case ZTHROTTLEDOP:
            return Error(ErrorKind::overloaded, "ZooKeeper has too much to do", detail, "look at its load")
                .with_code("zookeeper-busy");
        case ZNOTEMPTY:
            return Error(ErrorKind::misconfigured, "somebody else's nodes stand under a lock's name", detail,
                         "choose another `key-prefix`, or remove them")
                .with_code("zookeeper-foreign");
        case ZNOTREADONLY:  // refused as a whole: by a server without a leader, or one that the session has left
        case ZSESSIONMOVED:
            return Error(ErrorKind::unavailable, "ZooKeeper can't serve this session", detail,
                         "a majority of its members must be up and see each other")
                .with_code("zookeeper-session");
        default: break;
    }
    if (!sent || !write)
        return Error(ErrorKind::unavailable, "ZooKeeper can't be asked", detail,
                     "check `lock.address`, that ZooKeeper runs and listens there, and its load")
            .with_code("zookeeper-lost");
    return Error(ErrorKind::maybe_applied, "the reply of ZooKeeper was lost", detail,
                 "look at the load of ZooKeeper, at its log and at the network between")
        .with_code("zookeeper-lost");
}

Error timed_out(bool write) {
    return Error(write ? ErrorKind::maybe_applied : ErrorKind::unavailable, "ZooKeeper is too slow to answer", {},
                 "look at its load, the time its disk takes to sync, and the network between")
        .with_code("zookeeper-timeout");
}

}  // namespace nebis::zookeeper
