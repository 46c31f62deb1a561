// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <thread>

// Finishes and begins in one commit.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::ForeignMysql;
using nebis::test::MariadbServer;
using nebis::test::soon;
using nebis::test::Table;
using Kind = BeginOutcome::Kind;

MariadbServer& server() {
    static MariadbServer one;
    return one;
}

const Response made{201, {}, "made", false};

struct Written {
    std::vector<Result<FinishOutcome>> finished;
    std::vector<Result<BeginOutcome>> begun;
};

Written write(StoreSession& session, const std::vector<FinishRequest>& finishes,
              const std::vector<BeginRequest>& begins, Deadline deadline = soon()) {
    Written out{std::vector<Result<FinishOutcome>>(finishes.size(), Result<FinishOutcome>(FinishOutcome{})),
                std::vector<Result<BeginOutcome>>(begins.size(), Result<BeginOutcome>(BeginOutcome{}))};
    session.write(finishes, out.finished, begins, out.begun, deadline);
    return out;
}

TEST(MysqlWrites, finishes_and_begins_share_one_commit) {
    const Table table(server().options());
    const auto first = table.begin("a");
    ASSERT_TRUE(first);
    ForeignMysql foreign(server().address());
    const auto commits = [&] {
        return std::stol(
            foreign.run("SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
                        "'COM_COMMIT'"));
    };
    const long before = commits();
    const auto out = write(table.session(), {finish_of("a", first->version, made)}, {begin_of("b")});
    ASSERT_TRUE(out.finished[0] && out.finished[0]->applied);
    ASSERT_TRUE(out.begun[0] && out.begun[0]->kind == Kind::acquired);
    EXPECT_EQ(commits(), before + 1);
}

TEST(MysqlWrites, a_begin_that_cannot_be_written_harms_no_finish_and_the_other_way_round) {
    const Table table(server().options());
    const auto one = table.begin("a"), two = table.begin("b");
    ASSERT_TRUE(one && two);
    ForeignMysql foreign(server().address());
    foreign.run("ALTER TABLE " + table.name() + " ADD CHECK (instance <> 'bad'), ADD CHECK (outcome_ref <> 'bad')");
    auto bad_begin = begin_of("c");
    bad_begin.instance = "bad";
    const auto out = write(table.session(), {finish_of("a", one->version, made)}, {bad_begin, begin_of("d")});
    EXPECT_TRUE(out.finished[0] && out.finished[0]->applied);
    EXPECT_FALSE(out.begun[0]);
    EXPECT_TRUE(out.begun[1] && out.begun[1]->kind == Kind::acquired);

    auto bad_finish = finish_of("b", two->version, made);
    bad_finish.outcome_ref = "bad";
    const auto other = write(table.session(), {bad_finish}, {begin_of("e")});
    EXPECT_FALSE(other.finished[0]);
    EXPECT_TRUE(other.begun[0] && other.begun[0]->kind == Kind::acquired);
}

// Each round's batch finishes the keys of the last one and begins new ones and the other's: the rows that two
// transactions want cross each other in every way, which would deadlock if either ever waited while it holds some.
TEST(MysqlWrites, batches_of_two_instances_that_cross_never_deadlock_and_each_key_has_one_owner) {
    constexpr int rounds = 150, batch = 24;
    const Table first(server().options()), second(server().options(), first.name());
    std::atomic<int> errors{0}, doubled{0};
    std::vector<std::atomic<int>> owners(rounds * batch);
    const auto run = [&](const Table& table, std::uint64_t owner) {
        std::vector<std::string> held;
        std::vector<FinishRequest> finishes;
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::string> keys;
            for (int i = 0; i < batch; ++i) {
                const std::string number = std::to_string(round * batch + i);
                keys.push_back(std::string(6 - number.size(), '0') + number);
            }
            std::vector<BeginRequest> begins;
            for (const auto& key : keys) begins.push_back(begin_of(key, owner));
            const auto out = write(table.session(), finishes, begins);
            for (const auto& one : out.finished)
                if (!one || !one->applied) ++errors;
            held.clear();
            std::vector<std::uint64_t> versions;
            for (std::size_t i = 0; i < begins.size(); ++i) {
                if (!out.begun[i]) ++errors;
                if (!out.begun[i] || out.begun[i]->kind != Kind::acquired) continue;
                if (++owners[static_cast<std::size_t>(round * batch) + i] > 1) ++doubled;
                held.push_back(keys[i]);
                versions.push_back(out.begun[i]->version);
            }
            finishes.clear();
            for (std::size_t i = 0; i < held.size(); ++i)
                finishes.push_back(finish_of(held[i], versions[i], made, owner));
        }
    };
    {
        std::jthread one([&] { run(first, 1); });
        std::jthread other([&] { run(second, 2); });
    }
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(doubled, 0);
    for (const auto& one : owners) EXPECT_EQ(one, 1);
    EXPECT_EQ(ForeignMysql(server().address())
                  .run("SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
                       "'INNODB_DEADLOCKS'"),
              "0");
}

}  // namespace
