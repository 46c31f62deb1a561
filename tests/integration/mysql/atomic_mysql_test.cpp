// SPDX-License-Identifier: Apache-2.0
#include "atomic_bench.hpp"
#include "faultproxy/fault_proxy.hpp"

#include <future>
#include <thread>

// The rules of every `atomic` transaction on a real MariaDB, each with both claims.
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
MariadbServer& server() {
    static MariadbServer one;
    return one;
}

/// A server that has what it has committed, however it ends.
class DurableServer : public MariadbServer {
public:
    DurableServer() : MariadbServer("mariadb", false) {}
};

/// The same test with both claims.
class MysqlAtomic : public testing::TestWithParam<bool> {
protected:
    static bool inside() { return GetParam(); }

    /// A claim that may run: begun first with `claim: before`.
    static AtomicClaim claim(const AtomicBench& bench, std::string_view key, std::uint64_t owner = 1) {
        return inside() ? bench.inside(key, owner) : bench.before(key, bench.acquire(key, owner), owner);
    }
    /// What a failed attempt leaves.
    static void expect_untouched(const AtomicBench& bench, std::string_view key) {
        if (inside())
            EXPECT_FALSE(bench.there(key));
        else
            EXPECT_EQ(bench.row(key).status, RecordStatus::processing);
    }
};

TEST_P(MysqlAtomic, S46_effect_and_record_commit_together) {
    const AtomicBench bench(server());
    const auto report = bench.run(claim(bench, "k"), [&](void* tx) {
        const Response response = bench.place(tx);
        EXPECT_EQ(bench.count(), 0) << "nobody sees it before the commit";
        expect_untouched(bench, "k");
        return response;
    });
    EXPECT_EQ(report.kind, Kind::committed) << (report.error ? report.error->text() : "");
    EXPECT_EQ(report.status, RecordStatus::success);
    EXPECT_EQ(bench.count(), 1);
    EXPECT_EQ(bench.row("k").status, RecordStatus::success);
    EXPECT_EQ(bench.row("k").response->body, "o1");
    EXPECT_EQ(bench.table().begin("k", 2)->kind, BeginOutcome::Kind::finished) << "a duplicate replays";
}

