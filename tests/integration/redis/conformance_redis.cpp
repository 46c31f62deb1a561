// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/redis.hpp"
#include "support/redis_server.hpp"

#include <atomic>

// The gate's contract, on a real Redis. A prefix for each case makes it a new, empty gate.
namespace {

using nebis::test::RedisServer;

/// One server for the whole program, started by the first case that runs, not when cases are listed.
RedisServer& server() {
    static RedisServer one;
    return one;
}

nebis::redis::Options options() {
    static std::atomic<int> number{0};
    return {.addresses = {server().address()},
            .key_prefix = "case" + std::to_string(++number) + ":",
            .connect_timeout = std::chrono::seconds(5)};
}

bool register_all() {
    using nebis::conformance::GateFixture;
    using nebis::conformance::register_gate;

    GateFixture redis;
    redis.make = [] { return nebis::redis::gate(options()).value(); };
    register_gate("redis", redis);

    GateFixture locks_only;
    locks_only.make = [] {
        auto with = options();
        with.results = false;
        return nebis::redis::gate(with).value();
    };
    locks_only.keeps_results = false;
    register_gate("redis_without_results", locks_only);

    GateFixture composed;
    composed.make = [] {
        const auto with = options();
        return nebis::compose(nebis::redis::lock(with).value(), nebis::redis::result_cache(with).value());
    };
    composed.takes_from_holder = false;
    return register_gate("redis_composed", composed);
}

const bool registered = register_all();

}  // namespace
