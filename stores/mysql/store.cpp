// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "mysql_store.hpp"
#include "schema.hpp"
#include "session.hpp"

namespace nebis::mysql {

StoreTraits MysqlStore::traits() const noexcept {
    StoreTraits traits;
    traits.one_commit_for_begin_and_finish = true;
    return traits;
}

Result<void> MysqlStore::verify(Deadline deadline) {
    auto connection = ready(deadline);
    if (!connection) return std::move(connection).error();
    if (auto fits = verify_schema(**connection, options_, table_, deadline); !fits)
        return surely_not_applied(std::move(fits).error());
    return {};
}

Result<void> MysqlStore::create_schema(Deadline deadline) {
    auto connection = connect(deadline);
    if (!connection) return std::move(connection).error();
    return mysql::create_schema(**connection, table_, deadline);
}

Result<std::unique_ptr<StoreSession>> MysqlStore::open(Deadline deadline) {
    auto connection = ready(deadline);
    if (!connection) return std::move(connection).error();
    // Whoever opens without having verified learns of a missing table here, not at his first request.
    Script script;
    script.open("SELECT 1 FROM `").sql(table_).sql("`,idempotent_meta,idempotent_key_rule LIMIT 0").close();
    if (auto there = (*connection)->run(script, deadline); !there) return surely_not_applied(std::move(there).error());
    return std::unique_ptr<StoreSession>(std::make_unique<Session>(options_, table_, *std::move(connection)));
}

Result<std::unique_ptr<Connection>> MysqlStore::connect(Deadline deadline) const {
    if (!good_table_name(table_)) return bad_table_name();
    return Connection::open(options_, deadline);
}

Result<std::unique_ptr<Connection>> MysqlStore::ready(Deadline deadline) {
    auto connection = connect(deadline);
    if (!connection || !options_.create_schema || schema_made_.load()) return connection;
    if (auto made = mysql::create_schema(**connection, table_, deadline); !made) return std::move(made).error();
    schema_made_ = true;
    return connection;
}

std::shared_ptr<Store> store(Options options, std::string table) {
    return std::make_shared<MysqlStore>(std::move(options), std::move(table));
}

}  // namespace nebis::mysql
