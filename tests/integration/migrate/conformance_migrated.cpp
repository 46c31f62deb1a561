// SPDX-License-Identifier: Apache-2.0
#include "article.hpp"
#include "nebis/conformance.hpp"
#include "nebis/migrate.hpp"
#include "nebis/starter.hpp"
#include "support/postgres_server.hpp"

#include <map>

// The store's contract on tables that somebody made by hand, with rows in them, and `up` took over.
namespace {

using namespace nebis;
using namespace nebis::test;

PostgresServer& server() {
    static PostgresServer one;
    return one;
}

postgres::Options options() {
    auto options = server().options();
    options.create_schema = false;
    return options;
}

class Tables {
public:
    std::shared_ptr<Store> make() {
        const std::string table = "hand_made_" + std::to_string(++made_);
        ForeignSession foreign(server().address());
        foreign.run(article_table(table));
        foreign.run(article_rows(table));
        const DriverSettings settings{"primary", table, {{"address", server().address()}, {"username", "app"}}};
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        standard_drivers().migrations.at("postgres")(settings).value()->up({}, until).value();
        // The suite counts what it recovers and cleans; these rows have shown that `up` bears them.
        foreign.run("DELETE FROM " + table);
        auto store = postgres::store(options(), table);
        tables_[store.get()] = table;
        store->verify(until).value();
        return store;
    }
    std::shared_ptr<Store> another(const std::shared_ptr<Store>& store) {
        return postgres::store(options(), tables_.at(store.get()));
    }

private:
    std::map<Store*, std::string> tables_;
    int made_ = 0;
};

bool register_all() {
    const auto tables = std::make_shared<Tables>();
    conformance::StoreFixture fixture;
    fixture.make = [tables] { return tables->make(); };
    fixture.another = [tables](const std::shared_ptr<Store>& store) { return tables->another(store); };
    return conformance::register_store("postgres_migrated", std::move(fixture));
}

const bool registered = register_all();

}  // namespace
