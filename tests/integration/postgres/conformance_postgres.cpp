// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "support/postgres_server.hpp"

#include <map>

// The store's contract, on a real PostgreSQL. A table for each case makes it a new, empty store.
namespace {

using nebis::Store;
using nebis::test::PostgresServer;

/// One server for the whole program, started by the first case that runs, not when cases are listed.
PostgresServer& server() {
    static PostgresServer one;
    return one;
}

class Tables {
public:
    std::shared_ptr<Store> make() {
        const std::string table = "case_" + std::to_string(++made_);
        auto store = nebis::postgres::store(server().options(), table);
        tables_[store.get()] = table;
        store->verify(std::chrono::steady_clock::now() + std::chrono::seconds(20)).value();
        return store;
    }
    std::shared_ptr<Store> another(const std::shared_ptr<Store>& store) {
        return nebis::postgres::store(server().options(), tables_.at(store.get()));
    }

private:
    std::map<Store*, std::string> tables_;
    int made_ = 0;
};

bool register_all() {
    const auto tables = std::make_shared<Tables>();
    nebis::conformance::StoreFixture fixture;
    fixture.make = [tables] { return tables->make(); };
    fixture.another = [tables](const std::shared_ptr<Store>& store) { return tables->another(store); };
    return nebis::conformance::register_store("postgres", std::move(fixture));
}

const bool registered = register_all();

}  // namespace
