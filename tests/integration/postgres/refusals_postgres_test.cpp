// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

// What the server says when it refuses a statement, raised by a trigger of somebody else's: where each ends, and that
// the rows beside it, the connection and the next try are none the worse.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::ForeignSession;
using nebis::test::in;
using nebis::test::PostgresServer;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

const Response made{201, {}, "made", false};

PostgresServer& server() {
    static PostgresServer one;
    return one;
}

/// Every write of the key `bad` does that first.
class Trigger {
public:
    Trigger(const Table& table, const std::string& body) : table_(table.name()), session_(server().address()) {
        session_.run("CREATE OR REPLACE FUNCTION does_" + table_ +
                     "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.trace_id = "
                     "'bad' THEN " +
                     body + " END IF; RETURN NEW; END $$");
        session_.run("CREATE TRIGGER refuses BEFORE INSERT OR UPDATE ON " + table_ +
                     " FOR EACH ROW EXECUTE FUNCTION does_" + table_ + "()");
    }
    void drop() { session_.run("DROP TRIGGER refuses ON " + table_); }

private:
    std::string table_;
    ForeignSession session_;
};

struct Refusal {
    const char* state;
    ErrorKind kind;
    const char* code;
    bool one_row;  ///< the others of its batch go on
};

class PostgresRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(PostgresRefusals, fault_28_of_a_begin_or_finish_is_sorted_applies_nothing_and_passes) {
    const Refusal& refusal = GetParam();
    const Table table(server().options());
    Trigger trigger(table, std::string("RAISE EXCEPTION 'no' USING ERRCODE = '") + refusal.state + "';");
    const auto lock_fault = std::string_view(refusal.code) == "postgres-lock-timeout" ||
                            std::string_view(refusal.code) == "postgres-deadlock" ||
                            std::string_view(refusal.code) == "postgres-serialization";
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
    Trigger back(table, std::string("RAISE EXCEPTION 'no' USING ERRCODE = '") + refusal.state + "';");
    const auto finished = table.finish(finish_of("bad", again->version, made));
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().kind(), refusal.kind);
    EXPECT_EQ(finished.error().code(), refusal.code);
    EXPECT_EQ(table.find("bad")->record->status, RecordStatus::processing);
    back.drop();
    EXPECT_TRUE(table.finish(finish_of("bad", again->version, made)).value().applied);
}

INSTANTIATE_TEST_SUITE_P(States, PostgresRefusals,
                         testing::Values(Refusal{"40001", ErrorKind::overloaded, "postgres-serialization", true},
                                         Refusal{"40P01", ErrorKind::overloaded, "postgres-deadlock", true},
                                         Refusal{"55P03", ErrorKind::overloaded, "postgres-lock-timeout", true},
                                         Refusal{"22001", ErrorKind::rejected_input, "postgres-data", true},
                                         Refusal{"54000", ErrorKind::rejected_input, "postgres-toobig", true},
                                         Refusal{"23514", ErrorKind::misconfigured, "postgres-constraint", true},
                                         Refusal{"57014", ErrorKind::unavailable, "postgres-statement-timeout", false},
                                         Refusal{"53100", ErrorKind::unavailable, "postgres-full", false},
                                         Refusal{"53200", ErrorKind::overloaded, "postgres-resources", false},
                                         Refusal{"58030", ErrorKind::unavailable, "postgres-io", false},
                                         Refusal{"42501", ErrorKind::misconfigured, "postgres-permission", false},
                                         Refusal{"XX001", ErrorKind::corrupt, "postgres-corrupt", false}),
                         [](const auto& about) { return std::string(about.param.state); });

TEST(PostgresRefusal, fault_28_a_statement_that_takes_too_long_is_ended_by_the_server_and_applies_nothing) {
    const Table table(server().options());
    Trigger trigger(table, "PERFORM pg_sleep(60);");
    const auto started = std::chrono::steady_clock::now();
    const auto out = table.begin(std::vector{begin_of("bad")}, in(seconds(1)))[0];
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(20));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code(), "postgres-statement-timeout");
    EXPECT_EQ(out.error().kind(), ErrorKind::unavailable) << "its end is known";
    trigger.drop();
    EXPECT_TRUE(table.begin("bad").has_value());
}

TEST(PostgresRefusal, fault_28_a_backend_that_is_ended_in_the_middle_is_maybe_applied_and_the_session_goes_on) {
    const Table table(server().options());
    Trigger trigger(table, "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60);");
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
