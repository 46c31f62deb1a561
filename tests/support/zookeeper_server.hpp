// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/zookeeper.hpp"
#include "support/lock_calls.hpp"
#include "support/servers.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace nebis::test {

/// A real ZooKeeper, or three of them, and what lies in it.
class ZookeeperServer : public Server {
public:
    /// `quick`: it needn't survive the machine.
    explicit ZookeeperServer(const std::string& kind = "zookeeper", bool quick = true) : Server(kind, quick) {}

    /// All members; a busy machine gets its time.
    zookeeper::Options options() const;
    LockCalls lock() const { return lock(options()); }
    static LockCalls lock(const zookeeper::Options& options) { return LockCalls(zookeeper::lock(options).value()); }

    /// Below that root; 0 without it.
    std::int64_t keys(const std::string& root = "/idempotent:lock") const;
};

/// Somebody else's session, through the client's blocking calls. Throws `ServerError` for what doesn't go.
class ZookeeperClient {
public:
    explicit ZookeeperClient(const std::string& address, const std::string& digest = {});
    ~ZookeeperClient();
    ZookeeperClient(const ZookeeperClient&) = delete;
    ZookeeperClient& operator=(const ZookeeperClient&) = delete;

    void make(const std::string& path, const std::string& value = {}, bool ephemeral = false);
    void remove(const std::string& path);
    std::int64_t children(const std::string& path) const;  ///< 0: no such node
    /// Whether a node carries rights for everybody.
    bool is_open_to_all(const std::string& path) const;

private:
    void* client_;
};

}  // namespace nebis::test
