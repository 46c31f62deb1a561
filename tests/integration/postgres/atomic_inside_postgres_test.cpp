// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"
#include "faultproxy/fault_proxy.hpp"

#include <future>
#include <thread>

// `claim: inside` on a real PostgreSQL: the record is claimed in the business's own transaction.
namespace {

using namespace nebis;
using namespace nebis::test;
using faultproxy::After;
using faultproxy::FaultProxy;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Kind = AtomicReport::Kind;

/// One server for every test that leaves it as it was.
PostgresServer& server() {
    static PostgresServer one;
    return one;
}

/// Another process's transaction that has inserted the key of `like` and not ended.
class Holder {
public:
    Holder(const AtomicBench& bench, std::string_view like, const std::string& key) : session_(bench.address()) {
        session_.run("BEGIN");
        session_.run("INSERT INTO " + bench.table().name() +
                     " (trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, "
                     "expire_time, create_time, update_time) SELECT '" +
                     key +
                     "'::bytea, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, "
                     "expire_time, create_time, update_time FROM " +
                     bench.table().name() + " WHERE trace_id = '" + std::string(like) + "'::bytea");
    }
    void end(const std::string& how) { session_.run(how); }

private:
    ForeignSession session_;
};

TEST(PostgresAtomicInside, S46_begins_runs_and_finishes_in_one_commit) {
    const AtomicBench bench(server());
    Execution execution(std::make_shared<runtime::ExecutionState>());
    std::uint64_t token = 0;
    const auto report = bench.runner().run(
        bench.inside("k"), execution,
        [&](void* tx) {
            token = execution.fencing_token();
            EXPECT_EQ(execution.attempt(), 1U);
            EXPECT_FALSE(bench.there("k")) << "nobody sees it before the commit";
            return bench.place(tx);
        },
        soon());
    EXPECT_EQ(report.kind, Kind::committed) << (report.error ? report.error->text() : "");
    EXPECT_EQ(bench.count(), 1);
    EXPECT_EQ(bench.row("k").status, RecordStatus::success);
    EXPECT_EQ(bench.row("k").response->body, "o1");
    EXPECT_EQ(bench.row("k").version, token);
    EXPECT_GT(token, 0U);
    EXPECT_EQ(bench.table().begin("k", 2)->kind, BeginOutcome::Kind::finished) << "a duplicate replays";
}

TEST(PostgresAtomicInside, a_duplicate_finds_what_was_done_and_another_request_a_mismatch) {
    const AtomicBench bench(server());
    ASSERT_EQ(bench.run(bench.inside("k"), bench.placing()).kind, Kind::committed);
    bool ran = false;
    const auto body = [&](void* tx) { return ran = true, bench.place(tx, "o2"); };
    auto report = bench.run(bench.inside("k", 2), body);
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::finished);
    EXPECT_EQ(report.begun->record->response->body, "o1");
    auto other = bench.inside("k", 3);
    other.begin.request_hash.digest.fill(7);
    report = bench.run(other, body);
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::mismatch);
    EXPECT_FALSE(ran);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomicInside, a_concurrent_duplicate_waits_for_the_end_and_gets_the_answer_or_the_turn) {
    const AtomicBench bench(server());
    for (const bool commits : {true, false}) {
        const std::string key = commits ? "committed" : "rolled-back";
        std::future<AtomicReport> duplicate;
        const auto first = bench.run(bench.inside(key), [&](void* tx) -> Response {
            bench.place(tx, key);
            duplicate = std::async(std::launch::async, [&] {
                return bench.run(bench.inside(key, 2), bench.placing(key + "-second"), in(seconds(20)));
            });
            ForeignSession watcher(bench.address());
            EXPECT_TRUE(eventually([&] {
                return watcher.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'") == "1";
            })) << "it waits on the server";
            if (!commits) throw NotExecuted("no stock");
            return Response{201, {}, key, false};
        });
        EXPECT_EQ(first.kind, commits ? Kind::committed : Kind::rolled_back);
        const auto second = duplicate.get();
        EXPECT_EQ(second.kind, commits ? Kind::found : Kind::committed);
        if (commits) {
            EXPECT_EQ(second.begun->record->response->body, key);
        } else {
            EXPECT_EQ(bench.row(key).response->body, key + "-second");
        }
    }
    EXPECT_EQ(bench.count(), 2);
}

