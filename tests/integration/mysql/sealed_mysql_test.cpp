// SPDX-License-Identifier: Apache-2.0
#include "support/mariadb_server.hpp"
#include "support/resealing_cases.hpp"

namespace nebis::test {
namespace {

OpenStore new_table() {
    static MariadbServer server;
    static int made = 0;
    const std::string table = "sealed_" + std::to_string(++made);
    mysql::store(server.options(), table)
        ->create_schema(std::chrono::steady_clock::now() + std::chrono::seconds(20))
        .value();
    return [table] { return mysql::store(server.options(), table); };
}

INSTANTIATE_TEST_SUITE_P(Mariadb, Sealed, ::testing::Values(NewTable(new_table)), [](const auto&) { return "mysql"; });
INSTANTIATE_TEST_SUITE_P(Mariadb, Resealing, ::testing::Values(NewTable(new_table)),
                         [](const auto&) { return "mysql"; });

}  // namespace
}  // namespace nebis::test
