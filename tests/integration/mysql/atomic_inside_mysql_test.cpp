// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"

#include <future>
#include <thread>

// `claim: inside` on a real MariaDB: the record is claimed in the business's own transaction.
namespace {

using namespace nebis;
using namespace nebis::test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Kind = AtomicReport::Kind;

/// One server for every test that leaves it as it was.
MariadbServer& server() {
    static MariadbServer one;
    return one;
}

TEST(MysqlAtomicInside, the_token_is_known_to_the_body_and_nothing_to_others) {
    const AtomicBench bench(server());
    Execution execution(std::make_shared<runtime::ExecutionState>());
    std::uint64_t token = 0;
    const auto report = bench.runner().run(
        bench.inside("k"), execution,
        [&](void* tx) {
            token = execution.fencing_token();
            EXPECT_EQ(execution.attempt(), 1U);
            EXPECT_FALSE(bench.there("k"));
            return bench.place(tx);
        },
        soon());
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.row("k").version, token);
    EXPECT_GT(token, 0U);
}

TEST(MysqlAtomicInside, a_duplicate_finds_what_was_done_and_another_request_a_mismatch) {
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

TEST(MysqlAtomicInside, a_concurrent_duplicate_waits_for_the_end_and_gets_the_answer_or_the_turn) {
    const AtomicBench bench(server());
    for (const bool commits : {true, false}) {
        const std::string key = commits ? "committed" : "rolled-back";
        std::future<AtomicReport> duplicate;
        const auto first = bench.run(bench.inside(key), [&](void* tx) -> Response {
            bench.place(tx, key);
            duplicate = std::async(std::launch::async, [&] {
                return bench.run(bench.inside(key, 2), bench.placing(key + "-second"), in(seconds(20)));
            });
            ForeignMysql watcher(bench.address());
            EXPECT_TRUE(eventually([&] {
                return watcher.run("SELECT count(*) FROM information_schema.processlist WHERE state='User lock'") ==
                       "1";
            })) << "it waits on the server";
            if (!commits) throw NotExecuted("no stock");
            return Response{201, {}, key, false};
        });
        EXPECT_EQ(first.kind, commits ? Kind::committed : Kind::rolled_back);
        const auto second = duplicate.get();
        EXPECT_EQ(second.kind, commits ? Kind::found : Kind::committed) << code_of(second);
        if (commits) {
            ASSERT_TRUE(second.begun && second.begun->record);
            EXPECT_EQ(second.begun->record->response->body, key);
        } else {
            EXPECT_EQ(bench.row(key).response->body, key + "-second");
        }
    }
    EXPECT_EQ(bench.count(), 2);
}

TEST(MysqlAtomicInside, a_duplicate_waits_no_longer_than_it_may) {
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

TEST(MysqlAtomicInside, a_body_that_lets_the_keys_lock_go_is_still_the_only_one) {
    const AtomicBench bench(server());
    const auto report = bench.run(bench.inside("k"), [&](void* tx) {
        EXPECT_EQ(sql_error(tx, "DO RELEASE_ALL_LOCKS()"), 0U);
        const auto second = bench.run(bench.inside("k", 2), bench.placing("o2"));
        EXPECT_EQ(second.kind, Kind::found) << "the index decides, after a second";
        EXPECT_EQ(second.begun->kind, BeginOutcome::Kind::in_progress);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
}

TEST(MysqlAtomicInside, a_row_that_a_claim_before_holds_is_in_progress_at_once) {
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

TEST(MysqlAtomicInside, a_begin_that_comes_too_late_runs_nothing) {
    const AtomicBench bench(server());
    auto claim = bench.inside("k");
    claim.begin.not_after = 1;
    const auto report = bench.run(claim, bench.placing());
    ASSERT_EQ(report.kind, Kind::found);
    EXPECT_EQ(report.begun->kind, BeginOutcome::Kind::late);
    EXPECT_FALSE(bench.there("k"));
    EXPECT_EQ(bench.count(), 0);
}

TEST(MysqlAtomicInside, runs_a_failed_key_again_and_lapses_an_abandoned_one) {
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

TEST(MysqlAtomicInside, takes_over_what_a_begin_would_take_over_and_a_refusal_keeps_the_claim) {
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

TEST(MysqlAtomicInside, S12_a_foreign_index_is_no_duplicate_and_runs_nothing) {
    const AtomicBench bench(server());
    ForeignMysql(bench.address()).run("ALTER TABLE " + bench.table().name() + " ADD UNIQUE foreign_one (instance)");
    ASSERT_EQ(bench.run(bench.inside("a"), bench.placing()).kind, Kind::committed);
    const auto report = bench.run(bench.inside("b", 2), bench.placing("o2"));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "mysql-duplicate");
    EXPECT_EQ(bench.count(), 1);
    EXPECT_FALSE(bench.there("b"));
}

TEST(MysqlAtomicInside, a_value_that_does_not_fit_is_refused_whatever_the_servers_mode) {
    MariadbServer own;
    ForeignMysql(own.address()).run("SET GLOBAL sql_mode=''");
    const AtomicBench bench(own);
    auto claim = bench.inside("k");
    const std::string long_one(300, 'x');
    claim.begin.operation = long_one;
    const auto report = bench.run(claim, bench.placing());
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "mysql-data");
    EXPECT_FALSE(bench.there("k"));
}

TEST(MysqlAtomicInside, many_clients_place_each_order_once) {
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

class MysqlFinishIn : public testing::Test {
protected:
    MysqlFinishIn() : bench_(server()), own_(bench_.address()), how_{.table = bench_.table().name()} {
        own_.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }

    const AtomicBench bench_;
    ForeignMysql own_;
    FinishIn how_;
    const Response done_{200, {}, "done", false};
};

TEST_F(MysqlFinishIn, record_goes_with_the_callers_own_transaction) {
    const auto version = bench_.acquire("k");
    own_.run("START TRANSACTION");
    own_.run(bench_.insert("mine"));
    ASSERT_TRUE(mysql::finish_in(attempt_at("k", version), own_.get(), done_, how_));
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing) << "nobody sees it before the commit";
    own_.run("ROLLBACK");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing);
    own_.run("SET autocommit=0,innodb_lock_wait_timeout=7");
    how_.status = RecordStatus::rejected;
    ASSERT_TRUE(mysql::finish_in(attempt_at("k", version), own_.get(), done_, how_)) << "it opens the transaction";
    own_.run(bench_.insert("mine"));
    EXPECT_EQ(own_.run("SELECT @@innodb_lock_wait_timeout"), "7");
    own_.run("COMMIT");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::rejected);
    EXPECT_EQ(bench_.row("k").response->body, "done");
    EXPECT_EQ(bench_.count(), 1);
}

TEST_F(MysqlFinishIn, refuses_without_transaction_at_another_isolation_when_fenced_off_and_another_status) {
    const auto version = bench_.acquire("k");
    const auto code = [&](const Execution& execution) {
        const auto done = mysql::finish_in(execution, own_.get(), done_, how_);
        return done ? std::string("done") : done.error().code();
    };
    EXPECT_EQ(code(attempt_at("k", version)), "no-transaction");
    own_.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    own_.run("START TRANSACTION");
    EXPECT_EQ(code(attempt_at("k", version)), "isolation-level");
    own_.run("ROLLBACK");
    own_.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    own_.run("START TRANSACTION");
    EXPECT_EQ(code(attempt_at("k", version + 1)), "fenced-off");
    EXPECT_EQ(code(attempt_at("k", version, 2)), "fenced-off");
    how_.status = RecordStatus::fail;
    EXPECT_EQ(code(attempt_at("k", version)), "finish-status");
    EXPECT_EQ(bench_.row("k").status, RecordStatus::processing);
}

TEST_F(MysqlFinishIn, a_row_that_somebody_holds_is_waited_for_a_bounded_time) {
    const auto version = bench_.acquire("k");
    ForeignMysql holder(bench_.address());
    holder.run("START TRANSACTION");
    holder.run("SELECT 1 FROM " + bench_.table().name() + " FOR UPDATE");
    own_.run("START TRANSACTION");
    const auto start = steady_clock::now();
    const auto held = mysql::finish_in(attempt_at("k", version), own_.get(), done_, how_);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().kind(), ErrorKind::overloaded);
    EXPECT_LT(steady_clock::now() - start, seconds(5));
}

}  // namespace
