// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"
#include "support/atomic_race.hpp"

// Sixteen clients of two engines on a real MariaDB, with both claims.
namespace {

using namespace nebis;
using namespace nebis::test;

class MysqlAtomicRace : public testing::TestWithParam<Claim> {
protected:
    MysqlAtomicRace() {
        ForeignMysql(server_.address()).run("CREATE TABLE orders (id VARCHAR(50), answer VARCHAR(100))");
    }

    RaceDatabase database() {
        RaceDatabase made;
        made.store = [this] { return mysql::store(server_.options()); };
        made.runner = [this] { return mysql::runner(mysql::Database(server_.options())); };
        made.place = [](void* tx, const std::string& id, const std::string& answer) {
            const auto number = sql_error(tx, "INSERT INTO orders VALUES ('" + id + "','" + answer + "')");
            if (number != 0) throw std::runtime_error(std::to_string(number));
        };
        made.orders = [this] {
            return when_up([&] {
                const ForeignMysql session(server_.address());
                if (mysql_query(session.get(), "SELECT id, answer FROM orders") != 0)
                    throw std::runtime_error(mysql_error(session.get()));
                MYSQL_RES* const rows = mysql_store_result(session.get());
                std::vector<std::pair<std::string, std::string>> all;
                while (MYSQL_ROW row = mysql_fetch_row(rows)) all.emplace_back(row[0], row[1]);
                mysql_free_result(rows);
                return all;
            });
        };
        return made;
    }

    MariadbServer server_{"mariadb", false};
};

TEST_P(MysqlAtomicRace, one_effect_and_one_answer_for_each_key_also_after_a_restart) {
    AtomicRace race(database(), GetParam());
    race.run([](const auto&) {});
    race.expect_one_effect_and_one_answer_each();
    server_.kill();
    server_.start();
    race.expect_replays();
}

TEST_P(MysqlAtomicRace, the_same_while_the_server_is_killed_and_restarted) {
    AtomicRace race(database(), GetParam());
    race.run([&](const std::atomic<std::size_t>& answers) {
        for (const std::size_t so_far : {20, 60, 120}) {
            eventually([&] { return answers >= so_far; });
            server_.kill();
            server_.start();
        }
    });
    race.expect_one_effect_and_one_answer_each();
    race.expect_replays();
}

INSTANTIATE_TEST_SUITE_P(Both, MysqlAtomicRace, testing::Values(Claim::before, Claim::inside),
                         [](const auto& chosen) { return chosen.param == Claim::inside ? "inside" : "before"; });

}  // namespace
