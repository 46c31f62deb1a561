// SPDX-License-Identifier: Apache-2.0
#include "nebis/sqlite.hpp"

#include "nebis/migrate.hpp"
#include "nebis/nebis.hpp"
#include "nebis/starter.hpp"
#include "program.hpp"
#include "temporary_folder.hpp"

#include <gmock/gmock.h>

#include <sqlite3.h>

#include <future>
#include <thread>

// `nebis migrate` on real SQLite files: every state and command, tables made by hand, two at a time, kills.
namespace {

using namespace nebis;
using namespace nebis::test;
using testing::HasSubstr;
using testing::Not;

/// The article's table, as somebody writes it for SQLite.
constexpr const char* article =
    "CREATE TABLE idempotent_record (id INTEGER PRIMARY KEY AUTOINCREMENT, trace_id VARCHAR(128) NOT NULL, biz_type "
    "VARCHAR(64) NOT NULL, status TINYINT NOT NULL DEFAULT 0, request_body TEXT, response_body TEXT, expire_time "
    "DATETIME NOT NULL, create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP, update_time DATETIME NOT NULL DEFAULT "
    "CURRENT_TIMESTAMP, CONSTRAINT uk_trace_id UNIQUE (trace_id));";
constexpr const char* rows =
    "INSERT INTO idempotent_record (trace_id, biz_type, status, response_body, expire_time) VALUES"
    " ('done', 'pay', 1, '{\"order\":7}', datetime('now', '+1 day')),"
    " ('done-long-ago', 'pay', 1, NULL, datetime('now', '+1 day')),"
    " ('failed', 'pay', 2, NULL, datetime('now', '+1 day')),"
    " ('running', 'pay', 0, NULL, datetime('now', '+1 day')),"
    " ('订单', 'pay', 1, '\"y\"', datetime('now', '+1 day'));";
/// The same without the promise of one row a key.
std::string keyless() {
    std::string sql = article;
    sql.replace(sql.find(", CONSTRAINT"), sql.find("));") + 1 - sql.find(", CONSTRAINT"), "");
    return sql;
}

class SqliteMigrate : public testing::Test {
protected:
    SqliteMigrate() {
        std::ofstream(folder_.file("nebis.yaml"))
            << "nebis:\n  idempotent:\n    datasources: {primary: {driver: sqlite, path: " << path()
            << "}}\n    lock: {driver: none}\n    scope: public\n";
    }
    std::string path() const { return folder_.file("r.db"); }

    void sql(const std::string& text) const {
        sqlite3* db = nullptr;
        sqlite3_open(path().c_str(), &db);
        sqlite3_busy_timeout(db, 10'000);
        char* why = nullptr;
        EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &why), SQLITE_OK) << text << ": " << why;
        sqlite3_free(why);
        sqlite3_close(db);
    }
    std::string value(const std::string& text) const {
        sqlite3* db = nullptr;
        sqlite3_open(path().c_str(), &db);
        sqlite3_stmt* statement = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(db, text.c_str(), -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
        std::string out;
        if (sqlite3_step(statement) == SQLITE_ROW)
            if (const auto* bytes = sqlite3_column_text(statement, 0)) out = reinterpret_cast<const char*>(bytes);
        sqlite3_finalize(statement);
        sqlite3_close(db);
        return out;
    }
    std::vector<std::string> words(const std::string& command, std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"migrate", command, "--config", folder_.file("nebis.yaml")};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    Ended run(const std::string& command, std::vector<std::string> more = {}) const {
        return Program(folder_.path(), words(command, std::move(more))).wait();
    }
    /// What every refusal must be.
    void refused(const std::string& command, int code, const std::string& why,
                 const std::vector<std::string>& more = {}) const {
        const Ended ended = run(command, more);
        EXPECT_EQ(ended.code, code) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr(why));
        EXPECT_EQ(ended.out, "");
    }

    TemporaryFolder folder_;
};

