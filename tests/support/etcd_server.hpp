// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/etcd.hpp"
#include "support/lock_calls.hpp"
#include "support/servers.hpp"

#include <cstdint>
#include <string>

namespace nebis::test {

/// A real etcd, or a cluster, and what lies in it.
class EtcdServer : public Server {
public:
    explicit EtcdServer(const std::string& kind = "etcd") : Server(kind, true) {}

    /// All members; a busy machine gets its time.
    etcd::Options options() const;
    LockCalls lock() const { return lock(options()); }
    static LockCalls lock(const etcd::Options& options) { return LockCalls(etcd::lock(options).value()); }

    /// The body of the reply; throws `ServerError` unless its status is 200.
    std::string ask(const std::string& path, const std::string& body, const std::string& token = {}) const;
    std::string token(const std::string& user, const std::string& password) const;
    void put(const std::string& key, const std::string& value) const;
    /// Keys that begin so.
    std::int64_t keys(const std::string& begin = "idempotent:lock:") const;
    std::int64_t leases() const;
};

}  // namespace nebis::test
