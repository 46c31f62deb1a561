// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"
#include "faultproxy/fault_proxy.hpp"
#include "nebis/nebis.hpp"

#include <future>

// The rules of every `atomic` transaction on a real PostgreSQL, one by one.
namespace {

using namespace nebis;
using namespace nebis::test;
using faultproxy::After;
using faultproxy::FaultProxy;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = AtomicReport::Kind;

/// One server for every test that leaves it as it was.
PostgresServer& server() {
    static PostgresServer one;
    return one;
}

// ---- claim before

TEST(PostgresAtomic, S46_effect_and_record_commit_together) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) {
        const Response response = bench.place(tx);
        EXPECT_EQ(bench.count(), 0) << "nobody sees it before the commit";
        EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::committed) << (report.error ? report.error->text() : "");
    EXPECT_EQ(report.status, RecordStatus::success);
    EXPECT_EQ(bench.count(), 1);
    EXPECT_EQ(bench.row("k").status, RecordStatus::success);
    EXPECT_EQ(bench.row("k").response->body, "o1");
    EXPECT_EQ(bench.table().begin("k", 2)->kind, BeginOutcome::Kind::finished) << "a duplicate replays";
}

TEST(PostgresAtomic, fenced_off_attempt_does_not_run) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    bool ran = false;
    const auto body = [&](void* tx) { return ran = true, bench.place(tx); };
    EXPECT_EQ(bench.run(bench.before("k", version + 1), body).kind, Kind::fenced_off);
    EXPECT_EQ(bench.run(bench.before("k", version, 2), body).kind, Kind::fenced_off);
    EXPECT_EQ(bench.run(bench.before("other", version), body).kind, Kind::fenced_off);
    EXPECT_FALSE(ran);
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, thrown_failure_rolls_back_and_is_handed_on) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) -> Response {
        bench.place(tx);
        throw NotExecuted("no stock");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    ASSERT_TRUE(report.failure);
    EXPECT_THROW(std::rethrow_exception(report.failure), NotExecuted);
    EXPECT_EQ(bench.count(), 0);
    EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
    EXPECT_EQ(bench.run(bench.before("k", version), bench.placing()).kind, Kind::committed) << "nothing is left open";
}

TEST(PostgresAtomic, refusal_rolls_the_business_back_and_keeps_the_record_even_after_an_SQL_error) {
    const AtomicBench bench(server());
    for (const bool with_error : {false, true}) {
        const std::string key = with_error ? "b" : "a";
        const auto version = bench.acquire(key);
        const auto report = bench.run(bench.before(key, version), [&](void* tx) -> Response {
            bench.place(tx);
            if (with_error) {
                EXPECT_EQ(sql_state(tx, bench.insert("o1")), "23505");
            }
            throw Rejected("insufficient balance", 402);
        });
        EXPECT_EQ(report.kind, Kind::committed);
        EXPECT_EQ(report.status, RecordStatus::rejected);
        EXPECT_EQ(bench.count(), 0);
        EXPECT_EQ(bench.row(key).status, RecordStatus::rejected);
        EXPECT_EQ(bench.row(key).response->body, "insufficient balance");
    }
}

TEST(PostgresAtomic, S53_large_answer_leaves_a_tombstone) {
    const AtomicBench bench(server());
    AtomicClaim claim = bench.before("k", bench.acquire("k"));
    claim.max_response_bytes = 10;
    const auto report = bench.run(claim, bench.placing(std::string(11, 'x')));
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.response.body.size(), 11U);
    EXPECT_TRUE(bench.row("k").response->tombstone);
}

TEST(PostgresAtomic, body_that_ends_the_transaction_itself_has_committed_nothing_and_is_told) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    for (const std::string end :
         {"COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "ROLLBACK; BEGIN", "ABORT",
          "ROLLBACK AND CHAIN; SAVEPOINT nebis_body", "RELEASE SAVEPOINT nebis_body", "PREPARE TRANSACTION 'x'"}) {
        const auto report = bench.run(bench.before("k", version), [&](void* tx) {
            bench.place(tx, "before");
            sql_state(tx, end);
            sql_state(tx, bench.insert("after"));
            return Response{201, {}, "made", false};
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << end;
        // After a BEGIN of its own, its write was refused: that is what is seen first.
        EXPECT_EQ(code_of(report), end == "ROLLBACK; BEGIN" ? "transaction-aborted" : "transaction-ended") << end;
        EXPECT_EQ(bench.count(), 0) << end;
        EXPECT_EQ(bench.row("k").status, RecordStatus::processing) << end;
    }
    EXPECT_EQ(bench.run(bench.before("k", version), bench.placing()).kind, Kind::committed) << "and the next one may";
}

TEST(PostgresAtomic, a_refusal_after_the_body_ended_the_transaction_is_not_on_record) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) -> Response {
        EXPECT_EQ(sql_state(tx, "COMMIT"), "23505");
        EXPECT_EQ(sql_state(tx, bench.insert("after")), "25006");
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-ended");
    EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
}

