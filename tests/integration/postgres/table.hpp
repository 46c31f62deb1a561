// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/postgres.hpp"
#include "support/postgres_server.hpp"
#include "support/record_table.hpp"

namespace nebis::test {

/// One session of a table of its own.
class Table : public RecordTable {
public:
    explicit Table(const postgres::Options& options, const std::string& name = fresh_name())
        : RecordTable(postgres::store(options, name), name) {}
};

}  // namespace nebis::test
