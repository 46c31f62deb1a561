// SPDX-License-Identifier: Apache-2.0
#include "article_mysql.hpp"
#include "identify/trace_id.hpp"
#include "load.hpp"
#include "nebis/migrate.hpp"
#include "nebis/nebis.hpp"
#include "nebis/starter.hpp"
#include "program.hpp"
#include "support/mariadb_server.hpp"
#include "temporary_folder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

// `nebis migrate` on a real MariaDB: every state and command, the article's own table, online, two at a time, kills.
namespace {

using namespace nebis;
using namespace nebis::test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

MariadbServer& server() {
    static MariadbServer one;
    return one;
}

Deadline soon() { return steady_clock::now() + std::chrono::seconds(20); }

class MysqlMigrate : public testing::Test {
protected:
    MysqlMigrate() : foreign_(server().address()) {
        static int number = 0;
        database_ = "world_" + std::to_string(++number);
        foreign_.run("CREATE DATABASE " + database_ + " CHARACTER SET utf8mb4");
        foreign_.run("USE " + database_);
        std::ofstream(folder_.file("nebis.yaml"))
            << "nebis:\n  idempotent:\n    datasources: {primary: {driver: mysql, address: '" << server().address()
            << "', username: app, password: app-secret, database: " << database_
            << ", require-durable-commits: false, connect-timeout-millis: 10000}}\n    lock: {driver: none}\n    "
               "scope: "
               "public\n";
    }

    std::string sql(const std::string& text) { return foreign_.run(text); }
    std::vector<std::string> words(const std::string& command, std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"migrate", command, "--config", folder_.file("nebis.yaml")};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    Ended run(const std::string& command, std::vector<std::string> more = {}) const {
        return Program(folder_.path(), words(command, std::move(more))).wait();
    }
    void refused(const std::string& command, int code, const std::string& why,
                 const std::vector<std::string>& more = {}) const {
        const Ended ended = run(command, more);
        EXPECT_EQ(ended.code, code) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr(why));
        EXPECT_EQ(ended.out, "");
    }
    /// Columns, keys and versions, as the server tells them.
    std::string shape() {
        return sql("SELECT GROUP_CONCAT(column_name, column_type, is_nullable, COALESCE(collation_name, ''), extra "
                   "ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE() AND "
                   "table_name = 'idempotent_record'") +
               sql("SELECT GROUP_CONCAT(index_name, column_name, non_unique ORDER BY index_name, seq_in_index) FROM "
                   "information_schema.statistics WHERE table_schema = DATABASE() AND table_name = "
                   "'idempotent_record'") +
               sql("SELECT GROUP_CONCAT(name, value ORDER BY name) FROM idempotent_meta");
    }
    std::string count(const std::string& of) {
        return sql("SELECT COUNT(*) FROM information_schema." + of + " WHERE " +
                   (of == "tables" ? "table_schema" : "trigger_schema") + " = DATABASE()");
    }
    void start_anew() {
        sql("DROP TABLE IF EXISTS idempotent_record, idempotent_record_before, idempotent_record_nebis, "
            "idempotent_meta, idempotent_key_rule");
    }
    mysql::Options options() const {
        auto options = server().options();
        options.database = database_;
        options.create_schema = false;
        return options;
    }

    TemporaryFolder folder_;
    ForeignMysql foreign_;
    std::string database_;
};

TEST_F(MysqlMigrate, nothing_there_then_current_and_as_create_schema_makes_it) {
    EXPECT_EQ(run("status").code, 3);
    EXPECT_THAT(run("plan").out, HasSubstr("CREATE TABLE"));
    EXPECT_EQ(count("tables"), "0") << "nothing was changed";
    EXPECT_EQ(run("down").code, 0);
    const Ended up = run("up");
    ASSERT_EQ(up.code, 0) << up.err;
    EXPECT_EQ(run("status").code, 0) << run("status").out;
    EXPECT_THAT(run("up").err, HasSubstr("already current"));
    EXPECT_EQ(run("plan").out, "");
    const std::string by_up = shape();
    EXPECT_EQ(run("down").code, 0);
    EXPECT_EQ(count("tables"), "2");
    sql("DROP TABLE idempotent_meta, idempotent_key_rule");
    auto asked = options();
    asked.create_schema = true;
    ASSERT_TRUE(mysql::store(asked)->verify(soon()));
    EXPECT_EQ(shape(), by_up);
    EXPECT_EQ(run("status").code, 0);
}