TEST_F(SqliteMigrate, nothing_there) {
    const Ended status = run("status");
    EXPECT_EQ(status.code, 3);
    EXPECT_THAT(status.out, HasSubstr("missing, version 0 of 1"));
    EXPECT_FALSE(std::filesystem::exists(path())) << "asking makes no file";
    EXPECT_EQ(run("plan").code, 0);
    EXPECT_FALSE(std::filesystem::exists(path()));
    EXPECT_EQ(run("down").code, 0);
    EXPECT_EQ(run("up").code, 0);
    EXPECT_EQ(run("status").code, 0);
    const Ended again = run("up");
    EXPECT_EQ(again.code, 0);
    EXPECT_THAT(again.err, HasSubstr("already current"));
    EXPECT_EQ(run("plan").out, "");
    EXPECT_EQ(value("PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteMigrate, what_up_makes_is_what_create_schema_makes) {
    ASSERT_EQ(run("up").code, 0);
    const char* const all =
        "SELECT (SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY "
        "name))"
        " || (SELECT group_concat(name || value) FROM (SELECT * FROM idempotent_meta ORDER BY name))";
    const std::string by_up = value(all);
    std::filesystem::remove(path());
    sqlite::Options options;
    options.path = path();
    options.create_schema = true;
    ASSERT_TRUE(sqlite::store(options)->verify(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
    EXPECT_EQ(value(all), by_up);
    EXPECT_EQ(run("status").code, 0) << "and it is current";
}

TEST_F(SqliteMigrate, start_up_names_the_command) {
    sql("CREATE TABLE t (x)");
    OpenOptions options;
    options.use_environment = false;
    const auto engine = Engine::open(folder_.file("nebis.yaml"), standard_drivers(), options);
    ASSERT_FALSE(engine);
    EXPECT_THAT(engine.error().text(), HasSubstr("nebis migrate up"));
}

TEST_F(SqliteMigrate, articles_table_with_rows_is_taken_over_and_an_engine_goes_on_with_it) {
    sql(std::string(article) + rows);
    EXPECT_EQ(run("status").code, 3);
    const Ended done = run("up");
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("idempotent_record_before"));
    EXPECT_EQ(value("SELECT count(*) FROM idempotent_record_before"), "5") << "nothing is lost";
    EXPECT_EQ(run("status").code, 0);

    OpenOptions options;
    options.use_environment = false;
    Engine engine = Engine::open(folder_.file("nebis.yaml"), standard_drivers(), options).value();
    const Operation pay =
        engine.operation({.operation = "pay", .key = header("Idempotency-Key"), .scope = Scope::shared}).value();
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
    EXPECT_TRUE(ask("done-long-ago").response.tombstone) << "it is done; nobody kept the answer";
    EXPECT_EQ(ask("running").outcome, Outcome::in_progress);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(ask("failed").outcome, Outcome::fresh);
    EXPECT_EQ(ask("failed").outcome, Outcome::replayed);
    EXPECT_EQ(ask("new").outcome, Outcome::fresh);
    EXPECT_EQ(runs, 2);
}

TEST_F(SqliteMigrate, rows_that_no_index_can_hold_are_counted_and_never_shown) {
    const std::string insert = "INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES ";
    const std::string tail = ", '2030-01-01 00:00:00')";
    struct Case {
        std::string rows, why;
    };
    for (const auto& [values, why] : {
             Case{"('s3cret', 'pay', 1" + tail + ", ('s3cret', 'pay', 1" + tail, "1 keys have more than one row"},
             Case{"('" + std::string(129, 's') + "', 'pay', 1" + tail, "1 rows have a trace_id longer than 128 bytes"},
             Case{"('s3cret', 'pay', 9" + tail, "1 rows have a status other than 0 to 2"},
             Case{"('s3cret', 'pay', 1, 'soon')", "1 rows have no readable expire_time"},
         }) {
        std::filesystem::remove(path());
        sql(keyless() + insert + values);
        for (const char* const command : {"plan", "up"}) {
            refused(command, 4, why);
            EXPECT_THAT(run(command).err, Not(HasSubstr("s3cret")));
        }
        EXPECT_EQ(run("status").code, 4);
        EXPECT_EQ(value("SELECT count(*) FROM sqlite_schema WHERE name = 'idempotent_meta'"), "0") << "untouched";
        EXPECT_EQ(value("PRAGMA journal_mode"), "delete") << "untouched";
    }
    std::filesystem::remove(path());
    std::string nullable = keyless();
    nullable.replace(nullable.find("trace_id VARCHAR(128) NOT NULL"), 30, "trace_id VARCHAR(128)");
    sql(nullable + insert + "(NULL, 'pay', 1" + tail);
    refused("up", 4, "1 rows have no trace_id");
}

TEST_F(SqliteMigrate, missing_pieces_are_brought_and_rows_stay) {
    ASSERT_EQ(run("up").code, 0);
    sql("DROP INDEX idempotent_record_lease; DROP TABLE idempotent_key_rule; ALTER TABLE idempotent_record DROP COLUMN "
        "outcome_ref; INSERT INTO idempotent_record SELECT CAST('k' AS BLOB), 'pay', 1, 7, randomblob(16), 1, "
        "zeroblob(33), 1, 9999999999999, 1, 1, '', NULL, NULL");
    const Ended status = run("status");
    EXPECT_EQ(status.code, 3);
    for (const char* const piece : {"idempotent_record.outcome_ref is missing", "idempotent_key_rule is missing"})
        EXPECT_THAT(status.out, HasSubstr(piece));
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(run("status").code, 0);
    EXPECT_EQ(value("SELECT trace_id || version || outcome_ref FROM idempotent_record"), "k7");
}

TEST_F(SqliteMigrate, an_older_version_is_raised_once_everything_is_there) {
    ASSERT_EQ(run("up").code, 0);
    sql("UPDATE idempotent_meta SET value = 0 WHERE name IN ('schema', 'idempotent_record/schema')");
    EXPECT_EQ(run("status").code, 3);
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(run("status").code, 0);
}

TEST_F(SqliteMigrate, newer_and_altered_schemas_are_left_alone) {
    ASSERT_EQ(run("up").code, 0);
    sql("UPDATE idempotent_meta SET value = 2 WHERE name = 'idempotent_record/schema'");
    EXPECT_EQ(run("status").code, 4);
    for (const char* const command : {"plan", "up", "down"}) refused(command, 4, "this program knows version 1");
    sql("UPDATE idempotent_meta SET value = 1 WHERE name = 'idempotent_record/schema'; UPDATE idempotent_meta SET "
        "value = "
        "value + 1 WHERE name = 'idempotent_record/schema/1'");
    EXPECT_THAT(run("status").out, HasSubstr("altered"));
    for (const char* const command : {"plan", "up", "down"}) refused(command, 4, "applied from another text");
}

TEST_F(SqliteMigrate, down_loses_only_what_was_accepted) {
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(run("down").code, 0) << "empty: nothing is lost";
    ASSERT_EQ(run("up").code, 0);
    sql("INSERT INTO idempotent_record SELECT CAST(value AS BLOB), 'pay', 0, 7, randomblob(16), 1, zeroblob(33), 1, "
        "9999999999999, 1, 1, '', '', NULL, NULL FROM json_each('[1,2,3]')");
    refused("down", 4, "would delete 3 records of idempotent_record, 3 of them in progress");
    refused("down", 4, "--lose 3", {"--lose", "2"});
    EXPECT_THAT(run("plan", {"--down"}).out, HasSubstr("DROP TABLE idempotent_record;"));
    EXPECT_EQ(run("down", {"--lose", "3"}).code, 0);
    EXPECT_EQ(run("status").code, 3);
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(value("SELECT value FROM idempotent_meta WHERE name = 'idempotent_record/version_floor'"), "7")
        << "tokens grow over it";
}

TEST_F(SqliteMigrate, tables_of_a_file_are_versioned_each_for_itself) {
    ASSERT_EQ(run("up").code, 0);
    EXPECT_EQ(run("status", {"--table", "refund_record"}).code, 3);
    ASSERT_EQ(run("up", {"--table", "refund_record"}).code, 0);
    EXPECT_EQ(run("down", {"--table", "refund_record"}).code, 0);
    EXPECT_EQ(run("status").code, 0) << "the other one is as it was";
    EXPECT_EQ(run("up", {"--table", "x; DROP"}).code, 5);
}

TEST_F(SqliteMigrate, two_at_once_do_it_once) {
    for (int round = 0; round < 5; ++round) {
        std::filesystem::remove(path());
        sql(std::string(article) + rows);
        Program one(folder_.path(), words("up")), other(folder_.path(), words("up"));
        const Ended first = one.wait(), second = other.wait();
        EXPECT_EQ(first.code, 0) << first.err;
        EXPECT_EQ(second.code, 0) << second.err;
        EXPECT_NE(first.err.find("done: copy") == std::string::npos,
                  second.err.find("done: copy") == std::string::npos);
        EXPECT_EQ(value("SELECT count(*) FROM idempotent_record"), "5");
    }
}

TEST_F(SqliteMigrate, killed_anywhere_the_next_one_finishes) {
    int unfinished = 0, finished = 0;
    for (int point = 0; point < 40; ++point) {
        std::filesystem::remove(path());
        for (const char* const tail : {"-wal", "-shm"}) std::filesystem::remove(path() + tail);
        sql(std::string(article) + rows +
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO "
            "idempotent_record "
            "(trace_id, biz_type, status, expire_time) SELECT 'k' || i, 'pay', 1, datetime('now', '+1 day') FROM n");
        {
            Program up(folder_.path(), words("up"));
            std::this_thread::sleep_for(std::chrono::milliseconds(4 * point));
            up.kill();
            (up.wait().code == 0 ? finished : unfinished)++;
        }
        EXPECT_THAT((std::vector<int>{0, 3}), testing::Contains(run("status").code)) << "all or nothing";
        const Ended next = run("up");
        ASSERT_EQ(next.code, 0) << next.err;
        EXPECT_EQ(run("status").code, 0);
        ASSERT_EQ(value("SELECT count(*) FROM idempotent_record"), "20005");
    }
    EXPECT_GT(unfinished, 10) << "the kills came too late to show anything; finished: " << finished;
}

TEST_F(SqliteMigrate, a_file_that_is_held_is_waited_for_and_no_longer_than_said) {
    ASSERT_EQ(run("up").code, 0);
    sql("DROP INDEX idempotent_record_lease");
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    refused("up", 6, "another transaction holds the file", {"--lock-wait-seconds", "1"});
    auto later = std::async(std::launch::async, [&] { return run("up"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(db);
    EXPECT_EQ(later.get().code, 0);
}

TEST_F(SqliteMigrate, usage_and_configuration) {
    const auto code = [&](std::vector<std::string> all) { return Program(folder_.path(), std::move(all)).wait().code; };
    EXPECT_EQ(code({"migrate"}), 2);
    EXPECT_EQ(code({"migrate", "sideways"}), 2);
    EXPECT_EQ(code({"migrate", "down", "--lose", "many"}), 2);
    EXPECT_EQ(code({"migrate", "status", "--config", folder_.file("gone.yaml")}), 5);
    EXPECT_EQ(run("status", {"--data-source", "gone"}).code, 5);
    EXPECT_EQ(run("up", {"--set", "datasources.primary.path=" + folder_.file("no/folder.db")}).code, 6);
    const Ended memory = run("up", {"--set", "datasources.primary.driver=memory"});
    EXPECT_EQ(memory.code, 0);
    EXPECT_THAT(memory.err, HasSubstr("nothing to migrate: the store 'memory' has no tables"));
    std::ofstream(folder_.file("redis.yaml"))
        << "nebis: {idempotent: {datasources: {primary: {driver: redis}}, lock: {driver: none}, scope: public}}\n";
    for (const char* command : {"status", "plan", "up", "down"}) {
        const Ended redis =
            Program(folder_.path(), {"migrate", command, "--config", folder_.file("redis.yaml")}).wait();
        EXPECT_EQ(redis.code, 0) << redis.err;
        EXPECT_THAT(redis.err, HasSubstr("primary: nothing to migrate: the store 'redis' has no tables"));
    }
    EXPECT_EQ(code({"--version"}), 0);
}

TEST_F(SqliteMigrate, json_for_programs) {
    sql(keyless() +
        "INSERT INTO idempotent_record (trace_id, biz_type, status, expire_time) VALUES ('k', 'pay', 7, 1)");
    EXPECT_THAT(run("status", {"--json"}).out,
                testing::AllOf(HasSubstr(R"("state":"older")"), HasSubstr(R"("version":0,"newest":1)"),
                               HasSubstr(R"("what":"1 rows have a status other than 0 to 2")")));
}

TEST_F(SqliteMigrate, golden_help_and_plan) {
    const auto of = [&](std::vector<std::string> all) { return Program(folder_.path(), std::move(all)).wait().out; };
    const std::string help = of({"migrate", "--help"});
    EXPECT_TRUE(help.starts_with("Examples:\n"));
    EXPECT_EQ(golden("help.txt", help), help);
    sql(article);
    const std::string plan = run("plan").out;
    EXPECT_EQ(golden("plan_sqlite_article.sql", plan), plan);
}

}  // namespace
