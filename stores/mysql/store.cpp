// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "schema.hpp"
#include "session.hpp"

#include <atomic>

namespace nebis::mysql {
namespace {

class MysqlStore final : public Store {
public:
    MysqlStore(Options options, std::string table) : options_(std::move(options)), table_(std::move(table)) {}

    std::string_view name() const noexcept override { return "mysql"; }

    StoreTraits traits() const noexcept override {
        StoreTraits traits;
        traits.one_commit_for_begin_and_finish = true;
        return traits;
    }

    Result<void> verify(Deadline deadline) override {
        auto connection = ready(deadline);
        if (!connection) return std::move(connection).error();
        if (auto fits = verify_schema(**connection, options_, table_, deadline); !fits)
            return surely_not_applied(std::move(fits).error());
        return {};
    }

    Result<void> create_schema(Deadline deadline) override {
        auto connection = connect(deadline);
        if (!connection) return std::move(connection).error();
        return mysql::create_schema(**connection, table_, deadline);
    }

    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override {
        auto connection = ready(deadline);
        if (!connection) return std::move(connection).error();
        // Whoever opens without having verified learns of a missing table here, not at his first request.
        Script script;
        script.open("SELECT 1 FROM `").sql(table_).sql("`,idempotent_meta,idempotent_key_rule LIMIT 0").close();
        if (auto there = (*connection)->run(script, deadline); !there)
            return surely_not_applied(std::move(there).error());
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(options_, table_, *std::move(connection)));
    }

private:
    Result<std::unique_ptr<Connection>> connect(Deadline deadline) const {
        if (!good_table_name(table_)) return bad_table_name();
        return Connection::open(options_, deadline);
    }
    /// With the schema made if that was asked for and not done yet.
    Result<std::unique_ptr<Connection>> ready(Deadline deadline) {
        auto connection = connect(deadline);
        if (!connection || !options_.create_schema || schema_made_.load()) return connection;
        if (auto made = mysql::create_schema(**connection, table_, deadline); !made) return std::move(made).error();
        schema_made_ = true;
        return connection;
    }

    Options options_;
    std::string table_;
    std::atomic<bool> schema_made_{false};
};

}  // namespace

std::shared_ptr<Store> store(Options options, std::string table) {
    return std::make_shared<MysqlStore>(std::move(options), std::move(table));
}

}  // namespace nebis::mysql
