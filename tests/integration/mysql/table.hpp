// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/mysql.hpp"
#include "support/mariadb_server.hpp"
#include "support/record_table.hpp"

namespace nebis::test {

/// One session of a table of its own.
class Table : public RecordTable {
public:
    explicit Table(const mysql::Options& options, const std::string& name = fresh_name())
        : RecordTable(mysql::store(options, name), name) {}
};

}  // namespace nebis::test
