// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

namespace nebis::bench {

std::span<const Case> cases() {
    static constexpr Case all[] = {
        {"redis-postgres-fresh", "fresh requests, Redis and PostgreSQL with durable commits, 64 in flight",
         redis_postgres_fresh},
        {"redis-postgres-lone", "one fresh request at a time, Redis and PostgreSQL", redis_postgres_lone},
        {"redis-duplicates", "finished duplicates answered from Redis, 128 in flight", redis_duplicates},
        {"postgres-claims", "`atomic` with one business insert, 8 connections to PostgreSQL", postgres_claims},
        {"mariadb-claims", "the same with MariaDB", mariadb_claims},
    };
    return all;
}

}  // namespace nebis::bench
