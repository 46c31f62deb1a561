// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"
#include "support/atomic_race.hpp"

// Sixteen clients of two engines on a real PostgreSQL, with both claims.
namespace {

using namespace nebis;
using namespace nebis::test;

class PostgresAtomicRace : public testing::TestWithParam<Claim> {
protected:
    PostgresAtomicRace() { ForeignSession(server_.address()).run("CREATE TABLE orders (id text, answer text)"); }

    RaceDatabase database() {
        RaceDatabase made;
        made.store = [this] { return postgres::store(server_.options()); };
        made.runner = [this] { return postgres::runner(postgres::Database(server_.options())); };
        made.place = [](void* tx, const std::string& id, const std::string& answer) {
            const auto state = sql_state(tx, "INSERT INTO orders VALUES ('" + id + "','" + answer + "')");
            if (!state.empty()) throw std::runtime_error(state);
        };
        made.orders = [this] {
            return when_up([&] {
                const ForeignSession session(server_.address());
                PGresult* const rows = PQexec(session.get(), "SELECT id, answer FROM orders");
                std::vector<std::pair<std::string, std::string>> all;
                for (int i = 0; i < PQntuples(rows); ++i)
                    all.emplace_back(PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1));
                PQclear(rows);
                return all;
            });
        };
        return made;
    }

    PostgresServer server_;
};

TEST_P(PostgresAtomicRace, one_effect_and_one_answer_for_each_key_also_after_a_restart) {
    AtomicRace race(database(), GetParam());
    race.run([](const auto&) {});
    race.expect_one_effect_and_one_answer_each();
    server_.kill();
    server_.start();
    race.expect_replays();
}

TEST_P(PostgresAtomicRace, the_same_while_the_server_is_killed_and_restarted) {
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

INSTANTIATE_TEST_SUITE_P(Both, PostgresAtomicRace, testing::Values(Claim::before, Claim::inside),
                         [](const auto& chosen) { return chosen.param == Claim::inside ? "inside" : "before"; });

}  // namespace
