// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/redis_store.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"

#include <functional>
#include <map>

// The store's contract, on real servers: one alone, behind Sentinels, a Cluster; and one whose replica must have
// everything. A table for each case makes it a new, empty store. Servers start when the first case needs them, not when
// cases are listed.
namespace {

using nebis::Store;
using nebis::redis::StoreOptions;
using nebis::test::Cluster;
using nebis::test::RedisServer;
using nebis::test::Sentinels;

StoreOptions alone() {
    static RedisServer one;
    StoreOptions options;
    options.servers.addresses = {one.address()};
    options.servers.connect_timeout = std::chrono::seconds(5);
    return options;
}

Sentinels& sentinels() {
    static Sentinels all;
    return all;
}

StoreOptions behind_sentinels() {
    StoreOptions options;
    options.servers = sentinels().options();
    return options;
}

StoreOptions confirmed() {
    StoreOptions options = behind_sentinels();
    options.servers.key_prefix = "confirmed:";
    options.wait_replicas = 1;
    options.wait_timeout = std::chrono::seconds(10);
    return options;
}

StoreOptions cluster() {
    static Cluster all;
    StoreOptions options;
    options.servers = all.options();
    return options;
}

class Tables {
public:
    explicit Tables(std::function<StoreOptions()> options) : options_(std::move(options)) {}

    std::shared_ptr<Store> make() {
        const std::string table = "case_" + std::to_string(++made_);
        auto store = open(table);
        tables_[store.get()] = table;
        store->verify(std::chrono::steady_clock::now() + std::chrono::seconds(20)).value();
        return store;
    }
    std::shared_ptr<Store> another(const std::shared_ptr<Store>& store) { return open(tables_.at(store.get())); }

private:
    std::shared_ptr<Store> open(const std::string& table) {
        StoreOptions options = options_();
        options.table = table;
        return nebis::redis::store(std::move(options)).value();
    }

    std::function<StoreOptions()> options_;
    std::map<Store*, std::string> tables_;
    int made_ = 0;
};

bool put_through(const char* name, std::function<StoreOptions()> options) {
    const auto tables = std::make_shared<Tables>(std::move(options));
    nebis::conformance::StoreFixture fixture;
    fixture.make = [tables] { return tables->make(); };
    fixture.another = [tables](const std::shared_ptr<Store>& store) { return tables->another(store); };
    return nebis::conformance::register_store(name, std::move(fixture));
}

const bool registered = put_through("redis", alone) && put_through("redis_sentinel", behind_sentinels) &&
                        put_through("redis_cluster", cluster) && put_through("redis_confirmed", confirmed);

}  // namespace
