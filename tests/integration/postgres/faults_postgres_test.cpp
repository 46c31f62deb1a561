// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

// What a real PostgreSQL does when it is in trouble, and what the store makes of it.
namespace {

using namespace nebis;
using nebis::test::begin_of;
using nebis::test::eventually;
using nebis::test::finish_of;
using nebis::test::ForeignSession;
using nebis::test::owner_of;
using nebis::test::PostgresServer;
using nebis::test::soon;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

/// One server for every test that leaves it as it was.
PostgresServer& server() {
    static PostgresServer one;
    return one;
}

const Response made{201, {}, "made", false};

bool acquired(const Result<BeginOutcome>& out) { return out && out->kind == Kind::acquired; }
bool in_progress(const Result<BeginOutcome>& out) { return out && out->kind == Kind::in_progress; }

TEST(PostgresFaults, killed_and_restarted_it_has_what_was_reported_and_serves_again) {
    PostgresServer own;
    const Table table(own.options());
    const auto begun = table.begin("k");
    ASSERT_TRUE(acquired(begun));
    ASSERT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
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

TEST(PostgresFaults, paused_beyond_the_deadline_a_batch_is_maybe_applied_in_time) {
    PostgresServer own;
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

TEST(PostgresFaults, an_idle_backend_that_was_terminated_costs_no_answer) {
    const Table table(server().options());
    ASSERT_TRUE(acquired(table.begin("a")));
    ForeignSession foreign(server().address());
    foreign.run(
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity WHERE application_name = 'nebis'");
    EXPECT_TRUE(acquired(table.begin("b")));
}

TEST(PostgresFaults, a_row_locked_by_a_foreign_transaction_harms_no_other_and_is_answered_at_once) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    for (const auto& one : begun) ASSERT_TRUE(acquired(one));
    auto back = finish_of("b", begun[1]->version, made);
    back.status = RecordStatus::fail;
    ASSERT_TRUE(table.finish(back).value().applied);
    // One lock that only locks, one of an update under way: an INSERT would wait for the second.
    for (const std::string how :
         {"SELECT 1 FROM @ WHERE trace_id = 'b' FOR UPDATE", "UPDATE @ SET outcome_ref = 'x' WHERE trace_id = 'b'"}) {
        ForeignSession foreign(server().address());
        foreign.run("BEGIN");
        std::string sql = how;
        foreign.run(sql.replace(sql.find('@'), 1, table.name()));
        const auto started = std::chrono::steady_clock::now();
        const auto out =
            table.begin({begin_of("a", 7), begin_of("b", 7), begin_of("d" + std::to_string(sql.size()), 7)});
        EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(5));
        EXPECT_TRUE(in_progress(out[0])) << "somebody's lease";
        EXPECT_TRUE(in_progress(out[1])) << "locked: somebody is alive";
        EXPECT_TRUE(acquired(out[2]));
        foreign.run("ROLLBACK");
    }
    EXPECT_TRUE(acquired(table.begin("b", 7)));
}

TEST(PostgresFaults, renewal_counts_a_locked_row_as_alive_and_a_finish_says_that_it_came_to_nothing) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    ForeignSession foreign(server().address());
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
    EXPECT_EQ(held.error().code(), "postgres-lock-timeout");
    foreign.run("ROLLBACK");
    EXPECT_TRUE(table.finish(finish_of("b", begun[1]->version, made)).value().applied);
}

TEST(PostgresFaults, an_uncommitted_foreign_insert_makes_no_batch_wait) {
    const Table table(server().options());
    const std::string insert =
        "INSERT INTO " + table.name() +
        " VALUES ('b', 'order', 0, 1, '0123456789abcdef', 1, decode(repeat('00', 33), 'hex'), 1, "
        "1, 1, 1)";
    for (const bool with_advisory_lock : {true, false}) {
        ForeignSession foreign(server().address());
        foreign.run("BEGIN");
        if (with_advisory_lock)
            foreign.run("SELECT pg_advisory_xact_lock(hashtextextended('" + table.name() +
                        "/' || encode('b'::bytea, 'hex'), 0))");
        foreign.run(insert);
        const std::string a = with_advisory_lock ? "a1" : "a2", c = with_advisory_lock ? "c1" : "c2";
        const auto started = std::chrono::steady_clock::now();
        const auto out = table.begin({begin_of(a), begin_of("b"), begin_of(c)});
        EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(5));
        EXPECT_TRUE(acquired(out[0]));
        EXPECT_TRUE(in_progress(out[1]));
        EXPECT_TRUE(acquired(out[2]));
        foreign.run("ROLLBACK");
    }
    EXPECT_TRUE(acquired(table.begin("b")));
}