TEST_F(MysqlMigrate, start_up_names_the_command) {
    sql(article_table_mysql("idempotent_record"));
    const auto verified = mysql::store(options())->verify(soon());
    ASSERT_FALSE(verified);
    EXPECT_THAT(verified.error().hint(), HasSubstr("nebis migrate up"));
}

TEST_F(MysqlMigrate, articles_table_with_rows_is_taken_over_and_an_engine_goes_on_with_it) {
    sql(article_table_mysql("idempotent_record"));
    sql(article_rows_mysql("idempotent_record"));
    EXPECT_EQ(run("status").code, 3);
    const Ended done = run("up");
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("idempotent_record_before"));
    EXPECT_EQ(sql("SELECT COUNT(*) FROM idempotent_record_before"), "5") << "nothing is lost";
    const Ended status = run("status");
    EXPECT_EQ(status.code, 0) << status.out;
    EXPECT_EQ(count("triggers"), "0");
    EXPECT_EQ(count("tables"), "4");

    OpenOptions open;
    open.use_environment = false;
    Engine engine = Engine::open(folder_.file("nebis.yaml"), standard_drivers(), open).value();
    const Operation pay = engine.operation({.operation = "pay", .key = header("Idempotency-Key")}).value();
    int runs = 0;
    const auto ask = [&](const std::string& key) {
        Request request;
        request.method = "POST";
        request.path = "/pay";
        request.headers = {{"Idempotency-Key", "\"" + key + "\""}};
        return engine.run(pay, request, Handler([&](const Request&, Execution&) -> Response {
                              ++runs;
                              return {201, {}, "new", false};
                          }));
    };
    const Answer replay = ask("done");
    EXPECT_EQ(replay.outcome, Outcome::replayed) << (replay.error ? replay.error->text() : "");
    EXPECT_EQ(replay.response.body, "{\"order\":7}");
    EXPECT_EQ(replay.response.status, 200);
    EXPECT_TRUE(ask("done-long-ago").response.tombstone);
    EXPECT_EQ(ask("running").outcome, Outcome::in_progress);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(ask("failed").outcome, Outcome::fresh);
    EXPECT_EQ(ask("failed").outcome, Outcome::replayed);
    EXPECT_EQ(ask("new").outcome, Outcome::fresh);
    EXPECT_EQ(runs, 2);
}

TEST_F(MysqlMigrate, trace_ids_in_sql_are_those_of_the_library) {
    const std::vector<std::string> keys{"plain",
                                        " blank",
                                        "blank ",
                                        "Plain2",
                                        "sha256:abc",
                                        "SHA256:abc2",
                                        "a|b",
                                        "tab\there",
                                        "订单-7",
                                        "~",
                                        std::string(119, 'x'),
                                        std::string(120, 'x'),
                                        std::string(128, 'x'),
                                        "é\"'\\"};
    for (const char* const charset : {"utf8mb4", "gbk"}) {
        for (const std::string operation : {"pay", "pay|back", "支付"}) {
            start_anew();
            sql(article_table_mysql("idempotent_record"));
            sql(std::string("ALTER TABLE idempotent_record CONVERT TO CHARACTER SET ") + charset);
            for (const auto& key : keys) {
                std::string hex;
                for (const char c : key) {
                    constexpr const char* digits = "0123456789abcdef";
                    hex += digits[static_cast<unsigned char>(c) >> 4];
                    hex += digits[static_cast<unsigned char>(c) & 15];
                }
                sql("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES (CONVERT(x'" + hex +
                    "' USING utf8mb4), '" + operation + "', 1, NOW() + INTERVAL 1 DAY)");
            }
            const Ended up = run("up");
            ASSERT_EQ(up.code, 0) << up.err;
            for (const auto& key : keys) {
                std::string hex;
                for (const char c : identify::make_trace_id({}, {}, operation, key)) {
                    constexpr const char* digits = "0123456789abcdef";
                    hex += digits[static_cast<unsigned char>(c) >> 4];
                    hex += digits[static_cast<unsigned char>(c) & 15];
                }
                EXPECT_EQ(sql("SELECT COUNT(*) FROM idempotent_record WHERE trace_id = x'" + hex + "'"), "1")
                    << charset << " " << operation << " " << key;
            }
        }
    }
}

