// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

// What a real MariaDB does when it is in trouble, and what the store makes of it.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::eventually;
using nebis::test::finish_of;
using nebis::test::ForeignMysql;
using nebis::test::MariadbServer;
using nebis::test::owner_of;
using nebis::test::soon;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

/// One server for every test that leaves it as it was.
MariadbServer& server() {
    static MariadbServer one;
    return one;
}

const Response made{201, {}, "made", false};

bool acquired(const Result<BeginOutcome>& out) { return out && out->kind == Kind::acquired; }
bool in_progress(const Result<BeginOutcome>& out) { return out && out->kind == Kind::in_progress; }

TEST(MysqlFaults, killed_and_restarted_it_has_what_was_reported_and_serves_again) {
    MariadbServer own;
    const Table table(own.options());
    const auto begun = table.begin("k");
    ASSERT_TRUE(acquired(begun));
    ASSERT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
    ForeignMysql(own.address()).run("SET GLOBAL innodb_flush_log_at_trx_commit=1");
    ASSERT_TRUE(acquired(table.begin("flushes what came before"))) << "a quick server writes its log now and then";
    own.kill();
    const auto down = table.begin("other", 1, nebis::test::in(seconds(5)));
    ASSERT_FALSE(down);
    EXPECT_TRUE(down.error().kind() == ErrorKind::unavailable || down.error().kind() == ErrorKind::maybe_applied);
    own.start();
    ASSERT_TRUE(eventually([&] { return table.find("k").has_value(); }));
    const auto again = table.begin("k", 2);
    ASSERT_TRUE(again && again->record);
    EXPECT_EQ(again->kind, Kind::finished);
    EXPECT_EQ(again->record->response->body, "made");
}

TEST(MysqlFaults, paused_beyond_the_deadline_a_batch_is_maybe_applied_in_time) {
    MariadbServer own;
    const Table table(own.options());
    ASSERT_TRUE(acquired(table.begin("before")));
    own.pause();
    const auto started = std::chrono::steady_clock::now();
    const auto out = table.begin({begin_of("a"), begin_of("b")}, nebis::test::in(milliseconds(300)));
    const auto took = std::chrono::steady_clock::now() - started;
    const auto connecting = table.begin("c", 1, nebis::test::in(milliseconds(300)));
    own.resume();
    EXPECT_LT(took, seconds(10));
    for (const auto& one : out) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::maybe_applied);
    }
    ASSERT_FALSE(connecting) << "a new connection can't come about either";
    EXPECT_EQ(connecting.error().kind(), ErrorKind::unavailable);
    EXPECT_TRUE(eventually([&] {
        const auto own_row = table.begin("a");
        return acquired(own_row) || (in_progress(own_row) && own_row->owner == owner_of(1));
    })) << "the same owner finds out what became of it";
}

TEST(MysqlFaults, an_idle_session_that_was_killed_costs_no_answer) {
    const Table table(server().options());
    ASSERT_TRUE(acquired(table.begin("a")));
    ForeignMysql foreign(server().address());
    const std::string id =
        foreign.run("SELECT MAX(id) FROM information_schema.processlist WHERE command='Sleep' AND id<>CONNECTION_ID()");
    foreign.run("KILL " + id);
    ASSERT_TRUE(eventually(
        [&] { return foreign.run("SELECT COUNT(*) FROM information_schema.processlist WHERE id=" + id) == "0"; }));
    EXPECT_TRUE(acquired(table.begin("b")));
}

TEST(MysqlFaults, a_row_locked_by_a_foreign_transaction_harms_no_other_and_is_answered_at_once) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    for (const auto& one : begun) ASSERT_TRUE(acquired(one));
    auto back = finish_of("b", begun[1]->version, made);
    back.status = RecordStatus::fail;
    ASSERT_TRUE(table.finish(back).value().applied);
    // One lock that only locks, one of an update under way: an INSERT would wait for the second.
    for (const std::string how :
         {"SELECT 1 FROM @ WHERE trace_id = 'b' FOR UPDATE", "UPDATE @ SET outcome_ref = 'x' WHERE trace_id = 'b'"}) {
        ForeignMysql foreign(server().address());
        foreign.run("BEGIN");
        std::string sql = how;
        foreign.run(sql.replace(sql.find('@'), 1, table.name()));
        const auto started = std::chrono::steady_clock::now();
        const auto out =
            table.begin({begin_of("a", 7), begin_of("b", 7), begin_of("d" + std::to_string(sql.size()), 7)});
        EXPECT_LT(std::chrono::steady_clock::now() - started, milliseconds(900)) << "no lock was waited for";
        EXPECT_TRUE(in_progress(out[0])) << "somebody's lease";
        EXPECT_TRUE(in_progress(out[1])) << "locked: somebody is alive";
        EXPECT_TRUE(acquired(out[2]));
        foreign.run("ROLLBACK");
    }
    EXPECT_TRUE(acquired(table.begin("b", 7)));
}