TEST(PostgresAtomic, an_SQL_error_that_the_body_ignores_rolls_back_and_is_told) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) {
        bench.place(tx);
        EXPECT_EQ(sql_state(tx, bench.insert("o1")), "23505");
        EXPECT_EQ(sql_state(tx, bench.insert("o2")), "25P02");
        return Response{201, {}, "made", false};
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-aborted");
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, a_savepoint_of_the_bodys_own_gets_over_an_error) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.before("k", bench.acquire("k")), [&](void* tx) {
        bench.place(tx);
        sql_state(tx, "SAVEPOINT mine");
        EXPECT_EQ(sql_state(tx, bench.insert("o1")), "23505");
        EXPECT_EQ(sql_state(tx, "ROLLBACK TO mine"), "");
        return bench.place(tx, "o2");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.count(), 2);
}

TEST(PostgresAtomic, F28_deadlock_and_serialization_faults_in_the_body_did_not_happen) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    for (const std::string state : {"40001", "40P01"}) {
        const auto report = bench.run(bench.before("k", version), [&](void* tx) -> Response {
            bench.place(tx);
            EXPECT_EQ(sql_state(tx, "DO $$ BEGIN RAISE SQLSTATE '" + state + "'; END $$"), state);
            throw std::runtime_error(state);
        });
        EXPECT_EQ(report.kind, Kind::rolled_back);
        EXPECT_TRUE(report.failure);
        EXPECT_EQ(bench.count(), 0);
    }
    // At the commit: what a deferred check says of the business's own.
    ForeignSession(bench.address())
        .run("CREATE FUNCTION " + bench.orders() +
             "_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '40001'; END $$; "
             "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON " +
             bench.orders() + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + bench.orders() +
             "_f()");
    const auto report = bench.run(bench.before("k", version), bench.placing());
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "postgres-serialization");
    EXPECT_EQ(bench.count(), 0);
    EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
}

TEST(PostgresAtomic, body_that_deletes_its_own_record_is_fenced_off) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.before("k", bench.acquire("k")), [&](void* tx) {
        EXPECT_EQ(sql_state(tx, "DELETE FROM " + bench.table().name()), "");
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_EQ(bench.count(), 0);
    EXPECT_TRUE(bench.there("k"));
}