TEST_F(MysqlMigrate, times_without_a_zone_are_read_as_the_server_s_or_as_told) {
    sql("SET GLOBAL time_zone = '+08:00'");
    for (const std::string zone : {"", "+00:00"}) {
        start_anew();
        sql(article_table_mysql("idempotent_record"));
        sql("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time, create_time, update_time) VALUES "
            "('k', 'pay', 1, '2024-05-01 08:00:00', '2024-05-01 08:00:00', '2024-05-01 08:00:00')");
        const Ended done = zone.empty() ? run("up") : run("up", {"--time-zone", zone});
        ASSERT_EQ(done.code, 0) << done.err;
        EXPECT_EQ(sql("SELECT create_time FROM idempotent_record"), zone.empty() ? "1714521600000" : "1714550400000");
    }
    refused("up", 4, "the server doesn't know the time zone", {"--time-zone", "Moon/Base"});
    refused("up", 4, "not a time zone", {"--time-zone", "'; DROP"});
    start_anew();
    sql(article_table_mysql("idempotent_record"));
    sql("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time, update_time) VALUES ('k', 'pay', 1, "
        "NOW(), UTC_TIMESTAMP() + INTERVAL 9 HOUR)");
    refused("up", 4, "1 rows have a update_time in the future if it is read as +08:00");
    // Those with a zone are moments, whatever anybody's zone is.
    start_anew();
    sql(article_table_mysql("idempotent_record", ", UNIQUE KEY uk_trace_id (trace_id)", "TIMESTAMP"));
    sql("SET time_zone = '+02:00'");
    sql("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time, create_time, update_time) VALUES "
        "('k', "
        "'pay', 1, '2024-05-01 08:00:00', '2024-05-01 08:00:00', '2024-05-01 08:00:00')");
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(sql("SELECT create_time FROM idempotent_record"), "1714543200000");
    sql("SET GLOBAL time_zone = 'SYSTEM'");
}

TEST_F(MysqlMigrate, rows_that_no_index_can_hold_are_counted_and_never_shown) {
    const std::string insert = "INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES ";
    struct Case {
        std::string prepare, then, why;
    };
    for (const auto& [prepare, then, why] : {
             Case{insert + "('s3cret', 'pay', 1, NOW()), ('s3cret', 'pay', 1, NOW())", "",
                  "1 keys have more than one row"},
             Case{"ALTER TABLE idempotent_record MODIFY trace_id TEXT", insert + "(REPEAT('s', 129), 'pay', 1, NOW())",
                  "1 rows have a trace_id longer than 128 bytes"},
             Case{"ALTER TABLE idempotent_record MODIFY trace_id VARCHAR(128) NULL", insert + "(NULL, 'pay', 1, NOW())",
                  "1 rows have no trace_id"},
             Case{insert + "('s3cret', 'pay', 9, NOW())", "", "1 rows have a status other than 0 to 2"},
             Case{"SET sql_mode = ''", insert + "('s3cret', 'pay', 1, '0000-00-00')", "1 rows have no readable expire"},
             Case{"ALTER TABLE idempotent_record ADD region VARCHAR(9) NOT NULL", "",
                  "column region must have a value"},
             Case{"ALTER TABLE idempotent_record DROP expire_time", "", "it has no column expire_time"},
             Case{"ALTER TABLE idempotent_record MODIFY expire_time DATE NOT NULL", "", "can't become bigint"},
             Case{"ALTER TABLE idempotent_record DROP id", "", "it has no primary key of whole numbers"},
             Case{"CREATE TRIGGER mine AFTER INSERT ON idempotent_record FOR EACH ROW SET @x = 1", "",
                  "it has a trigger"},
             Case{"ALTER TABLE idempotent_record ADD boss BIGINT NULL, ADD FOREIGN KEY (boss) REFERENCES "
                  "idempotent_record (id)",
                  "", "a foreign key"},
         }) {
        sql("DROP TABLE IF EXISTS idempotent_record");
        sql(article_table_mysql("idempotent_record", ""));
        sql(prepare);
        if (!then.empty()) sql(then);
        for (const char* const command : {"plan", "up"}) {
            refused(command, 4, why);
            EXPECT_THAT(run(command).err, Not(HasSubstr("s3cret")));
        }
        EXPECT_EQ(run("status").code, 4);
        EXPECT_EQ(count("tables"), "1") << "untouched";
    }
    sql("CREATE TABLE idempotent_record_before (x INT)");
    refused("up", 4, "there is a table idempotent_record_before already");
    sql("DROP TABLE idempotent_record, idempotent_record_before");
    sql("CREATE VIEW idempotent_record AS SELECT 1 AS trace_id");
    refused("up", 4, "it is no plain table");
}

