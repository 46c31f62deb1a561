// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/redis.hpp"
#include "support/etcd_server.hpp"
#include "support/redis_server.hpp"

#include <atomic>

// The gate's contract, on a real etcd: the lock alone, and with a result cache in Redis. A prefix for each case makes
// it a new, empty gate.
namespace {

using nebis::test::EtcdServer;
using nebis::test::RedisServer;

/// One server for the whole program, started by the first case that runs, not when cases are listed.
EtcdServer& server() {
    static EtcdServer one;
    return one;
}

std::string next_prefix() {
    static std::atomic<int> number{0};
    return "case" + std::to_string(++number) + ":";
}

std::shared_ptr<nebis::Lock> lock(const std::string& prefix) {
    auto with = server().options();
    with.key_prefix = prefix;
    return nebis::etcd::lock(with).value();
}

bool register_all() {
    using nebis::conformance::GateFixture;
    using nebis::conformance::register_gate;

    GateFixture alone;
    alone.make = [] { return nebis::compose(lock(next_prefix())); };
    alone.keeps_results = false;
    alone.takes_from_holder = false;
    register_gate("etcd", alone);

    GateFixture with_results;
    with_results.make = [] {
        static RedisServer redis;
        const auto prefix = next_prefix();
        nebis::redis::Options cache;
        cache.addresses = {redis.address()};
        cache.key_prefix = prefix;
        cache.connect_timeout = std::chrono::seconds(5);
        return nebis::compose(lock(prefix), nebis::redis::result_cache(cache).value());
    };
    with_results.takes_from_holder = false;
    return register_gate("etcd_with_results_in_redis", with_results);
}

const bool registered = register_all();

}  // namespace
