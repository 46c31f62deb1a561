// SPDX-License-Identifier: Apache-2.0
#include "support/postgres_server.hpp"
#include "support/resealing_cases.hpp"

namespace nebis::test {
namespace {

OpenStore new_table() {
    static PostgresServer server;
    static int made = 0;
    const std::string table = "sealed_" + std::to_string(++made);
    postgres::store(server.options(), table)
        ->create_schema(std::chrono::steady_clock::now() + std::chrono::seconds(20))
        .value();
    return [table] { return postgres::store(server.options(), table); };
}

INSTANTIATE_TEST_SUITE_P(Postgres, Sealed, ::testing::Values(NewTable(new_table)),
                         [](const auto&) { return "postgres"; });
INSTANTIATE_TEST_SUITE_P(Postgres, Resealing, ::testing::Values(NewTable(new_table)),
                         [](const auto&) { return "postgres"; });

}  // namespace
}  // namespace nebis::test
