// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "support/mariadb_server.hpp"

#include <map>

// The store's contract, on a real MariaDB. A table for each case makes it a new, empty store.
namespace {

using nebis::Store;
using nebis::test::MariadbServer;

/// One server for the whole program, started by the first case that runs, not when cases are listed.
MariadbServer& server() {
    static MariadbServer one;
    return one;
}

class Tables {
public:
    std::shared_ptr<Store> make() {
        const std::string table = "case_" + std::to_string(++made_);
        auto store = nebis::mysql::store(server().options(), table);
        tables_[store.get()] = table;
        store->verify(std::chrono::steady_clock::now() + std::chrono::seconds(20)).value();
        return store;
    }
    std::shared_ptr<Store> another(const std::shared_ptr<Store>& store) {
        return nebis::mysql::store(server().options(), tables_.at(store.get()));
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
    return nebis::conformance::register_store("mysql", std::move(fixture));
}

const bool registered = register_all();

}  // namespace
