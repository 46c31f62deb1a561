// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

// What the server says when it refuses a statement, raised by a trigger of somebody else's: where each ends, and that
// the rows beside it, the connection and the next try are none the worse.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::ForeignMysql;
using nebis::test::in;
using nebis::test::MariadbServer;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

const Response made{201, {}, "made", false};

MariadbServer& server() {
    static MariadbServer one;
    return one;
}

/// Every write of the key `bad` does that first.
class Trigger {
public:
    Trigger(const Table& table, const std::string& body) : table_(table.name()), session_(server().address()) {
        for (const std::string when : {"INSERT", "UPDATE"})
            session_.run("CREATE TRIGGER refuses_" + when + "_" + table_ + " BEFORE " + when + " ON " + table_ +
                         " FOR EACH ROW IF NEW.trace_id = 'bad' THEN " + body + " END IF");
    }
    void drop() {
        for (const std::string when : {"INSERT", "UPDATE"}) session_.run("DROP TRIGGER refuses_" + when + "_" + table_);
    }

private:
    std::string table_;
    ForeignMysql session_;
};

struct Refusal {
    unsigned number;
    ErrorKind kind;
    const char* code;
    bool one_row;  ///< the others of its batch go on
};

class MysqlRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(MysqlRefusals, fault_28_of_a_begin_or_finish_is_sorted_applies_nothing_and_passes) {
    const Refusal& refusal = GetParam();
    const Table table(server().options());
    Trigger trigger(table, "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = " + std::to_string(refusal.number) + ";");
    const auto lock_fault = std::string_view(refusal.code) == "mysql-lock-timeout" ||
                            std::string_view(refusal.code) == "mysql-deadlock" ||
                            std::string_view(refusal.code) == "mysql-serialization";
    const auto out = table.begin({begin_of("bad"), begin_of("good")});
    if (lock_fault) {
        ASSERT_TRUE(out[0]) << "somebody has it: alive";
        EXPECT_EQ(out[0]->kind, Kind::in_progress);
    } else {
        ASSERT_FALSE(out[0]);
        EXPECT_EQ(out[0].error().kind(), refusal.kind);
        EXPECT_EQ(out[0].error().code(), refusal.code);
    }
    if (refusal.one_row)
        EXPECT_TRUE(out[1] && out[1]->kind == Kind::acquired);
    else
        EXPECT_FALSE(out[1]) << "one transaction: none of it";
    EXPECT_FALSE(table.find("bad")->record) << "nothing was applied";

    trigger.drop();
    const auto again = table.begin("bad");
    ASSERT_TRUE(again && again->kind == Kind::acquired) << "the next try, on the same session";
    Trigger back(table, "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = " + std::to_string(refusal.number) + ";");
    const auto finished = table.finish(finish_of("bad", again->version, made));
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().kind(), refusal.kind);
    EXPECT_EQ(finished.error().code(), refusal.code);
    EXPECT_EQ(table.find("bad")->record->status, RecordStatus::processing);
    back.drop();
    EXPECT_TRUE(table.finish(finish_of("bad", again->version, made)).value().applied);
}

INSTANTIATE_TEST_SUITE_P(States, MysqlRefusals,
                         testing::Values(Refusal{1020, ErrorKind::overloaded, "mysql-serialization", true},
                                         Refusal{1213, ErrorKind::overloaded, "mysql-deadlock", true},
                                         Refusal{1205, ErrorKind::overloaded, "mysql-lock-timeout", true},
                                         Refusal{1406, ErrorKind::rejected_input, "mysql-data", true},
                                         Refusal{1118, ErrorKind::rejected_input, "mysql-toobig", true},
                                         Refusal{1644, ErrorKind::misconfigured, "mysql-constraint", true},
                                         Refusal{1969, ErrorKind::unavailable, "mysql-statement-timeout", false},
                                         Refusal{1317, ErrorKind::unavailable, "mysql-killed", false},
                                         Refusal{1114, ErrorKind::unavailable, "mysql-full", false},
                                         Refusal{1206, ErrorKind::overloaded, "mysql-resources", false},
                                         Refusal{1030, ErrorKind::unavailable, "mysql-io", false},
                                         Refusal{1142, ErrorKind::misconfigured, "mysql-permission", false},
                                         Refusal{1194, ErrorKind::corrupt, "mysql-corrupt", false}),
                         [](const auto& about) { return std::to_string(about.param.number); });

TEST(MysqlRefusal, fault_28_a_statement_that_takes_too_long_is_ended_by_the_server_and_applies_nothing) {
    auto options = server().options();
    options.statement_timeout = seconds(1);
    const Table table(options);
    Trigger trigger(table, "DO SLEEP(60);");
    const auto started = std::chrono::steady_clock::now();
    const auto out = table.begin(std::vector{begin_of("bad")}, in(seconds(19)))[0];
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(20));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code(), "mysql-statement-timeout");
    EXPECT_EQ(out.error().kind(), ErrorKind::unavailable) << "its end is known";
    trigger.drop();
    EXPECT_TRUE(table.begin("bad").has_value());
}

TEST(MysqlRefusal, fault_28_a_session_that_is_killed_in_the_middle_is_maybe_applied_and_the_next_call_goes_on) {
    const Table table(server().options());
    Trigger trigger(table, "KILL CONNECTION_ID(); DO SLEEP(60);");
    const auto out = table.begin(std::vector{begin_of("bad"), begin_of("good")});
    for (const auto& one : out) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::maybe_applied) << one.error().text();
    }
    trigger.drop();
    for (const auto* key : {"bad", "good"}) {
        EXPECT_FALSE(table.find(key)->record);
        EXPECT_TRUE(table.begin(key).has_value());
    }
}

}  // namespace