TEST_F(MysqlMigrate, missing_pieces_are_brought_and_rows_stay) {
    ASSERT_EQ(run("up").code, 0);
    sql("INSERT INTO idempotent_record (trace_id, biz_type, status, version, owner, attempts, request_hash, "
        "lease_expire_time, expire_time, create_time, update_time, response_body) VALUES ('k', 'pay', 1, 7, "
        "REPEAT('o', 16), 1, UNHEX(REPEAT('00', 33)), 1, 9999999999999, 1, 1, x'e7fe78')");
    for (const char* const damage :
         {"ALTER TABLE idempotent_record DROP KEY idx_lease", "DROP TABLE idempotent_key_rule",
          "ALTER TABLE idempotent_record DROP KEY idx_expire, ADD KEY idx_expire (expire_time)",
          "ALTER TABLE idempotent_record DROP KEY uk_trace_id",
          "ALTER TABLE idempotent_record DROP KEY uk_trace_id, ADD KEY uk_trace_id (trace_id)",
          "ALTER TABLE idempotent_record DROP outcome_ref", "ALTER TABLE idempotent_record DROP owner",
          "ALTER TABLE idempotent_record MODIFY version BIGINT NULL",
          "ALTER TABLE idempotent_record MODIFY id BIGINT NOT NULL",
          "ALTER TABLE idempotent_record MODIFY biz_type VARCHAR(64) NOT NULL",
          "ALTER TABLE idempotent_record MODIFY biz_type VARCHAR(255) COLLATE utf8mb4_general_ci NOT NULL",
          "ALTER TABLE idempotent_record MODIFY attempts INT NOT NULL", "ALTER TABLE idempotent_record ENGINE = Aria",
          "DELETE FROM idempotent_meta WHERE name <> 'schema'",
          "UPDATE idempotent_meta SET value = 0 WHERE name = 'schema'", "DROP TABLE idempotent_meta"}) {
        sql(damage);
        EXPECT_EQ(run("status").code, 3) << damage;
        const Ended up = run("up");
        ASSERT_EQ(up.code, 0) << damage << ": " << up.err;
        EXPECT_EQ(run("status").code, 0) << damage;
        const auto verified = mysql::store(options())->verify(soon());
        EXPECT_TRUE(verified) << damage << (verified ? "" : verified.error().text());
        EXPECT_EQ(sql("SELECT CONCAT(trace_id, version, outcome_ref, HEX(response_body)) FROM idempotent_record"),
                  "k7E7FE78")
            << damage;
        sql("DROP TABLE IF EXISTS idempotent_record_before");
    }
}

TEST_F(MysqlMigrate, newer_and_altered_schemas_are_left_alone) {
    ASSERT_EQ(run("up").code, 0);
    sql("UPDATE idempotent_meta SET value = 2 WHERE name = 'idempotent_record/schema'");
    EXPECT_EQ(run("status").code, 4);
    for (const char* const command : {"plan", "up", "down"}) refused(command, 4, "this program knows version 1");
    const auto verified = mysql::store(options())->verify(soon());
    ASSERT_FALSE(verified);
    EXPECT_THAT(verified.error().hint(), HasSubstr("that made it"));
    sql("UPDATE idempotent_meta SET value = 1 WHERE name = 'idempotent_record/schema'");
    sql("UPDATE idempotent_meta SET value = value + 1 WHERE name = 'idempotent_record/schema/1'");
    EXPECT_THAT(run("status").out, HasSubstr("altered"));
    for (const char* const command : {"plan", "up", "down"}) refused(command, 4, "applied from another text");
}