TEST(MysqlFaults, renewal_counts_a_locked_row_as_alive_and_a_finish_says_that_it_came_to_nothing) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    ForeignMysql foreign(server().address());
    foreign.run("BEGIN");
    foreign.run("SELECT 1 FROM " + table.name() + " WHERE trace_id = 'b' FOR UPDATE");
    const auto out = table.renew({{"a", begun[0]->version, owner_of(1), 90'000, false},
                                  {"b", begun[1]->version, owner_of(1), 90'000, false},
                                  {"c", begun[2]->version + 1, owner_of(1), 90'000, false}});
    EXPECT_EQ(out[0].value().kind, RenewOutcome::Kind::renewed);
    EXPECT_EQ(out[1].value().kind, RenewOutcome::Kind::locked);
    EXPECT_EQ(out[2].value().kind, RenewOutcome::Kind::lost);
    const auto held = table.finish(finish_of("b", begun[1]->version, made));
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().kind(), ErrorKind::overloaded);
    EXPECT_EQ(held.error().code(), "mysql-lock-timeout");
    foreign.run("ROLLBACK");
    EXPECT_TRUE(table.finish(finish_of("b", begun[1]->version, made)).value().applied);
}

TEST(MysqlFaults, an_uncommitted_foreign_insert_is_in_progress_and_harms_no_other) {
    const Table table(server().options());
    const std::string insert = "INSERT INTO " + table.name() +
                               " SET trace_id='b',biz_type='order',status=0,version=1,owner='0123456789abcdef',"
                               "attempts=1,request_hash=REPEAT('\\0',33),lease_expire_time=1,expire_time=1,"
                               "create_time=1,update_time=1";
    ForeignMysql foreign(server().address());
    foreign.run("BEGIN");
    foreign.run(insert);
    const auto out = table.begin({begin_of("a1"), begin_of("b"), begin_of("c1")});
    EXPECT_TRUE(acquired(out[0]));
    EXPECT_TRUE(in_progress(out[1]));
    EXPECT_TRUE(acquired(out[2]));
    foreign.run("ROLLBACK");
    EXPECT_TRUE(acquired(table.begin("b")));
}

TEST(MysqlFaults, a_read_only_server_is_named_and_left_for_a_writable_one) {
    MariadbServer own, other;
    const Table table(own.options());
    ForeignMysql foreign(own.address());
    foreign.run("CREATE USER clerk IDENTIFIED BY 'app-secret'");
    foreign.run("GRANT ALL ON app.* TO clerk");
    foreign.run("SET GLOBAL read_only=1");
    auto options = own.options();
    options.create_schema = false;
    options.username = "clerk";
    const Table clerk(options, table.name());
    const auto begun = clerk.begin("k");
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(begun.error().code(), "mysql-readonly");
    EXPECT_EQ(clerk.store().verify(soon()).error().code(), "mysql-readonly");

    auto both = own.options();
    both.addresses = {own.address(), other.address()};
    const Table elsewhere(both);
    EXPECT_TRUE(acquired(elsewhere.begin("k"))) << "of several addresses the one that can be written to";
    foreign.run("SET GLOBAL read_only=0");
    EXPECT_TRUE(acquired(clerk.begin("k"))) << "the same session, after the failover";
}

TEST(MysqlFaults, S12_a_foreign_constraint_is_no_duplicate_and_harms_its_own_row_only) {
    const Table table(server().options());
    ForeignMysql(server().address()).run("ALTER TABLE " + table.name() + " ADD UNIQUE (instance)");
    auto first = begin_of("a"), second = begin_of("secret-key"), third = begin_of("z");
    first.instance = second.instance = "twice";
    const auto out = table.begin({first, second, third});
    EXPECT_TRUE(acquired(out[0]));
    ASSERT_FALSE(out[1]);
    EXPECT_EQ(out[1].error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(out[1].error().code(), "mysql-duplicate");
    EXPECT_EQ(out[1].error().text().find("twice"), std::string::npos) << "the server's words hold the row's values";
    EXPECT_TRUE(acquired(out[2]));
}

TEST(MysqlFaults, a_damaged_row_runs_nothing_and_harms_no_other) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    ForeignMysql foreign(server().address());
    for (const std::string damage : {"status = 77", "status = -1", "request_hash = ''", "version = -1", "attempts = 0",
                                     "status = 1, response_body = 'no'"}) {
        foreign.run("UPDATE " + table.name() + " SET " + damage + " WHERE trace_id = 'b'");
        const auto out = table.begin({begin_of("a", 2), begin_of("b", 2), begin_of("c", 2)});
        EXPECT_TRUE(in_progress(out[0])) << damage;
        ASSERT_FALSE(out[1]) << damage;
        EXPECT_EQ(out[1].error().kind(), ErrorKind::corrupt) << damage;
        EXPECT_TRUE(in_progress(out[2])) << damage;
        foreign.run("UPDATE " + table.name() + " b JOIN " + table.name() +
                    " a ON a.trace_id='a' SET b.status=a.status, b.request_hash=a.request_hash, b.version=a.version, "
                    "b.attempts=a.attempts, b.response_body=a.response_body WHERE b.trace_id='b'");
    }
    EXPECT_EQ(begun.size(), 3U);
}

TEST(MysqlFaults, a_row_larger_than_the_servers_packet_is_refused_alone) {
    const Table table(server().options());
    const std::string body(20 << 20, 'x');
    auto large = begin_of("b");
    large.request_snapshot = body;
    const auto out = table.begin({begin_of("a"), large, begin_of("c")});
    EXPECT_TRUE(acquired(out[0]));
    ASSERT_FALSE(out[1]);
    EXPECT_EQ(out[1].error().code(), "mysql-toobig");
    EXPECT_EQ(out[1].error().kind(), ErrorKind::rejected_input);
    EXPECT_TRUE(acquired(out[2]));
}

TEST(MysqlSchema, S14_what_is_missing_is_named) {
    ForeignMysql foreign(server().address());
    auto options = server().options();
    options.create_schema = false;
    const auto code = [&](const std::string& table) {
        const auto fits = mysql::store(options, table)->verify(soon());
        return fits ? std::string("fits") : fits.error().code();
    };
    const Table table(server().options());
    EXPECT_EQ(code(table.name()), "fits");
    EXPECT_EQ(code("not_there"), "mysql-no-table");
    EXPECT_EQ(mysql::store(options, "not_there")->open(soon()).error().code(), "mysql-no-table");
    for (const std::string bad : {"a; DROP TABLE b", "`", "", "A", "1a"}) EXPECT_EQ(code(bad), "table-name");
    const auto after = [&](const std::string& change) {
        const Table changed(server().options());
        foreign.run("ALTER TABLE " + changed.name() + " " + change);
        return code(changed.name());
    };
    EXPECT_EQ(after("DROP COLUMN attempts"), "mysql-column");
    EXPECT_EQ(after("MODIFY version INT NOT NULL"), "mysql-column");
    EXPECT_EQ(after("MODIFY owner BINARY(16)"), "mysql-column");
    EXPECT_EQ(after("MODIFY trace_id VARCHAR(255) NOT NULL"), "mysql-column");
    EXPECT_EQ(after("MODIFY biz_type VARCHAR(255) COLLATE utf8mb4_general_ci NOT NULL"), "mysql-collation");
    EXPECT_EQ(after("ENGINE=MyISAM"), "mysql-engine");
    EXPECT_EQ(after("DROP INDEX uk_trace_id"), "mysql-no-key");
    EXPECT_EQ(after("DROP INDEX uk_trace_id, ADD UNIQUE (trace_id(64))"), "mysql-no-key") << "a part decides nothing";
    EXPECT_EQ(after("DROP INDEX idx_lease"), "mysql-no-index");
}

TEST(MysqlSchema, a_server_that_forgets_commits_is_refused) {
    auto options = server().options();
    const Table table(options);
    options.require_durable_commits = true;
    const auto fits = mysql::store(options, table.name())->verify(soon());
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code(), "mysql-not-durable") << "a quick server doesn't flush";
}

TEST(MysqlSchema, S15_two_tables_are_worlds_of_their_own) {
    const Table one(server().options()), two(server().options());
    EXPECT_TRUE(acquired(one.begin("k")));
    EXPECT_TRUE(acquired(two.begin("k")));
    EXPECT_TRUE(in_progress(one.begin("k", 2)));
}

TEST(MysqlLogin, passwords_rights_and_limits_of_a_user) {
    const Table table(server().options());
    ForeignMysql foreign(server().address());
    foreign.run("CREATE USER porter IDENTIFIED BY 'open-sesame'");
    foreign.run("GRANT USAGE ON *.* TO porter");
    foreign.run("GRANT SELECT ON app.idempotent_meta TO porter");
    auto options = server().options();
    options.create_schema = false;
    options.username = "porter";
    const auto store = [&] { return mysql::store(options, table.name()); };
    options.password = "wrong-sesame";
    const auto refused = store()->verify(soon());
    EXPECT_EQ(refused.error().code(), "mysql-login");
    EXPECT_EQ(refused.error().text().find("sesame"), std::string::npos);

    std::string file = (std::filesystem::temp_directory_path() / "nebis-password-XXXXXX").string();
    const int fd = ::mkstemp(file.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
    std::ofstream(file) << "open-sesame\n";
    options.password.clear();
    options.password_file = file;
    EXPECT_EQ(store()->open(soon()).error().code(), "mysql-permission");
    for (const std::string& name : {table.name(), std::string("idempotent_key_rule"), std::string("idempotent_meta")})
        foreign.run("GRANT SELECT, INSERT, UPDATE, DELETE ON app." + name + " TO porter");
    EXPECT_TRUE(store()->verify(soon()));
    EXPECT_TRUE(acquired(Table(options, table.name()).begin("k")));
    ::chmod(file.c_str(), 0644);
    EXPECT_EQ(store()->verify(soon()).error().code(), "mysql-password-file");
    ::chmod(file.c_str(), 0600);
    foreign.run("ALTER USER porter WITH MAX_USER_CONNECTIONS 1");
    const auto only = store()->open(soon());
    ASSERT_TRUE(only);
    const auto full = store()->verify(soon());
    EXPECT_EQ(full.error().kind(), ErrorKind::overloaded);
    EXPECT_EQ(full.error().code(), "mysql-connections");
    std::filesystem::remove(file);

    auto nowhere = server().options();
    nowhere.database = "not_there";
    EXPECT_EQ(mysql::store(nowhere)->verify(soon()).error().code(), "mysql-database");
    nowhere.database = "";
    EXPECT_EQ(mysql::store(nowhere)->verify(soon()).error().code(), "mysql-database");
    nowhere.database = "app";
    for (const std::string bad : {"", "host", "host:", ":5432", "host:0", "host:99999", "unix:x", "a:b:1"}) {
        nowhere.addresses = {bad};
        EXPECT_EQ(mysql::store(nowhere)->verify(soon()).error().code(), "mysql-address") << bad;
    }
}

TEST(MysqlLogin, unix_sockets) {
    auto options = server().options();
    options.addresses = {"unix:" + ForeignMysql(server().address()).run("SELECT @@socket")};
    EXPECT_TRUE(acquired(Table(options).begin("k")));
}

TEST(MysqlLogin, TLS_is_verified) {
    MariadbServer own("mariadb-tls");
    auto options = own.options();
    EXPECT_EQ(mysql::store(options)->verify(soon()).error().code(), "mysql-login") << "this server wants TLS";
    options.tls = {.enabled = true, .ca_file = own.ca()};
    const Table table(options);
    EXPECT_TRUE(acquired(table.begin("k")));
    options.tls.ca_file = "";
    EXPECT_EQ(mysql::store(options)->verify(soon()).error().code(), "mysql-tls");
    options.tls.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    EXPECT_EQ(mysql::store(options)->verify(soon()).error().code(), "mysql-tls") << "signed by somebody else";
    options = server().options();
    options.tls = {.enabled = true, .ca_file = own.ca()};
    EXPECT_EQ(mysql::store(options)->verify(soon()).error().code(), "mysql-tls") << "a server that speaks none";

    // A write to a connection that died under TLS must be an error, not a signal.
    own.kill();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(table.begin("later", 1, nebis::test::in(seconds(1))));
}

}  // namespace