TEST(PostgresFaults, a_read_only_server_is_named_and_left_for_a_writable_one) {
    PostgresServer own;
    const Table table(own.options());
    ForeignSession(own.address()).run("ALTER DATABASE postgres SET default_transaction_read_only = on");
    auto options = own.options();
    options.create_schema = false;
    const Table late(options, table.name());
    const auto begun = late.begin("k");
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(begun.error().code(), "postgres-readonly");
    EXPECT_EQ(late.store().verify(soon()).error().code(), "postgres-readonly");

    // A failover, seen from one session: the connection stays read-only, another one would not be.
    ForeignSession operators(own.address());
    operators.run("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE");
    operators.run("ALTER DATABASE postgres RESET default_transaction_read_only");
    EXPECT_TRUE(acquired(late.begin("k")));
}

TEST(PostgresFaults, S12_a_foreign_constraint_is_no_duplicate_and_harms_its_own_row_only) {
    const Table table(server().options());
    ForeignSession(server().address())
        .run("CREATE UNIQUE INDEX ON " + table.name() + " (instance) WHERE instance <> 'here'");
    auto first = begin_of("a"), second = begin_of("secret-key"), third = begin_of("z");
    first.instance = second.instance = "twice";
    const auto out = table.begin({first, second, third});
    EXPECT_TRUE(acquired(out[0]));
    ASSERT_FALSE(out[1]);
    EXPECT_EQ(out[1].error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(out[1].error().code(), "postgres-constraint");
    EXPECT_EQ(out[1].error().text().find("twice"), std::string::npos) << "the server's detail holds the row's values";
    EXPECT_TRUE(acquired(out[2]));
}

TEST(PostgresFaults, a_damaged_row_runs_nothing_and_harms_no_other) {
    const Table table(server().options());
    const auto begun = table.begin({begin_of("a"), begin_of("b"), begin_of("c")});
    ForeignSession foreign(server().address());
    for (const std::string damage : {"status = 77", "status = 33", "owner = 'x'", "request_hash = ''", "version = -1",
                                     "attempts = 0", "status = 1, response_body = 'no'"}) {
        foreign.run("UPDATE " + table.name() + " SET " + damage + " WHERE trace_id = 'b'");
        const auto out = table.begin({begin_of("a", 2), begin_of("b", 2), begin_of("c", 2)});
        EXPECT_TRUE(in_progress(out[0])) << damage;
        ASSERT_FALSE(out[1]) << damage;
        EXPECT_EQ(out[1].error().kind(), ErrorKind::corrupt) << damage;
        EXPECT_TRUE(in_progress(out[2])) << damage;
        foreign.run("UPDATE " + table.name() +
                    " SET (status, owner, request_hash, version, attempts, response_body) = "
                    "(SELECT status, owner, request_hash, version, attempts, response_body FROM " +
                    table.name() + " WHERE trace_id = 'a') WHERE trace_id = 'b'");
    }
    EXPECT_EQ(begun.size(), 3U);
}

TEST(PostgresSchema, S14_what_is_missing_is_named) {
    ForeignSession foreign(server().address());
    auto options = server().options();
    options.create_schema = false;
    const auto code = [&](const std::string& table) {
        const auto fits = postgres::store(options, table)->verify(soon());
        return fits ? std::string("fits") : fits.error().code();
    };
    const Table table(server().options());
    EXPECT_EQ(code(table.name()), "fits");
    EXPECT_EQ(code("not_there"), "postgres-no-table");
    EXPECT_EQ(postgres::store(options, "not_there")->open(soon()).error().code(), "postgres-no-table");
    for (const std::string bad : {"a; DROP TABLE b", "\"", "", "A", "1a", "pg_a"}) EXPECT_EQ(code(bad), "table-name");
    const auto after = [&](const std::string& change) {
        const Table changed(server().options());
        foreign.run("ALTER TABLE " + changed.name() + " " + change);
        return code(changed.name());
    };
    EXPECT_EQ(after("DROP COLUMN attempts"), "postgres-column");
    EXPECT_EQ(after("ALTER version TYPE integer"), "postgres-column");
    EXPECT_EQ(after("ALTER owner DROP NOT NULL"), "postgres-column");
    EXPECT_EQ(after("ADD theirs text NOT NULL"), "postgres-column");
    const Table keyless(server().options());
    foreign.run("ALTER TABLE " + keyless.name() + " DROP CONSTRAINT " + keyless.name() + "_pkey");
    EXPECT_EQ(code(keyless.name()), "postgres-no-key");
    const Table slow(server().options());
    foreign.run("DROP INDEX " + slow.name() + "_lease");
    EXPECT_EQ(code(slow.name()), "postgres-no-index");
}

TEST(PostgresSchema, S15_two_tables_are_worlds_of_their_own) {
    const Table one(server().options()), two(server().options());
    EXPECT_TRUE(acquired(one.begin("k")));
    EXPECT_TRUE(acquired(two.begin("k")));
    EXPECT_TRUE(in_progress(one.begin("k", 2)));
}

TEST(PostgresLogin, passwords_rights_and_limits_of_a_role) {
    PostgresServer own;
    const Table table(own.options());
    ForeignSession foreign(own.address());
    foreign.run("CREATE ROLE clerk LOGIN PASSWORD 'open-sesame'");
    foreign.run(
        "COPY (VALUES ('host all app 127.0.0.1/32 trust'), ('host all clerk 127.0.0.1/32 scram-sha-256')) TO '" +
        foreign.run("SHOW hba_file") + "'");
    foreign.run("SELECT pg_reload_conf()");
    auto options = own.options();
    options.create_schema = false;
    options.username = "clerk";
    const auto store = [&] { return postgres::store(options, table.name()); };
    options.password = "wrong-sesame";
    ASSERT_TRUE(eventually([&] { return store()->verify(soon()).error().code() == "postgres-login"; }));
    EXPECT_EQ(store()->verify(soon()).error().text().find("sesame"), std::string::npos);

    std::string file = (std::filesystem::temp_directory_path() / "nebis-password-XXXXXX").string();
    const int fd = ::mkstemp(file.data());
    ASSERT_GE(fd, 0);
    ::close(fd);
    std::ofstream(file) << "open-sesame\n";
    options.password.clear();
    options.password_file = file;
    EXPECT_EQ(store()->verify(soon()).error().code(), "postgres-permission");
    foreign.run("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table.name() +
                ", idempotent_key_rule, idempotent_meta TO clerk");
    EXPECT_TRUE(store()->verify(soon()));
    EXPECT_TRUE(acquired(Table(options, table.name()).begin("k")));
    ::chmod(file.c_str(), 0644);
    EXPECT_EQ(store()->verify(soon()).error().code(), "postgres-password-file");
    ::chmod(file.c_str(), 0600);
    foreign.run("ALTER ROLE clerk CONNECTION LIMIT 0");
    const auto full = store()->verify(soon());
    EXPECT_EQ(full.error().kind(), ErrorKind::overloaded);
    EXPECT_EQ(full.error().code(), "postgres-connections");
    std::filesystem::remove(file);

    auto nowhere = own.options();
    nowhere.database = "not_there";
    EXPECT_EQ(postgres::store(nowhere)->verify(soon()).error().code(), "postgres-database");
    for (const std::string bad : {"", "host", "host:", ":5432", "host:0", "host:99999", "unix:/x", "a:b:1"}) {
        nowhere.addresses = {bad};
        EXPECT_EQ(postgres::store(nowhere)->verify(soon()).error().code(), "postgres-address") << bad;
    }
}

TEST(PostgresLogin, unix_sockets) {
    ForeignSession foreign(server().address());
    auto options = server().options();
    options.addresses = {"unix:" + foreign.run("SHOW unix_socket_directories") + "/.s.PGSQL." +
                         foreign.run("SHOW port")};
    EXPECT_TRUE(acquired(Table(options).begin("k")));
}

TEST(PostgresLogin, TLS_is_verified) {
    PostgresServer own("postgres-tls");
    auto options = own.options();
    options.tls = {.enabled = true, .ca_file = own.ca()};
    const Table table(options);
    EXPECT_TRUE(acquired(table.begin("k")));
    EXPECT_EQ(
        ForeignSession(own.address())
            .run("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'nebis' "
                 "AND ssl"),
        "1");
    options.tls.ca_file = "";
    EXPECT_EQ(postgres::store(options)->verify(soon()).error().code(), "postgres-tls");
    options.tls.ca_file = "/etc/ssl/certs/ca-certificates.crt";
    EXPECT_EQ(postgres::store(options)->verify(soon()).error().code(), "postgres-tls") << "signed by somebody else";
}

}  // namespace