TEST_F(MysqlMigrate, down_loses_only_what_was_accepted) {
    sql(article_table_mysql("idempotent_record"));
    sql(article_rows_mysql("idempotent_record"));
    refused("down", 4, "run `nebis migrate up` first");
    ASSERT_EQ(run("up").code, 0);
    refused("down", 4, "would delete 5 records of idempotent_record, 1 of them in progress");
    refused("down", 4, "--lose 5", {"--lose", "4"});
    EXPECT_THAT(run("plan", {"--down"}).out, HasSubstr("DROP TABLE"));
    const std::string greatest = sql("SELECT MAX(version) FROM idempotent_record");
    EXPECT_EQ(run("down", {"--lose", "5"}).code, 0);
    EXPECT_EQ(run("status").code, 3);
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(sql("SELECT value FROM idempotent_meta WHERE name = 'idempotent_record/version_floor'"), greatest);
}

TEST_F(MysqlMigrate, a_user_without_rights_is_told_what_it_lacks) {
    sql(article_table_mysql("idempotent_record"));
    const std::string clerk = "clerk_" + database_;
    sql("CREATE USER " + clerk + " IDENTIFIED BY 'app-secret'");
    sql("GRANT SELECT, INSERT, UPDATE, DELETE ON " + database_ + ".* TO " + clerk);
    const std::vector<std::string> as{"--set", "datasources.primary.username=" + clerk};
    EXPECT_EQ(run("status", as).code, 3);
    refused("up", 5, "it needs CREATE, ALTER", as);
    sql("GRANT CREATE ON " + database_ + ".* TO " + clerk);
    refused("up", 5, "TRIGGER", as);
    EXPECT_EQ(sql("SELECT COUNT(*) FROM idempotent_record"), "0") << "it stands as before";
    sql("GRANT ALTER, DROP, INDEX, TRIGGER, LOCK TABLES ON " + database_ + ".* TO " + clerk);
    const Ended up = run("up", as);
    EXPECT_EQ(up.code, 0) << up.err;
    EXPECT_EQ(run("down", as).code, 0);
}

TEST_F(MysqlMigrate, two_at_once_do_it_once_and_the_wait_is_bounded) {
    for (int round = 0; round < 3; ++round) {
        start_anew();
        sql(article_table_mysql("idempotent_record"));
        sql(article_rows_mysql("idempotent_record"));
        Program one(folder_.path(), words("up")), other(folder_.path(), words("up"));
        const Ended first = one.wait(), second = other.wait();
        EXPECT_EQ(first.code, 0) << first.err;
        EXPECT_EQ(second.code, 0) << second.err;
        constexpr const char* step = "done: let it take the name";
        EXPECT_NE(first.err.find(step) == std::string::npos, second.err.find(step) == std::string::npos);
    }
    sql("DO GET_LOCK(CONCAT('nebis schema ', MD5(DATABASE())), 5)");
    const auto before = steady_clock::now();
    refused("up", 6, "another program is changing the schema", {"--lock-wait-seconds", "1"});
    EXPECT_LT(steady_clock::now() - before, std::chrono::seconds(10));
}

TEST_F(MysqlMigrate, killed_anywhere_the_next_one_finishes) {
    // After each of its steps, and at moments of no meaning.
    constexpr int steps = 8, moments = 32;
    int unfinished = 0, interrupted = 0;
    for (int point = 0; point < steps + moments; ++point) {
        start_anew();
        sql(article_table_mysql("idempotent_record"));
        sql(article_rows_mysql("idempotent_record"));
        sql(many_rows_mysql("idempotent_record", 5000));
        {
            Program up(folder_.path(), words("up"));
            if (point < steps)
                while (up.said("done: ") < point && !up.ended())
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
            else
                std::this_thread::sleep_for(milliseconds(8 * (point - steps)));
            up.kill();
            if (up.wait().code != 0) ++unfinished;
        }
        if (sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = "
                "'idempotent_record_nebis'") != "0")
            ++interrupted;
        const Ended next = run("up");
        ASSERT_EQ(next.code, 0) << "killed at point " << point << ": " << next.err;
        const Ended status = run("status");
        EXPECT_EQ(status.code, 0) << status.out;
        ASSERT_EQ(sql("SELECT COUNT(*) FROM idempotent_record AS now JOIN idempotent_record_before AS was ON "
                      "was.id = now.id WHERE now.trace_id = CONCAT('||pay|', was.trace_id) OR was.trace_id = '订单'"),
                  "5005");
        EXPECT_EQ(count("triggers"), "0");
        EXPECT_EQ(count("tables"), "4");
    }
    EXPECT_GT(unfinished, 15) << "the kills came too late to show anything";
    EXPECT_GT(interrupted, 3) << "none came while the copy was filled";
}