TEST_P(MysqlAtomic, thrown_failure_rolls_back_and_is_handed_on) {
    const AtomicBench bench(server());
    const auto mine = claim(bench, "k");
    const auto report = bench.run(mine, [&](void* tx) -> Response {
        bench.place(tx);
        throw NotExecuted("no stock");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    ASSERT_TRUE(report.failure);
    EXPECT_THROW(std::rethrow_exception(report.failure), NotExecuted);
    EXPECT_EQ(bench.count(), 0);
    expect_untouched(bench, "k");
    EXPECT_EQ(bench.run(mine, bench.placing()).kind, Kind::committed) << "nothing is left open";
}

TEST_P(MysqlAtomic, refusal_rolls_the_business_back_and_keeps_the_record_even_after_an_SQL_error) {
    const AtomicBench bench(server());
    for (const bool with_error : {false, true}) {
        const std::string key = with_error ? "b" : "a";
        const auto report = bench.run(claim(bench, key), [&](void* tx) -> Response {
            bench.place(tx);
            if (with_error) {
                EXPECT_EQ(sql_error(tx, bench.insert("o1")), 1062U);
            }
            throw Rejected("insufficient balance", 402);
        });
        EXPECT_EQ(report.kind, Kind::committed) << (report.error ? report.error->text() : "");
        EXPECT_EQ(report.status, RecordStatus::rejected);
        EXPECT_EQ(bench.count(), 0);
        EXPECT_EQ(bench.row(key).status, RecordStatus::rejected);
        EXPECT_EQ(bench.row(key).response->body, "insufficient balance");
    }
}

TEST_P(MysqlAtomic, S53_large_answer_leaves_a_tombstone) {
    const AtomicBench bench(server());
    auto mine = claim(bench, "k");
    mine.max_response_bytes = 10;
    const auto report = bench.run(mine, bench.placing(std::string(11, 'x')));
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(report.response.body.size(), 11U);
    EXPECT_TRUE(bench.row("k").response->tombstone);
}

TEST_P(MysqlAtomic, body_that_would_end_the_transaction_is_refused_by_the_server_and_told) {
    const AtomicBench bench(server());
    const auto mine = claim(bench, "k");
    const std::string orders = bench.orders();
    for (const std::string& end :
         {std::string("COMMIT"), std::string("ROLLBACK"), std::string("COMMIT AND CHAIN"), std::string("BEGIN"),
          std::string("START TRANSACTION"), "CREATE TABLE " + orders + "_x (a INT)", "TRUNCATE " + orders,
          "ALTER TABLE " + orders + " ADD COLUMN b INT", "CREATE INDEX i ON " + orders + " (amount)",
          "DROP TABLE " + orders, "RENAME TABLE " + orders + " TO " + orders + "_y",
          "LOCK TABLES " + orders + " WRITE"}) {
        const auto report = bench.run(mine, [&](void* tx) {
            bench.place(tx, "before");
            EXPECT_EQ(sql_error(tx, end), 1399U) << end;
            bench.place(tx, "after");
            return Response{201, {}, "made", false};
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << end;
        EXPECT_EQ(code_of(report), "transaction-ended") << end;
        EXPECT_EQ(bench.count(), 0) << end;
        expect_untouched(bench, "k");
    }
    EXPECT_EQ(bench.run(mine, bench.placing()).kind, Kind::committed) << "and the next one may";
}

TEST_P(MysqlAtomic, autocommit_cannot_be_switched_on_and_no_procedure_can_commit) {
    const AtomicBench bench(server());
    const std::string procedure = bench.orders() + "_p";
    ForeignMysql(bench.address()).run("CREATE PROCEDURE " + procedure + "() BEGIN COMMIT; END");
    for (const std::string& what : {std::string("SET autocommit=1"), "CALL " + procedure + "()"}) {
        const std::string key = "k" + std::to_string(what.size());
        const auto mine = claim(bench, key);
        const auto report = bench.run(mine, [&](void* tx) -> Response {
            bench.place(tx);
            EXPECT_EQ(sql_error(tx, what), 1399U) << what;
            EXPECT_EQ(mysql_commit(static_cast<MYSQL*>(tx)), 1);
            EXPECT_EQ(mysql_autocommit(static_cast<MYSQL*>(tx), 1), 1);
            throw std::runtime_error("refused");
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << what;
        EXPECT_EQ(bench.count(), 0) << what;
    }
}

TEST_P(MysqlAtomic, one_that_ended_it_by_its_name_has_committed_nothing_after_it) {
    const AtomicBench bench(server());
    auto& database = server();
    const auto report = bench.run(claim(bench, "k"), [&](void* tx) {
        bench.place(tx, "before");
        const std::string name = "'nebis-01000000000000000000000000000000','" +
                                 std::to_string(mysql_thread_id(static_cast<MYSQL*>(tx))) + "'";
        EXPECT_EQ(sql_error(tx, "XA END " + name), 0U);
        EXPECT_EQ(sql_error(tx, "XA ROLLBACK " + name), 0U);
        return bench.place(tx, "after");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-ended");
    EXPECT_EQ(ForeignMysql(database.address()).run("SELECT count(*) FROM " + bench.orders()), "0");
}

TEST_P(MysqlAtomic, a_refusal_after_the_body_tried_to_end_it_is_not_on_record) {
    const AtomicBench bench(server());
    const auto report = bench.run(claim(bench, "k"), [&](void* tx) -> Response {
        EXPECT_EQ(sql_error(tx, "COMMIT"), 1399U);
        throw Rejected("no");
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-ended");
    expect_untouched(bench, "k");
}

TEST_P(MysqlAtomic, an_SQL_error_undoes_its_statement_alone_and_savepoints_are_the_bodys) {
    const AtomicBench bench(server());
    const auto report = bench.run(claim(bench, "k"), [&](void* tx) {
        bench.place(tx);
        EXPECT_EQ(sql_error(tx, bench.insert("o1")), 1062U);
        EXPECT_EQ(sql_error(tx, "SAVEPOINT nebis_body"), 0U);
        bench.place(tx, "undone");
        EXPECT_EQ(sql_error(tx, "ROLLBACK TO nebis_body"), 0U);
        EXPECT_EQ(sql_error(tx, "CREATE TEMPORARY TABLE mine (a INT)"), 0U);
        EXPECT_EQ(sql_error(tx, "DROP TEMPORARY TABLE mine"), 0U);
        return bench.place(tx, "o2");
    });
    EXPECT_EQ(report.kind, Kind::committed) << code_of(report);
    EXPECT_EQ(bench.count(), 2);
}

TEST_P(MysqlAtomic, F28_after_a_deadlock_nothing_counts_whatever_the_body_makes_of_it) {
    const AtomicBench bench(server());
    ForeignMysql(bench.address()).run("INSERT INTO " + bench.orders() + " (id) VALUES ('left'),('right')");
    enum class After { throws, returns, refuses };
    for (const auto then : {After::throws, After::returns, After::refuses}) {
        const std::string key = "k" + std::to_string(static_cast<int>(then));
        Crossing other(bench, "right");
        std::future<void> wanting;
        const auto report = bench.run(claim(bench, key), [&](void* tx) -> Response {
            EXPECT_EQ(sql_error(tx, other.update("left")), 0U);
            wanting = std::async(std::launch::async, [&] { other.want("left"); });
            ForeignMysql watcher(bench.address());
            EXPECT_TRUE(eventually([&] {
                // Whoever asks more often than every 0.1 s is shown the same picture for ever.
                std::this_thread::sleep_for(milliseconds(150));
                return watcher.run("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state='LOCK WAIT'") ==
                       "1";
            }));
            EXPECT_EQ(sql_error(tx, other.update("right")), 1213U);
            EXPECT_EQ(sql_error(tx, bench.insert("after")), 1399U) << "the server takes no more writes";
            if (then == After::throws) throw std::runtime_error("deadlock");
            if (then == After::refuses) throw Rejected("no");
            return Response{201, {}, "made", false};
        });
        wanting.get();
        other.roll_back();
        EXPECT_EQ(report.kind, Kind::rolled_back);
        if (then != After::throws) {
            EXPECT_EQ(code_of(report), "transaction-aborted");
        }
        expect_untouched(bench, key);
        EXPECT_EQ(bench.count(), 2);
    }
}

TEST_P(MysqlAtomic, F28_lock_wait_timeout_in_the_body_did_not_happen) {
    const AtomicBench bench(server());
    ForeignMysql(bench.address()).run("INSERT INTO " + bench.orders() + " (id) VALUES ('held')");
    Crossing holder(bench, "held");
    const auto start = steady_clock::now();
    const auto report = bench.run(
        claim(bench, "k"),
        [&](void* tx) -> Response {
            bench.place(tx);
            const unsigned fault = sql_error(tx, holder.update("held"));
            EXPECT_TRUE(fault == 1205U || fault == 1969U) << fault;
            throw std::runtime_error("held");
        },
        in(seconds(3)));
    EXPECT_LT(steady_clock::now() - start, seconds(8));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    holder.roll_back();
    EXPECT_EQ(bench.count(), 1);
    expect_untouched(bench, "k");
}

TEST_P(MysqlAtomic, body_that_deletes_its_own_record_is_fenced_off) {
    const AtomicBench bench(server());
    const auto report = bench.run(claim(bench, "k"), [&](void* tx) {
        EXPECT_EQ(sql_error(tx, "DELETE FROM " + bench.table().name()), 0U);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::fenced_off);
    EXPECT_EQ(bench.count(), 0);
    expect_untouched(bench, "k");
}

TEST_P(MysqlAtomic, body_that_leaves_answers_unread_has_committed_nothing) {
    const AtomicBench bench(server());
    const std::string what = "SELECT 1";
    auto report = bench.run(claim(bench, "unread"), [&](void* tx) {
        const Response response = bench.place(tx);
        EXPECT_EQ(mysql_real_query(static_cast<MYSQL*>(tx), what.data(), what.size()), 0);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "transaction-lost");
    for (const std::string& sent : {std::string("SELECT SLEEP(0.2)"), std::string("DO SLEEP(0.2)")}) {
        report = bench.run(claim(bench, sent), [&](void* tx) {
            const Response response = bench.place(tx);
            EXPECT_EQ(mysql_send_query(static_cast<MYSQL*>(tx), sent.data(), sent.size()), 0);
            return response;
        });
        EXPECT_EQ(report.kind, Kind::rolled_back) << sent;
    }
    EXPECT_EQ(bench.count(), 0);
}

TEST_P(MysqlAtomic, the_deadline_ends_a_statement_of_the_body_and_nothing_is_committed_after_it) {
    const AtomicBench bench(server());
    auto report = bench.run(
        claim(bench, "a"),
        [&](void* tx) -> Response {
            bench.place(tx);
            EXPECT_EQ(sql_error(tx, "SELECT SLEEP(60)"), 1969U);
            throw std::runtime_error("too slow");
        },
        in(seconds(3)));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    report = bench.run(
        claim(bench, "b"),
        [&](void* tx) {
            const Response response = bench.place(tx);
            std::this_thread::sleep_until(in(seconds(3)));
            return response;
        },
        in(seconds(3)));
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "mysql-slow");
    EXPECT_TRUE(eventually([&] { return bench.count() == 0; }));
}

TEST_P(MysqlAtomic, F28_killed_connection_in_the_body_rolls_back_and_the_next_gets_another) {
    const AtomicBench bench(server());
    const auto mine = claim(bench, "k");
    const auto report = bench.run(mine, [&](void* tx) {
        const Response response = bench.place(tx);
        bench.terminate(tx);
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(report.error->kind(), ErrorKind::unavailable);
    EXPECT_EQ(bench.count(), 0);
    expect_untouched(bench, "k");
    EXPECT_EQ(bench.run(mine, bench.placing()).kind, Kind::committed);
}

TEST_P(MysqlAtomic, F27_server_killed_in_the_body_has_committed_nothing) {
    DurableServer own;
    const AtomicBench bench(own);
    const auto mine = claim(bench, "k");
    const auto report = bench.run(mine, [&](void* tx) {
        const Response response = bench.place(tx);
        own.kill();
        return response;
    });
    EXPECT_EQ(report.kind, Kind::rolled_back);
    own.start();
    EXPECT_EQ(bench.count(), 0);
    expect_untouched(bench, "k");
    EXPECT_EQ(bench.run(mine, bench.placing()).kind, Kind::committed);
}

TEST_P(MysqlAtomic, F27_server_killed_while_it_commits_is_ambiguous_and_a_write_tells_that_nothing_happened) {
    DurableServer own;
    const AtomicBench bench(own);
    const auto mine = claim(bench, "k");
    ForeignMysql backup(bench.address()), watcher(bench.address());
    auto running = std::async(std::launch::async, [&] {
        return bench.run(mine, [&](void* tx) {
            // Commits wait from here on, for a second at most.
            for (const auto* const stage : {"START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"})
                backup.run(std::string("BACKUP STAGE ") + stage);
            return bench.place(tx);
        });
    });
    EXPECT_TRUE(eventually([&] {
        return watcher.run("SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'XA COMMIT%'") == "1";
    }));
    own.kill();
    EXPECT_EQ(running.get().kind, Kind::ambiguous);
    own.start();
    expect_untouched(bench, "k");
    EXPECT_EQ(bench.count(), 0);
    if (inside()) {
        EXPECT_EQ(bench.table().begin("k")->kind, BeginOutcome::Kind::acquired) << "what the engine asks";
    } else {
        const Response none;
        auto disprove = finish_of("k", mine.version, none);
        disprove.status = RecordStatus::fail;
        EXPECT_TRUE(bench.table().finish(disprove)->applied);
    }
}

TEST_P(MysqlAtomic, a_commit_that_the_server_gives_up_did_not_happen) {
    const AtomicBench bench(server());
    const auto mine = claim(bench, "k");
    ForeignMysql backup(bench.address());
    const auto report = bench.run(mine, [&](void* tx) {
        for (const auto* const stage : {"START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"})
            backup.run(std::string("BACKUP STAGE ") + stage);
        return bench.place(tx);
    });
    backup.run("BACKUP STAGE END");
    EXPECT_EQ(report.kind, Kind::rolled_back);
    EXPECT_EQ(code_of(report), "mysql-lock-timeout");
    EXPECT_EQ(bench.count(), 0);
    expect_untouched(bench, "k");
    EXPECT_TRUE(eventually([&] { return bench.run(mine, bench.placing()).kind == Kind::committed; }))
        << "as soon as the server has noticed that the connection is gone";
}

TEST_P(MysqlAtomic, F5_F27_server_killed_when_it_has_committed_is_ambiguous_and_a_write_tells_that_it_happened) {
    DurableServer own;
    FaultProxy proxy(own.port());
    auto options = own.options();
    options.addresses = {proxy.address()};
    options.statement_timeout = seconds(60);
    const AtomicBench bench(options, own.address());
    const auto mine = claim(bench, "k");
    auto running = std::async(std::launch::async, [&] {
        return bench.run(
            mine,
            [&](void* tx) {
                proxy.lose_reply_to("XA COMMIT", After::keep);
                return bench.place(tx);
            },
            in(seconds(60)));
    });
    EXPECT_TRUE(proxy.wait_until([](const faultproxy::Counts& counts) { return counts.lost_replies == 1; }));
    EXPECT_EQ(bench.count(), 1);
    own.kill();
    EXPECT_EQ(running.get().kind, Kind::ambiguous);
    own.start();
    EXPECT_EQ(bench.row("k").status, RecordStatus::success);
    if (inside()) {
        EXPECT_EQ(bench.table().begin("k")->kind, BeginOutcome::Kind::finished) << "what the engine asks";
    } else {
        const Response none;
        auto disprove = finish_of("k", mine.version, none);
        disprove.status = RecordStatus::fail;
        EXPECT_FALSE(bench.table().finish(disprove)->applied);
    }
    EXPECT_EQ(bench.count(), 1);
}

TEST_P(MysqlAtomic, F5_a_lost_reply_to_the_commit_is_ambiguous_within_the_deadline) {
    FaultProxy proxy(server().port());
    auto options = server().options();
    options.addresses = {proxy.address()};
    options.statement_timeout = seconds(2);
    const AtomicBench bench(options, server().address());
    for (const auto after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(static_cast<int>(after));
        const auto mine = claim(bench, key);
        const auto start = steady_clock::now();
        const auto report = bench.run(mine, [&](void* tx) {
            proxy.lose_reply_to("XA COMMIT", after);
            return bench.place(tx, key);
        });
        EXPECT_EQ(report.kind, Kind::ambiguous);
        EXPECT_EQ(report.error->kind(), ErrorKind::maybe_applied);
        EXPECT_LT(steady_clock::now() - start, seconds(10));
        EXPECT_EQ(bench.row(key).status, RecordStatus::success);
    }
    EXPECT_EQ(bench.count(), 3);
}

TEST_P(MysqlAtomic, F38_a_connection_is_waited_for_a_bounded_time) {
    auto options = server().options();
    options.connections = 1;
    options.connection_wait = milliseconds(50);
    const AtomicBench bench(options, server().address());
    const auto inner = claim(bench, "inner");
    const auto report = bench.run(claim(bench, "outer"), [&](void* tx) {
        bool ran = false;
        const auto nested = bench.run(inner, [&](void*) { return ran = true, Response(); });
        EXPECT_EQ(nested.kind, Kind::rolled_back);
        EXPECT_EQ(nested.error->kind(), ErrorKind::overloaded);
        EXPECT_EQ(code_of(nested), "mysql-pool");
        EXPECT_FALSE(ran);
        return bench.place(tx);
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_EQ(bench.run(inner, bench.placing("o2")).kind, Kind::committed);
    EXPECT_EQ(mysql::Options().connection_wait, milliseconds(800));
}

TEST_P(MysqlAtomic, a_bodys_settings_do_not_reach_the_next_claim_and_the_servers_own_are_its) {
    const AtomicBench bench(server());
    auto options = server().options();
    auto report = bench.run(claim(bench, "a"), [&](void* tx) {
        EXPECT_EQ(sql_error(tx, "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"), 0U);
        EXPECT_EQ(sql_error(tx, "SET time_zone='+05:00',innodb_lock_wait_timeout=50"), 0U);
        return bench.place(tx, "a");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    const auto before = bench.row("a").update_time;
    report = bench.run(claim(bench, "b"), [&](void* tx) {
        EXPECT_EQ(sql_error(tx, "DO IF(@@sql_mode=@@global.sql_mode,1,(SELECT 1 UNION SELECT 2))"), 0U);
        return bench.place(tx, "b");
    });
    EXPECT_EQ(report.kind, Kind::committed);
    EXPECT_LT(std::abs(bench.row("b").update_time - before), 60'000) << "the clock knows no time zone";
}

TEST_P(MysqlAtomic, unprotected_is_a_plain_transaction) {
    const AtomicBench bench(server());
    auto plain = inside() ? bench.inside("k") : bench.before("k", 0);
    plain.unprotected = true;
    EXPECT_EQ(bench.run(plain, bench.placing()).kind, Kind::committed);
    EXPECT_EQ(bench.count(), 1);
    EXPECT_FALSE(bench.there("k"));
}

INSTANTIATE_TEST_SUITE_P(Claim, MysqlAtomic, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "inside" : "before"; });

// ---- claim before alone

TEST(MysqlAtomicBefore, fenced_off_attempt_does_not_run) {
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

TEST(MysqlAtomicBefore, F9_F43_a_slow_owner_is_alive_and_one_that_lost_its_connection_is_fenced_off) {
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

TEST(MysqlAtomicBefore, S15_serves_every_table_of_its_own_database_only) {
    const AtomicBench bench(server());
    EXPECT_TRUE(bench.runner().serves(bench.table().store()));
    EXPECT_TRUE(bench.runner().serves(*mysql::store(bench.database(), "another_table")));
    auto options = server().options();
    options.database = "else";
    EXPECT_FALSE(bench.runner().serves(*mysql::store(options)));
}

}  // namespace
