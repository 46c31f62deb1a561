// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness.hpp"
#include "nebis/sqlite.hpp"
#include "sqlite_floor.hpp"
#include "workload.hpp"

#include <memory>
#include <string>

namespace nebis::bench {

/// A new SQLite file with an engine on it, as a user gets it: `synchronous=FULL`, all settings at their defaults.
class SqliteOurs {
public:
    explicit SqliteOurs(const Context& context, Policy policy = order_policy(), const std::string& configuration = {})
        : folder_(context.folder()),
          database(sqlite::Options{.path = folder_.file("ours.db"), .create_schema = true}),
          engine(open_engine(sqlite::store(database), configuration)),
          operation(engine.operation(policy).value()) {}

private:
    Folder folder_;

public:
    sqlite::Database database;
    Engine engine;
    Operation operation;
};

/// A new SQLite file for the floor, whose rows are as wide as ours.
class SqliteFloorFile {
public:
    explicit SqliteFloorFile(const Context& context);

private:
    Folder folder_;

public:
    SqliteFloor floor;
};

}  // namespace nebis::bench