/// What docs/migrate.md promises: a second in line and the statement itself; the rest is for a busy machine.
constexpr long longest_block = 3000;

TEST_F(MysqlMigrate, begins_go_on_while_an_index_is_made) {
    ASSERT_EQ(run("up").code, 0);
    sql("INSERT INTO idempotent_record (trace_id, biz_type, status, version, owner, attempts, request_hash, "
        "lease_expire_time, expire_time, create_time, update_time) SELECT CONCAT('k', seq), 'pay', 1, 7, REPEAT('o', "
        "16), 1, UNHEX(REPEAT('00', 33)), 1, 9999999999999, 1, 1 FROM seq_1_to_300000");
    const auto store = mysql::store(options());
    auto session = store->open(soon()).value();
    sql("ALTER TABLE idempotent_record DROP KEY idx_expire");
    Load load([&](int i) {
        const std::string key = "new" + std::to_string(i);
        BeginRequest request;
        request.trace_id = key;
        request.operation = "pay";
        request.owner.bytes.fill(1);
        request.lease_millis = 60'000;
        request.retention_millis = 3'600'000;
        Result<BeginOutcome> out(BeginOutcome{});
        session->begin({&request, 1}, {&out, 1}, soon());
        if (!out) throw std::runtime_error(out.error().text());
        if (out.value().kind != BeginOutcome::Kind::acquired) throw std::runtime_error("not acquired");
    });
    std::this_thread::sleep_for(milliseconds(100));
    const Ended up = run("up");
    load.end();
    EXPECT_EQ(up.code, 0) << up.err;
    EXPECT_EQ(load.failure(), "");
    EXPECT_GT(load.done(), 20);
    std::printf("begins while an index on 300000 rows was made: %d, longest %ld ms\n", load.done(),
                load.longest_millis());
    EXPECT_LT(load.longest_millis(), longest_block);
}

