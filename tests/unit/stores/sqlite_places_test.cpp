// SPDX-License-Identifier: Apache-2.0
#include "sqlite_bench.hpp"

#include <string>
#include <vector>

// A connection remembers where it put a row, to finish it there. Whatever happens to the row meanwhile, that is a
// guess.
namespace {

using namespace nebis;
using namespace nebis::test;

class SqlitePlaces : public SqliteTest {};

TEST_F(SqlitePlaces, rows_that_changed_places_are_finished_each_with_its_own_answer) {
    const std::uint64_t a = acquire("a", owner(1));
    const std::uint64_t b = acquire("b", owner(2));
    Sql sql(path());
    sql.run(
        "UPDATE idempotent_record SET rowid = 1000 WHERE trace_id = x'61';"
        "UPDATE idempotent_record SET rowid = 1 WHERE trace_id = x'62';"
        "UPDATE idempotent_record SET rowid = 2 WHERE trace_id = x'61'");
    const Response of_a{200, {}, "a's", false};
    const Response of_b{201, {}, "b's", false};
    EXPECT_TRUE(finish(*session_, "a", a, owner(1), RecordStatus::success, &of_a)->applied);
    EXPECT_EQ(row("b").status, RecordStatus::processing);
    EXPECT_TRUE(finish(*session_, "b", b, owner(2), RecordStatus::success, &of_b)->applied);
    EXPECT_EQ(*row("a").response, of_a);
    EXPECT_EQ(*row("b").response, of_b);
}

TEST_F(SqlitePlaces, row_that_another_one_has_replaced_is_not_touched) {
    const std::uint64_t a = acquire("a", owner(1));
    Sql(path()).run("DELETE FROM idempotent_record");
    acquire("b", owner(2));  // lies where a lay
    EXPECT_FALSE(finish(*session_, "a", a, owner(1))->applied);
    EXPECT_EQ(row("b").status, RecordStatus::processing);
    EXPECT_FALSE(there("a"));
}

TEST_F(SqlitePlaces, row_of_the_same_key_begun_anew_is_not_touched) {
    const std::uint64_t first = acquire("a", owner(1));
    Sql(path()).run("DELETE FROM idempotent_record");
    const std::uint64_t second = acquire("a", owner(2));
    EXPECT_FALSE(finish(*session_, "a", first, owner(1))->applied);
    EXPECT_EQ(row("a").status, RecordStatus::processing);
    EXPECT_TRUE(finish(*session_, "a", second, owner(2))->applied);
}

TEST_F(SqlitePlaces, begin_that_was_rolled_back_leaves_nothing_to_finish) {
    Sql(path()).run(
        "CREATE TRIGGER stop BEFORE INSERT ON idempotent_record WHEN new.trace_id = x'62'"
        " BEGIN SELECT raise(ROLLBACK, 'no'); END");
    const std::vector<BeginRequest> in{begin_request("a", owner(1)), begin_request("b", owner(2))};
    std::vector<Result<BeginOutcome>> out(2, Error(ErrorKind::internal, "not set"));
    session_->begin(in, out, soon());
    EXPECT_FALSE(out[0]);
    EXPECT_FALSE(out[1]);
    EXPECT_FALSE(finish(*session_, "a", 1, owner(1))->applied);
    EXPECT_FALSE(there("a"));
}

TEST_F(SqlitePlaces, more_rows_in_flight_than_places_remembered) {
    constexpr unsigned many = 2'500;
    std::vector<std::uint64_t> versions;
    for (unsigned i = 0; i < many; ++i) versions.push_back(acquire("k" + std::to_string(i), owner(i)));
    for (unsigned i = 0; i < many; ++i) {
        const Response answer{200, {}, std::to_string(i), false};
        ASSERT_TRUE(
            finish(*session_, "k" + std::to_string(i), versions[i], owner(i), RecordStatus::success, &answer)->applied);
    }
    for (unsigned i = 0; i < many; i += 97) EXPECT_EQ(row("k" + std::to_string(i)).response->body, std::to_string(i));
}

}  // namespace
