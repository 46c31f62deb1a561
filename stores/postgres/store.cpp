// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "postgres_store.hpp"
#include "schema.hpp"
#include "session.hpp"

namespace nebis::postgres {

StoreTraits PostgresStore::traits() const noexcept {
    StoreTraits traits;
    traits.one_commit_for_begin_and_finish = true;
    return traits;
}

Result<void> PostgresStore::verify(Deadline deadline) {
    auto connection = ready(deadline);
    if (!connection) return std::move(connection).error();
    if (auto fits = verify_schema(**connection, table_, deadline); !fits)
        return surely_not_applied(std::move(fits).error());
    // That every statement can be prepared shows that each column and each type fits.
    return (*connection)->prepare(table_, deadline);
}

Result<void> PostgresStore::create_schema(Deadline deadline) {
    auto connection = connect(deadline);
    if (!connection) return std::move(connection).error();
    return postgres::create_schema(**connection, table_, deadline);
}

Result<std::unique_ptr<StoreSession>> PostgresStore::open(Deadline deadline) {
    auto connection = ready(deadline);
    if (!connection) return std::move(connection).error();
    if (auto prepared = (*connection)->prepare(table_, deadline); !prepared) return std::move(prepared).error();
    return std::unique_ptr<StoreSession>(std::make_unique<Session>(options_, table_, *std::move(connection)));
}

Result<std::unique_ptr<Connection>> PostgresStore::connect(Deadline deadline) const {
    if (!good_table_name(table_)) return bad_table_name();
    return Connection::open(options_, deadline);
}

Result<std::unique_ptr<Connection>> PostgresStore::ready(Deadline deadline) {
    auto connection = connect(deadline);
    if (!connection || !options_.create_schema || schema_made_.load()) return connection;
    if (auto made = postgres::create_schema(**connection, table_, deadline); !made) return std::move(made).error();
    schema_made_ = true;
    return connection;
}

std::shared_ptr<Store> store(Options options, std::string table) {
    return std::make_shared<PostgresStore>(std::move(options), std::move(table));
}

}  // namespace nebis::postgres