TEST_F(MysqlMigrate, the_old_component_goes_on_until_the_names_change_and_no_row_of_its_is_lost) {
    sql(article_table_mysql("idempotent_record"));
    sql(many_rows_mysql("idempotent_record", 100000));
    ForeignMysql old(server().address());
    old.run("USE " + database_);
    std::atomic<int> written{0};
    long longest = 0;
    std::string ending;
    std::jthread component([&](const std::stop_token& stop) {
        try {
            for (int i = 0; !stop.stop_requested(); ++i) {
                const auto before = steady_clock::now();
                const std::string key = "'live" + std::to_string(i) + "'";
                old.run("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES (" + key +
                        ", 'pay', 0, NOW() + INTERVAL 1 DAY)");
                old.run("UPDATE idempotent_record SET status = 1, response_body = '{}' WHERE trace_id = " + key);
                ++written;
                // Some are of those that the batches copy, and some go.
                old.run("UPDATE idempotent_record SET response_body = 'y' WHERE trace_id = 'k" +
                        std::to_string(1 + i * 37 % 100000) + "'");
                old.run("DELETE FROM idempotent_record WHERE trace_id = 'k" +
                        std::to_string(1 + (i * 37 + 11) % 100000) + "'");
                longest = std::max<long>(
                    longest, std::chrono::duration_cast<milliseconds>(steady_clock::now() - before).count());
            }
        } catch (const std::exception& failure) {
            ending = failure.what();
        }
    });
    std::this_thread::sleep_for(milliseconds(100));
    const Ended up = run("up");
    component.request_stop();
    component.join();
    ASSERT_EQ(up.code, 0) << up.err;
    std::printf("the old component wrote %d rows meanwhile, longest %ld ms, ended by: %s\n", written.load(), longest,
                ending.c_str());
    EXPECT_GT(written.load(), 20);
    // Whichever statement met the new table first: it finds no such column, no such value, or no such key.
    if (!ending.empty()) {
        EXPECT_THAT(ending, testing::AnyOf(HasSubstr("doesn't have a default value"), HasSubstr("incorrect"),
                                           HasSubstr("Incorrect")))
            << "it must go on until the names change";
    }
    EXPECT_LT(longest, longest_block);
    const std::string differ = sql(
        "SELECT COUNT(*) FROM idempotent_record_before AS was LEFT JOIN idempotent_record AS now ON now.id = was.id "
        "AND now.trace_id = CONCAT('||pay|', was.trace_id) AND now.status = was.status AND now.response_body <=> "
        "CONCAT(x'e7fe', CAST(was.response_body AS BINARY)) WHERE now.id IS NULL AND was.status = 1");
    EXPECT_EQ(differ, "0");
    EXPECT_EQ(sql("SELECT COUNT(*) FROM idempotent_record AS now LEFT JOIN idempotent_record_before AS was ON was.id = "
                  "now.id WHERE was.id IS NULL AND now.trace_id LIKE '||pay|%'"),
              "0")
        << "what was deleted stays so";
    // One may have been under way when the names changed: then its UPDATE found nothing, and its row is PROCESSING.
    const int kept = std::stoi(sql("SELECT COUNT(*) FROM idempotent_record WHERE trace_id LIKE '||pay|live%'"));
    const int open =
        std::stoi(sql("SELECT COUNT(*) FROM idempotent_record WHERE trace_id LIKE '||pay|live%' AND "
                      "status = 0"));
    EXPECT_THAT(kept, testing::AllOf(testing::Ge(written.load()), testing::Le(written.load() + 1)));
    EXPECT_LE(open, 1);
}

TEST_F(MysqlMigrate, several_old_components_and_the_batches_never_lock_each_other_out) {
    sql(article_table_mysql("idempotent_record"));
    sql(many_rows_mysql("idempotent_record", 60000));
    constexpr int components = 4;
    std::array<std::string, components> endings;
    std::atomic<int> written{0};
    std::vector<std::jthread> threads;
    threads.reserve(components);
    for (int c = 0; c < components; ++c)
        threads.emplace_back([&, c](const std::stop_token& stop) {
            try {
                ForeignMysql old(server().address());
                old.run("USE " + database_);
                for (int i = c; !stop.stop_requested(); i += components) {
                    const std::string row = std::to_string(1 + i * 37 % 60000);
                    const std::string made = "'live" + std::to_string(i) + "'";
                    old.run("INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES (" + made +
                            ", 'pay', 0, NOW() + INTERVAL 1 DAY)");
                    old.run("UPDATE idempotent_record SET status = 1 WHERE trace_id = " + made);
                    old.run("UPDATE idempotent_record SET response_body = 'y' WHERE trace_id = 'k" + row + "'");
                    old.run("DELETE FROM idempotent_record WHERE trace_id = 'k" + row + "'");
                    ++written;
                }
            } catch (const std::exception& failure) {
                endings[static_cast<std::size_t>(c)] = failure.what();
            }
        });
    std::this_thread::sleep_for(milliseconds(100));
    const Ended up = run("up");
    threads.clear();
    ASSERT_EQ(up.code, 0) << up.err;
    EXPECT_GT(written.load(), 100);
    for (const std::string& ending : endings) EXPECT_THAT(ending, testing::Not(HasSubstr("Deadlock")));
}

TEST_F(MysqlMigrate, golden_plan) {
    sql(article_table_mysql("idempotent_record"));
    const std::string plan = run("plan").out;
    EXPECT_EQ(golden("plan_mysql_article.sql", plan), plan);
}

TEST_F(MysqlMigrate, a_server_that_is_away_is_unreachable) {
    EXPECT_EQ(run("status", {"--set", "datasources.primary.address=127.0.0.1:1"}).code, 6);
}

}  // namespace
