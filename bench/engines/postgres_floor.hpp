// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/connection.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nebis::bench {

/// What a batch costs at PostgreSQL, without Nebis: the statements of `stores/postgres` on the table of its
/// `schema.sql`, prepared on one connection with the same settings, every column as wide as the product's. No conflict
/// is looked for, no outcome is made of the rows, there is no queue and no thread but the caller's.
class PostgresFloor {
public:
    explicit PostgresFloor(const postgres::Options& options);

    /// One round trip and one commit each.
    void insert(std::span<const std::string> keys);
    void update(std::span<const std::string> keys);

private:
    std::unique_ptr<postgres::Connection> connection_;
    std::vector<std::int64_t> versions_;  ///< of the rows inserted last
    std::string trace_prefix_;
    std::string response_;
};

}  // namespace nebis::bench