TEST(PostgresAtomic, body_that_leaves_a_query_under_way_has_committed_nothing) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.before("k", bench.acquire("k")), [&](void* tx) {
        const Response response = bench.place(tx);
        EXPECT_EQ(PQsendQuery(static_cast<PGconn*>(tx), "COMMIT"), 1);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-lost");
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, the_deadline_ends_a_statement_of_the_body_and_nothing_is_committed_after_it) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    auto report = bench.run(
        bench.before("k", version),
        [&](void* tx) -> Response {
            bench.place(tx);
            EXPECT_EQ(sql_state(tx, "SELECT pg_sleep(60)"), "57014");
            throw std::runtime_error("too slow");
        },
        in(seconds(3)));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    report = bench.run(
        bench.before("k", version),
        [&](void* tx) {
            const Response response = bench.place(tx);
            std::this_thread::sleep_until(in(seconds(3)));
            return response;
        },
        in(seconds(3)));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "postgres-slow");
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, F9_F43_a_slow_owner_is_alive_and_one_that_lost_its_connection_is_fenced_off) {
    const AtomicBench bench(server());
    auto slow = begin_of("k");
    slow.lease_millis = 1;
    const auto version = bench.table().begin({slow}).front()->version;
    auto successor = begin_of("k", 2);
    successor.take_over_lease = true;
    const auto take_over = [&] { return bench.table().begin({successor}).front(); };
    auto report = bench.run(bench.before("k", version), [&](void* tx) {
        const Response response = bench.place(tx);
        EXPECT_EQ(take_over()->kind, BeginOutcome::Kind::in_progress) << "its lease is over, but it holds the row";
        bench.terminate(tx);
        EXPECT_TRUE(eventually([&] { return take_over()->kind == BeginOutcome::Kind::acquired; }));
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(bench.count(), 0) << "its effect went with its connection";
    report = bench.run(bench.before("k", version), bench.placing());
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_EQ(bench.run(bench.before("k", bench.row("k").version, 2), bench.placing()).kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomic, F28_terminated_backend_in_the_body_rolls_back_and_the_next_gets_another) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) {
        const Response response = bench.place(tx);
        bench.terminate(tx);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(report.error->kind(), ErrorKind::unavailable);
    EXPECT_EQ(bench.count(), 0);
    EXPECT_EQ(bench.run(bench.before("k", version), bench.placing()).kind, Kind::committed);
}

TEST(PostgresAtomic, F27_server_killed_in_the_body_has_committed_nothing) {
    PostgresServer own;
    const AtomicBench bench(own);
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) {
        const Response response = bench.place(tx);
        own.kill();
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    own.start();
    EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, F27_server_killed_while_it_commits_is_ambiguous_and_a_write_tells_that_nothing_happened) {
    PostgresServer own;
    const AtomicBench bench(own);
    const auto version = bench.acquire("k");
    ForeignSession(bench.address())
        .run(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; "
            "END $$; CREATE CONSTRAINT TRIGGER late AFTER INSERT ON " +
            bench.orders() + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()");
    auto running =
        std::async(std::launch::async, [&] { return bench.run(bench.before("k", version), bench.placing()); });
    ForeignSession watcher(bench.address());
    EXPECT_TRUE(eventually(
        [&] { return watcher.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"; }));
    own.kill();
    EXPECT_EQ(running.get().kind, Kind::ambiguous);
    own.start();
    EXPECT_EQ(bench.row("k").status, RecordStatus::processing);
    const Response none;
    auto disprove = finish_of("k", version, none);
    disprove.status = RecordStatus::fail;
    EXPECT_TRUE(bench.table().finish(disprove)->applied);
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomic, F5_F27_server_killed_when_it_has_committed_is_ambiguous_and_a_write_tells_that_it_happened) {
    PostgresServer own;
    FaultProxy proxy(own.port());
    auto options = own.options();
    options.addresses = {proxy.address()};
    options.statement_timeout = seconds(60);
    const AtomicBench bench(options, own.address());
    const auto version = bench.acquire("k");
    auto running = std::async(std::launch::async, [&] {
        return bench.run(
            bench.before("k", version),
            [&](void* tx) {
                proxy.lose_reply_to("commit", After::keep);
                return bench.place(tx);
            },
            in(seconds(60)));
    });
    EXPECT_TRUE(proxy.wait_until([](const faultproxy::Counts& counts) { return counts.lost_replies == 1; }));
    own.kill();
    EXPECT_EQ(running.get().kind, Kind::ambiguous);
    own.start();
    EXPECT_EQ(bench.row("k").status, RecordStatus::success);
    const Response none;
    auto disprove = finish_of("k", version, none);
    disprove.status = RecordStatus::fail;
    EXPECT_FALSE(bench.table().finish(disprove)->applied);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomic, F38_a_connection_is_waited_for_a_bounded_time) {
    auto options = server().options();
    options.connections = 1;
    options.connection_wait = milliseconds(50);
    const AtomicBench bench(options, server().address());
    const auto outer = bench.acquire("outer"), inner = bench.acquire("inner");
    const auto report = bench.run(bench.before("outer", outer), [&](void* tx) {
        bool ran = false;
        const auto nested = bench.run(bench.before("inner", inner), [&](void*) { return ran = true, Response(); });
        EXPECT_EQ(nested.kind, Kind::rolled_back);
        EXPECT_EQ(nested.error->kind(), ErrorKind::overloaded);
        EXPECT_EQ(code_of(nested), "postgres-pool");
        EXPECT_FALSE(ran);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.run(bench.before("inner", inner), bench.placing("o2")).kind, Kind::committed);
    EXPECT_EQ(postgres::Options().connection_wait, milliseconds(800));
}

TEST(PostgresAtomic, without_the_right_to_make_temporary_tables_it_is_told) {
    PostgresServer own;
    const AtomicBench bench(own);
    const auto version = bench.acquire("k");
    ForeignSession foreign(own.address());
    foreign.run("CREATE ROLE clerk LOGIN; REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC");
    auto options = own.options();
    options.username = "clerk";
    Execution execution(std::make_shared<runtime::ExecutionState>());
    const auto report = postgres::runner(postgres::Database(options))
                            ->run(bench.before("k", version), execution, bench.placing(), soon());
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "postgres-temporary");
}

TEST(PostgresAtomic, S15_serves_every_table_of_its_own_database_only) {
    const AtomicBench bench(server());
    EXPECT_TRUE(bench.runner().serves(bench.table().store()));
    EXPECT_TRUE(bench.runner().serves(*postgres::store(bench.database(), "another_table")));
    auto options = server().options();
    options.database = "else";
    EXPECT_FALSE(bench.runner().serves(*postgres::store(options)));
}

TEST(PostgresAtomic, unprotected_is_a_plain_transaction) {
    const AtomicBench bench(server());
    AtomicClaim claim = bench.before("k", 0);
    claim.unprotected = true;
    EXPECT_EQ(bench.run(claim, bench.placing()).kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
    EXPECT_FALSE(bench.there("k"));
}

}  // namespace