TEST(PostgresAtomicInside, a_duplicate_waits_no_longer_than_it_may) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        auto impatient = bench.inside("k", 2);
        impatient.lock_wait = milliseconds(100);
        const auto start = steady_clock::now();
        const auto second = bench.run(impatient, bench.placing("o2"));
        EXPECT_GE(steady_clock::now() - start, milliseconds(100));
        EXPECT_LT(steady_clock::now() - start, seconds(4));
        EXPECT_EQ(second.kind, Kind::found);
        EXPECT_EQ(second.begun->kind, BeginOutcome::Kind::in_progress);
        // Not by its own patience, but by the deadline of the call.
        const auto again = steady_clock::now();
        const auto third = bench.run(bench.inside("k", 3), bench.placing("o3"), in(seconds(2)));
        EXPECT_LT(steady_clock::now() - again, seconds(2));
        EXPECT_EQ(third.kind, Kind::found);
        // A batch of begins doesn't wait at all.
        EXPECT_EQ(bench.table().begin("k", 4)->kind, BeginOutcome::Kind::in_progress);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomicInside, one_that_inserts_past_the_locks_is_waited_for_a_bounded_time) {
    const AtomicBench bench(server());
    bench.acquire("model");
    Holder holder(bench, "model", "k");
    auto claim = bench.inside("k", 2);
    claim.lock_wait = milliseconds(100);
    auto report = bench.run(claim, bench.placing());
    ASSERT_EQ(report.kind, Kind::found) << code_of(report);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::in_progress);
    holder.end("COMMIT");
    report = bench.run(claim, bench.placing());
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::in_progress) << "it is PROCESSING";
    EXPECT_EQ(report.begun->owner, owner_of(1));
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomicInside, a_row_that_a_claim_before_holds_is_in_progress_at_once) {
    const AtomicBench bench(server());
    const auto version = bench.acquire("k");
    const auto report = bench.run(bench.before("k", version), [&](void* tx) {
        const auto second = bench.run(bench.inside("k", 2), bench.placing("o2"));
        EXPECT_EQ(second.kind, Kind::found);
        EXPECT_EQ(second.begun->kind, BeginOutcome::Kind::in_progress);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomicInside, a_begin_that_comes_too_late_runs_nothing) {
    const AtomicBench bench(server());
    auto claim = bench.inside("k");
    claim.begin.not_after = 1;
    const auto report = bench.run(claim, bench.placing());
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::late);
    EXPECT_FALSE(bench.there("k"));
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomicInside, a_failure_leaves_nothing_and_a_refusal_the_record_alone) {
    const AtomicBench bench(server());
    auto report = bench.run(bench.inside("failed"), [&](void* tx) -> Response {
        bench.place(tx);
        throw std::runtime_error("bug");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_THROW(std::rethrow_exception(report.failure), std::runtime_error);
    EXPECT_FALSE(bench.there("failed"));
    report = bench.run(bench.inside("refused"), [&](void* tx) -> Response {
        bench.place(tx);
        EXPECT_EQ(sql_state(tx, bench.insert("o1")), "23505");
        throw Rejected("insufficient balance", 402);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.status, RecordStatus::rejected);
    EXPECT_EQ(bench.row("refused").status, RecordStatus::rejected);
    EXPECT_EQ(bench.row("refused").response->body, "insufficient balance");
    EXPECT_EQ(bench.count(), 0);
    EXPECT_EQ(bench.run(bench.inside("failed"), bench.placing()).kind, Kind::committed) << "nothing is left open";
}

TEST(PostgresAtomicInside, runs_a_failed_key_again_and_lapses_an_abandoned_one) {
    const AtomicBench bench(server());
    const Response none;
    auto failed = finish_of("failed", bench.acquire("failed"), none);
    failed.status = RecordStatus::fail;
    ASSERT_TRUE(bench.table().finish(failed)->applied);
    EXPECT_EQ(bench.run(bench.inside("failed", 2), bench.placing()).kind, Kind::committed);
    EXPECT_EQ(bench.row("failed").attempts, 2U);
    EXPECT_EQ(bench.row("failed").status, RecordStatus::success);

    auto dead = begin_of("dead");
    dead.lease_millis = -1;
    ASSERT_EQ(bench.table().begin({dead}).front()->kind, BeginOutcome::Kind::acquired);
    auto claim = bench.inside("dead", 2);
    claim.begin.lapse = true;
    const auto report = bench.run(claim, bench.placing("o2"));
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::unknown);
    EXPECT_EQ(bench.row("dead").status, RecordStatus::unknown) << "the row was moved, not only the answer";
}

TEST(PostgresAtomicInside, takes_over_what_a_begin_would_take_over_and_a_refusal_keeps_the_claim) {
    const AtomicBench bench(server());
    auto lost = begin_of("unknown");
    lost.lease_millis = -1;
    const auto version = bench.table().begin({lost}).front()->version;
    auto claim = bench.inside("unknown", 2);
    const auto early = bench.run(claim, bench.placing());
    EXPECT_EQ(early.kind, Kind::found) << "not without leave";
    claim.begin.take_over_lease = true;
    const auto report = bench.run(claim, [&](void* tx) -> Response {
        bench.place(tx);
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.row("unknown").status, RecordStatus::rejected);
    EXPECT_EQ(bench.row("unknown").owner, owner_of(2));
    EXPECT_GT(bench.row("unknown").version, version);
    EXPECT_EQ(bench.row("unknown").attempts, 2U);
    EXPECT_EQ(bench.count(), 0);

    auto brief = bench.inside("expired", 3);
    brief.retention_millis = -1;
    ASSERT_EQ(bench.run(brief, bench.placing("o2")).kind, Kind::committed);
    const auto first = bench.row("expired").version;
    EXPECT_EQ(bench.run(bench.inside("expired", 4), bench.placing("o3")).kind, Kind::committed);
    EXPECT_EQ(bench.row("expired").attempts, 1U) << "it counts as new";
    EXPECT_GT(bench.row("expired").version, first);
    EXPECT_EQ(bench.row("expired").response->body, "o3");
}

TEST(PostgresAtomicInside, S53_large_answer_leaves_a_tombstone) {
    const AtomicBench bench(server());
    auto claim = bench.inside("k");
    claim.max_response_bytes = 10;
    const auto report = bench.run(claim, bench.placing(std::string(11, 'x')));
    EXPECT_EQ(report.response.body.size(), 11U);
    EXPECT_TRUE(bench.row("k").response->tombstone);
}

TEST(PostgresAtomicInside, S12_a_foreign_constraint_is_no_duplicate_and_takes_the_effect_back) {
    const AtomicBench bench(server());
    ForeignSession(bench.address())
        .run("ALTER TABLE " + bench.table().name() + " ADD CONSTRAINT foreign_one CHECK (status <> 1)");
    auto report = bench.run(bench.inside("k"), bench.placing());
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "postgres-constraint");
    EXPECT_EQ(bench.count(), 0);
    EXPECT_FALSE(bench.there("k"));
}

TEST(PostgresAtomicInside, body_that_ends_the_transaction_itself_has_committed_nothing_and_is_told) {
    const AtomicBench bench(server());
    for (const std::string end :
         {"COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "ABORT",
          "ROLLBACK AND CHAIN; SAVEPOINT nebis_body", "RELEASE SAVEPOINT nebis_body", "PREPARE TRANSACTION 'x'"}) {
        const auto report = bench.run(bench.inside("k"), [&](void* tx) {
            bench.place(tx, "before");
            sql_state(tx, end);
            sql_state(tx, bench.insert("after"));
            return Response{201, {}, "made", false};
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << end;
        EXPECT_EQ(code_of(report), "transaction-ended") << end;
        EXPECT_EQ(bench.count(), 0) << end;
        EXPECT_FALSE(bench.there("k")) << end;
    }
    EXPECT_EQ(bench.run(bench.inside("k"), bench.placing()).kind, Kind::committed) << "and the next one may";
}

TEST(PostgresAtomicInside, an_SQL_error_that_the_body_ignores_rolls_back_and_is_told) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        bench.place(tx);
        EXPECT_EQ(sql_state(tx, bench.insert("o1")), "23505");
        return Response{201, {}, "made", false};
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-aborted");
    EXPECT_EQ(bench.count(), 0);
    EXPECT_FALSE(bench.there("k"));
}

TEST(PostgresAtomicInside, body_that_deletes_its_own_record_is_fenced_off) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        EXPECT_EQ(sql_state(tx, "DELETE FROM " + bench.table().name()), "");
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_EQ(bench.count(), 0);
    EXPECT_FALSE(bench.there("k"));
}

TEST(PostgresAtomicInside, F28_deadlock_and_serialization_faults_leave_nothing) {
    const AtomicBench bench(server());
    for (const std::string state : {"40001", "40P01"}) {
        const auto report = bench.run(bench.inside("k"), [&](void* tx) -> Response {
            bench.place(tx);
            EXPECT_EQ(sql_state(tx, "DO $$ BEGIN RAISE SQLSTATE '" + state + "'; END $$"), state);
            throw std::runtime_error(state);
        });
        EXPECT_EQ(report.kind, Kind::rolled_back);
        EXPECT_FALSE(bench.there("k"));
    }
    EXPECT_EQ(bench.count(), 0);
}

TEST(PostgresAtomicInside, F28_terminated_backend_in_the_body_leaves_nothing_and_the_key_may_run_at_once) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        const Response response = bench.place(tx);
        bench.terminate(tx);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(report.error->kind(), ErrorKind::unavailable);
    EXPECT_FALSE(bench.there("k"));
    EXPECT_EQ(bench.run(bench.inside("k", 2), bench.placing()).kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomicInside, F27_server_killed_in_the_body_leaves_nothing) {
    PostgresServer own;
    const AtomicBench bench(own);
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        const Response response = bench.place(tx);
        own.kill();
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    own.start();
    EXPECT_EQ(when_up([&] { return bench.count(); }), 0);
    EXPECT_FALSE(bench.there("k"));
    EXPECT_EQ(bench.run(bench.inside("k", 2), bench.placing()).kind, Kind::committed);
}

TEST(PostgresAtomicInside, F27_server_killed_while_it_commits_is_ambiguous_and_an_insert_tells_that_nothing_happened) {
    PostgresServer own;
    const AtomicBench bench(own);
    ForeignSession(bench.address())
        .run(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; "
            "END $$; CREATE CONSTRAINT TRIGGER late AFTER INSERT ON " +
            bench.orders() + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()");
    auto running = std::async(std::launch::async, [&] { return bench.run(bench.inside("k"), bench.placing()); });
    ForeignSession watcher(bench.address());
    EXPECT_TRUE(eventually(
        [&] { return watcher.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"; }));
    // The insert that asks about an ambiguous commit is not fooled by one that is still under way.
    EXPECT_EQ(bench.table().begin("k")->kind, BeginOutcome::Kind::in_progress);
    own.kill();
    EXPECT_EQ(running.get().kind, Kind::ambiguous);
    own.start();
    EXPECT_EQ(when_up([&] { return bench.count(); }), 0);
    EXPECT_TRUE(eventually([&] {
        const auto begun = bench.table().begin("k");
        return begun && begun->kind == BeginOutcome::Kind::acquired;
    }));
}

TEST(PostgresAtomicInside, F5_F27_server_killed_when_it_has_committed_is_ambiguous_and_an_insert_finds_it) {
    PostgresServer own;
    FaultProxy proxy(own.port());
    auto options = own.options();
    options.addresses = {proxy.address()};
    options.statement_timeout = seconds(60);
    const AtomicBench bench(options, own.address());
    auto running = std::async(std::launch::async, [&] {
        return bench.run(
            bench.inside("k"),
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
    EXPECT_EQ(bench.table().begin("k")->kind, BeginOutcome::Kind::finished);
    EXPECT_EQ(bench.count(), 1);
}

TEST(PostgresAtomicInside, many_clients_place_each_order_once) {
    auto options = server().options();
    options.connections = 16;
    options.connection_wait = seconds(10);
    const AtomicBench bench(options, server().address());
    constexpr int clients = 16, keys = 20;
    std::atomic<int> committed{0}, odd{0};
    std::vector<std::thread> all;
    for (int client = 0; client < clients; ++client)
        all.emplace_back([&, client] {
            for (int i = 0; i < keys; ++i) {
                const std::string key = "k" + std::to_string(i);
                const auto owner = static_cast<std::uint64_t>(100 + client * keys + i);
                const auto report = bench.run(bench.inside(key, owner), bench.placing(key));
                if (report.kind == Kind::committed)
                    ++committed;
                else if (report.kind != Kind::found || !report.begun->record ||
                         report.begun->record->response->body != key)
                    ++odd;
            }
        });
    for (auto& one : all) one.join();
    EXPECT_EQ(committed, keys);
    EXPECT_EQ(odd, 0);
    EXPECT_EQ(bench.count(), keys);
}

// ---- finish_in

class PostgresFinishIn : public testing::Test {
protected:
    PostgresFinishIn() : bench_(server()), own_(bench_.address()), how_{.table = bench_.table().name()} {}

    const AtomicBench bench_;
    ForeignSession own_;
    FinishIn how_;
    const Response done_{200, {}, "done", false};
};

TEST_F(PostgresFinishIn, record_goes_with_the_callers_own_transaction) {
    const auto version = bench_.acquire("k");
    own_.run("BEGIN");
    own_.run(bench_.insert("mine"));
    ASSERT_TRUE(postgres::finish_in(attempt_at("k", version), own_.get(), done_, how_));
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing) << "nobody sees it before the commit";
    own_.run("ROLLBACK");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing);
    own_.run("BEGIN; SET LOCAL lock_timeout = 1234");
    own_.run(bench_.insert("mine"));
    how_.status = RecordStatus::rejected;
    ASSERT_TRUE(postgres::finish_in(attempt_at("k", version), own_.get(), done_, how_));
    EXPECT_EQ(own_.run("SHOW lock_timeout"), "1234ms");
    own_.run("COMMIT");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::rejected);
    EXPECT_EQ(bench_.row("k").response->body, "done");
    EXPECT_EQ(bench_.count(), 1);
}

TEST_F(PostgresFinishIn, refuses_without_transaction_at_another_isolation_when_fenced_off_and_another_status) {
    const auto version = bench_.acquire("k");
    const auto code = [&](const Execution& execution) {
        const auto done = postgres::finish_in(execution, own_.get(), done_, how_);
        return done ? std::string("done") : done.error().code();
    };
    EXPECT_EQ(code(attempt_at("k", version)), "no-transaction");
    own_.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    EXPECT_EQ(code(attempt_at("k", version)), "isolation-level");
    own_.run("ROLLBACK; BEGIN");
    EXPECT_EQ(code(attempt_at("k", version + 1)), "fenced-off");
    EXPECT_EQ(code(attempt_at("k", version, 2)), "fenced-off");
    how_.status = RecordStatus::fail;
    EXPECT_EQ(code(attempt_at("k", version)), "finish-status");
    how_.status = RecordStatus::success;
    EXPECT_THROW(own_.run("SELECT 1/0"), std::runtime_error);
    EXPECT_EQ(code(attempt_at("k", version)), "no-transaction");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing);
}

TEST_F(PostgresFinishIn, a_row_that_somebody_holds_is_waited_for_a_bounded_time) {
    const auto version = bench_.acquire("k");
    ForeignSession holder(bench_.address());
    holder.run("BEGIN");
    holder.run("SELECT 1 FROM " + bench_.table().name() + " FOR UPDATE");
    own_.run("BEGIN");
    const auto start = steady_clock::now();
    const auto held = postgres::finish_in(attempt_at("k", version), own_.get(), done_, how_);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().kind(), ErrorKind::overloaded);
    EXPECT_LT(steady_clock::now() - start, seconds(5));
}

}  // namespace
