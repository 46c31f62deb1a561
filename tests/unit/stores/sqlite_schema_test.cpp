// SPDX-License-Identifier: Apache-2.0
#include "sqlite_bench.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>

// What a start refuses, with the step that mends it; rows altered by hand; two tables and two files.
namespace {

using namespace nebis;
using namespace nebis::test;

/// A file that each test spoils in its own way.
class SqliteSchema : public ::testing::Test {
protected:
    std::string path() const { return folder_.file("r.db"); }
    std::shared_ptr<Store> store(bool create = false) const {
        sqlite::Options options;
        options.path = path();
        options.create_schema = create;
        options.busy_timeout = std::chrono::milliseconds(100);
        return sqlite::store(std::move(options));
    }
    void make() const { ASSERT_TRUE(store(true)->verify(soon())); }
    /// Verifies, which must fail with this code; every such error says how to mend it.
    Error refusal(std::string_view code) const {
        auto verified = store()->verify(soon());
        EXPECT_FALSE(verified);
        if (verified) return Error(ErrorKind::internal, "verified");
        EXPECT_EQ(verified.error().code(), code) << verified.error().text();
        EXPECT_FALSE(verified.error().hint().empty());
        return std::move(verified).error();
    }
    /// The golden schema with one piece changed.
    void make_with(const std::string& from, const std::string& to) const {
        std::ifstream file(std::string(NEBIS_SOURCE_DIR) + "/stores/sqlite/schema.sql");
        std::string sql((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        const auto at = sql.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        sql.replace(at, from.size(), to);
        Sql db(path());
        db.run("PRAGMA journal_mode = WAL");
        db.run(sql);
    }

    TemporaryFolder folder_;
};

TEST_F(SqliteSchema, made_on_request_it_verifies) {
    EXPECT_FALSE(store()->verify(soon())) << "not without being asked";
    make();
    EXPECT_TRUE(store()->verify(soon()));
    EXPECT_EQ(Sql(path()).text("PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteSchema, golden_file_is_what_is_made) {
    make();
    TemporaryFolder other;
    Sql by_hand(other.file("h.db"));
    std::ifstream file(std::string(NEBIS_SOURCE_DIR) + "/stores/sqlite/schema.sql");
    by_hand.run(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()));
    const char* const all =
        "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)";
    EXPECT_EQ(Sql(path()).text(all), by_hand.text(all));
}

TEST_F(SqliteSchema, many_may_make_it_at_the_same_moment) {
    std::vector<std::future<std::string>> all;
    for (int i = 0; i < 8; ++i)
        all.push_back(std::async(std::launch::async, [this] {
            sqlite::Options options;
            options.path = path();
            options.create_schema = true;
            options.busy_timeout = std::chrono::seconds(20);
            const auto verified = sqlite::store(std::move(options))->verify(soon());
            return verified ? std::string() : verified.error().text();
        }));
    for (auto& one : all) EXPECT_EQ(one.get(), "");
}

TEST_F(SqliteSchema, upkeep_reads_its_indexes) {
    make();
    Sql db(path());
    const auto plan = [&](const std::string& sql) {
        std::string out;
        sqlite3_stmt* statement = nullptr;
        sqlite3_prepare_v2(db.get(), ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &statement, nullptr);
        while (sqlite3_step(statement) == SQLITE_ROW)
            out += reinterpret_cast<const char*>(sqlite3_column_text(statement, 3)) + std::string("\n");
        sqlite3_finalize(statement);
        return out;
    };
    EXPECT_NE(plan("SELECT rowid, version FROM idempotent_record WHERE status != 0 AND status != 4 AND status BETWEEN "
                   "0 AND 5 AND expire_time <= 5 ORDER BY expire_time LIMIT 9")
                  .find("idempotent_record_expire"),
              std::string::npos);
    EXPECT_NE(plan("SELECT trace_id FROM idempotent_record WHERE status = 0 AND lease_expire_time <= 5 ORDER BY "
                   "lease_expire_time LIMIT 9")
                  .find("idempotent_record_lease"),
              std::string::npos);
}

TEST_F(SqliteSchema, S14_clock_foreign_columns_and_versions_of_each_table_are_verified) {
    make();
    sqlite::Options options;
    options.path = path();
    options.clock = [] { return StoreMillis{5'000}; };
    EXPECT_EQ(sqlite::store(options)->verify(soon()).error().code(), "sqlite-clock");
    Sql db(path());
    db.run("UPDATE idempotent_meta SET value = 2 WHERE name = 'idempotent_record/schema'");
    EXPECT_FALSE(refusal("sqlite-schema-version").hint().empty());
    db.run("UPDATE idempotent_meta SET value = 1 WHERE name = 'idempotent_record/schema'");
    db.run("DELETE FROM idempotent_meta WHERE name != 'schema'");
    EXPECT_TRUE(store()->verify(soon())) << "a file made before tables had versions of their own";
    db.run("DROP TABLE idempotent_record");
    const Error missing = refusal("sqlite-no-table");
    EXPECT_NE(missing.hint().find("nebis migrate up"), std::string::npos);
    std::filesystem::remove(path());
    make_with("    outcome_ref ", "    theirs TEXT NOT NULL,\n    outcome_ref ");
    EXPECT_NE(refusal("sqlite-column").message().find("theirs"), std::string::npos);
}

TEST_F(SqliteSchema, B104_table_names_that_are_statements_are_refused) {
    make();
    sqlite::Options options;
    options.path = path();
    for (const std::string name : {"x; drop", "", "Idempotent", "a-b", "a b", "1st", "sqlite_x", "r\"", "täble"}) {
        const auto bad = sqlite::store(options, name);
        for (const auto& code : {bad->verify(soon()).error().code(), bad->open(soon()).error().code(),
                                 bad->create_schema(soon()).error().code()})
            EXPECT_EQ(code, "table-name") << name;
    }
    EXPECT_EQ(sqlite::store(options, std::string(64, 'a'))->verify(soon()).error().code(), "table-name");
    EXPECT_EQ(Sql(path()).number("SELECT count(*) FROM sqlite_schema WHERE name = 'idempotent_record'"), 1);
}

TEST_F(SqliteSchema, missing_file_and_missing_folder) {
    EXPECT_EQ(refusal("sqlite-cantopen").kind(), ErrorKind::unavailable);
    sqlite::Options options;
    options.path = folder_.file("no/such/folder.db");
    options.create_schema = true;
    EXPECT_EQ(sqlite::store(options)->verify(soon()).error().code(), "sqlite-cantopen");
    for (const char* const not_a_file : {":memory:", "", "file:x?mode=memory"}) {
        options.path = not_a_file;
        EXPECT_EQ(sqlite::store(options)->verify(soon()).error().code(), "sqlite-path");
    }
}

TEST_F(SqliteSchema, B106_missing_table) {
    Sql(path()).run("PRAGMA journal_mode = WAL; CREATE TABLE orders (id)");
    EXPECT_EQ(refusal("sqlite-no-table").kind(), ErrorKind::misconfigured);
    make();
    Sql(path()).run("DROP TABLE idempotent_record");
    EXPECT_EQ(refusal("sqlite-no-table").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, B106_missing_table_at_run_time) {
    make();
    auto session = store()->open(soon());
    ASSERT_TRUE(session);
    Sql(path()).run("DROP TABLE idempotent_record");
    const auto out = begin(**session, "k", owner(1));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(out.error().code(), "sqlite-schema");
}

TEST_F(SqliteSchema, B106_wrong_columns) {
    make_with("    owner             BLOB    NOT NULL,", "    owner             TEXT    NOT NULL,");
    EXPECT_NE(refusal("sqlite-column").message().find("idempotent_record.owner"), std::string::npos);
    Sql(path()).run("DROP TABLE idempotent_record");
    make_with("    outcome_ref       TEXT    NOT NULL DEFAULT '',", "");
    EXPECT_NE(refusal("sqlite-column").message().find("outcome_ref"), std::string::npos);
    Sql(path()).run("DROP TABLE idempotent_record");
    make_with("    owner             BLOB    NOT NULL,", "    owner             BLOB,");
    EXPECT_EQ(refusal("sqlite-column").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, B106_missing_unique_key) {
    make_with("    PRIMARY KEY (trace_id)\n", "    PRIMARY KEY (trace_id, biz_type)\n");
    EXPECT_EQ(refusal("sqlite-no-key").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, B106_key_with_a_collation_of_its_own) {
    make_with("    trace_id          BLOB    NOT NULL,", "    trace_id          BLOB    NOT NULL COLLATE NOCASE,");
    EXPECT_NE(refusal("sqlite-key-collation").detail().find("NOCASE"), std::string::npos);
}

TEST_F(SqliteSchema, B106_missing_upkeep_index) {
    make();
    Sql(path()).run("DROP INDEX idempotent_record_expire");
    EXPECT_EQ(refusal("sqlite-no-index").kind(), ErrorKind::misconfigured);
    make();
    Sql(path()).run("DROP INDEX idempotent_record_lease");
    EXPECT_EQ(refusal("sqlite-no-index").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, B106_newer_and_older_schema) {
    make();
    Sql(path()).run("UPDATE idempotent_meta SET value = 2 WHERE name = 'schema'");
    EXPECT_NE(refusal("sqlite-schema-version").message().find("version 2"), std::string::npos);
    Sql(path()).run("UPDATE idempotent_meta SET value = 0 WHERE name = 'schema'");
    EXPECT_EQ(refusal("sqlite-schema-version").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, file_without_write_ahead_log) {
    make();
    ASSERT_EQ(Sql(path()).text("PRAGMA journal_mode = DELETE"), "delete");
    EXPECT_EQ(refusal("sqlite-not-wal").kind(), ErrorKind::misconfigured);
}

TEST_F(SqliteSchema, unique_index_that_lost_a_row_never_lets_a_key_run_twice) {
    make();
    auto session = *store()->open(soon());
    ASSERT_EQ(begin(*session, "k", owner(1))->kind, BeginOutcome::Kind::acquired);
    {
        // The index entry points elsewhere, as a bad disk would leave it: the key is taken, and its row can't be found.
        Sql db(path());
        db.run("PRAGMA writable_schema = ON");
        db.run("CREATE TABLE shadow (k BLOB PRIMARY KEY)");
        db.run("INSERT INTO shadow (rowid, k) VALUES (4711, CAST('k' AS BLOB))");
        const std::string root =
            db.text("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'shadow' AND type = 'index'");
        db.run("UPDATE sqlite_schema SET rootpage = " + root +
               " WHERE tbl_name = 'idempotent_record' AND name LIKE 'sqlite_autoindex%'");
    }
    session = *store()->open(soon());
    BeginRequest request = begin_request("k", owner(2));
    request.take_over_lease = request.take_over_unknown = true;
    const auto out = begin(*session, request);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::corrupt) << out.error().text();
}

TEST_F(SqliteSchema, not_a_database_and_a_damaged_one) {
    std::ofstream(path()) << std::string(8192, 'x');
    EXPECT_EQ(refusal("sqlite-notadb").kind(), ErrorKind::corrupt);
    std::filesystem::remove(path());
    make();
    Sql(path()).run("PRAGMA wal_checkpoint(TRUNCATE)");
    {
        std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(100);
        file << std::string(3000, '\xAA');
    }
    const Error error = refusal("sqlite-corrupt");
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
}

TEST_F(SqliteSchema, read_only_file) {
    make();
    // Root may write everything, so the read-only way in is SQLite's own.
    sqlite::Options options;
    options.path = path();
    const auto read_only = folder_.file("ro.db");
    std::filesystem::copy_file(path(), read_only);
    if (geteuid() != 0) {
        chmod(read_only.c_str(), 0444);
    } else {
        // A file system that is mounted read-only looks like this to open(2); /proc is one that every container has.
        options.path = "/proc/version";
        const auto refused = sqlite::store(options)->verify(soon());
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().kind(), ErrorKind::internal) << refused.error().text();
        return;
    }
    options.path = read_only;
    const auto refused = sqlite::store(options)->verify(soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), "sqlite-readonly");
}

// ---- rows

class SqliteRows : public SqliteTest {
protected:
    /// An older or foreign table that let everything in.
    void loosen() {
        Sql db(path());
        db.run("DROP TABLE idempotent_record");
        db.run(
            "CREATE TABLE idempotent_record (trace_id BLOB NOT NULL PRIMARY KEY, biz_type, status, version, owner, "
            "attempts, request_hash,"
            " lease_expire_time, expire_time, create_time, update_time, instance DEFAULT '', outcome_ref DEFAULT '', "
            "request_body, response_body)");
        session_ = open(*store_);
    }
};

TEST_F(SqliteRows, B105_rows_altered_by_hand_are_refused_and_never_executed) {
    loosen();
    const auto version = acquire("k", owner(1));
    Response response;
    response.body = "secret answer";
    ASSERT_TRUE(finish(*session_, "k", version, owner(1), RecordStatus::success, &response)->applied);
    acquire("neighbour", owner(2));
    const std::pair<std::string, std::string> edits[] = {
        {"status", "9"},
        {"status", "-1"},
        {"status", "NULL"},
        {"status", "'done'"},
        {"owner", "NULL"},
        {"owner", "x'00'"},
        {"version", "0"},
        {"version", "-5"},
        {"version", "NULL"},
        {"version", "9223372036854775807"},
        {"attempts", "0"},
        {"attempts", "NULL"},
        {"request_hash", "NULL"},
        {"request_hash", "x'0102'"},
        {"response_body", "x'00'"},
        {"response_body", "substr(response_body, 1, 12)"},
        {"response_body", "'text'"},
        {"response_body", "CAST(replace(CAST(response_body AS TEXT), 'secret', 'SECRET') AS BLOB)"},
    };
    for (const auto& [column, value] : edits) {
        Sql(path()).run("CREATE TABLE kept AS SELECT * FROM idempotent_record WHERE trace_id = CAST('k' AS BLOB)");
        Sql(path()).run("UPDATE idempotent_record SET " + column + " = " + value +
                        " WHERE trace_id = CAST('k' AS BLOB)");
        BeginRequest request = begin_request("k", owner(3));
        request.take_over_lease = request.take_over_unknown = request.lapse = true;
        const std::string what = column + " = " + value;
        for (const auto& error : {begin(*session_, request).error(), find(*session_, "k").error()}) {
            EXPECT_EQ(error.kind(), ErrorKind::corrupt) << what;
            EXPECT_EQ(error.code(), "record-damaged") << what;
            EXPECT_NE(error.message().find("key "), std::string::npos) << "named by its hash: " << error.message();
            EXPECT_EQ(error.text().find("secret"), std::string::npos) << what;
        }
        const auto late = finish(*session_, "k", version, owner(1), RecordStatus::fail);
        EXPECT_TRUE(!late || !late->applied) << what;
        EXPECT_EQ(begin(*session_, "neighbour", owner(4))->kind, BeginOutcome::Kind::in_progress)
            << "others are not harmed by " << what;
        Sql(path()).run(
            "DELETE FROM idempotent_record WHERE trace_id = CAST('k' AS BLOB); INSERT INTO idempotent_record SELECT * "
            "FROM kept; DROP TABLE kept");
    }
    EXPECT_EQ(begin(*session_, "k", owner(3))->kind, BeginOutcome::Kind::finished) << "mended, it is believed again";
}

TEST_F(SqliteRows, B105_strict_table_refuses_most_edits_itself) {
    acquire("k", owner(1));
    Sql db(path());
    for (const char* const edit : {"owner = NULL", "status = 'done'", "trace_id = 'k'", "version = NULL"})
        EXPECT_NE(sqlite3_exec(db.get(), (std::string("UPDATE idempotent_record SET ") + edit).c_str(), nullptr,
                               nullptr, nullptr),
                  SQLITE_OK)
            << edit;
}

TEST_F(SqliteRows, C13_no_deadline_is_held_until_the_records_own_expiry) {
    loosen();
    const StoreMillis now = *session_->now(soon());
    for (const std::string deadline : {"NULL", "0", "'soon'"}) {
        const std::string key = "k" + deadline;
        acquire(key, owner(1));
        Sql(path()).run("UPDATE idempotent_record SET lease_expire_time = " + deadline + " WHERE status = 0");
        BeginRequest request = begin_request(key, owner(2));
        request.take_over_lease = request.lapse = true;
        EXPECT_EQ(begin(*session_, request)->kind, BeginOutcome::Kind::in_progress) << deadline;
        EXPECT_TRUE(session_->recover({}, soon())->empty()) << deadline;
        Sql(path()).run("UPDATE idempotent_record SET expire_time = " + std::to_string(now - 1));
        EXPECT_EQ(begin(*session_, request)->kind, BeginOutcome::Kind::acquired)
            << "after it the attempt is over: " << deadline;
    }
}

TEST_F(SqliteRows, C05_readable_in_the_shell) {
    acquire("tenant:order:7", owner(1));
    EXPECT_EQ(Sql(path()).text("SELECT CAST(trace_id AS TEXT) FROM idempotent_record WHERE biz_type = 'order'"),
              "tenant:order:7");
}

TEST_F(SqliteRows, foreign_constraint_is_not_a_duplicate) {
    // S12: only our own index means "somebody was there before".
    Sql(path()).run("CREATE UNIQUE INDEX theirs ON idempotent_record (biz_type)");
    acquire("a", owner(1));
    const auto out = begin(*session_, "b", owner(2));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code(), "sqlite-constraint");
    EXPECT_EQ(out.error().kind(), ErrorKind::misconfigured);
    EXPECT_FALSE(there("b"));
}

TEST_F(SqliteRows, bad_row_of_a_batch_harms_no_other) {
    Sql(path()).run(
        "CREATE TRIGGER no_bad BEFORE INSERT ON idempotent_record WHEN NEW.trace_id = CAST('bad' AS BLOB)"
        " BEGIN SELECT RAISE(ABORT, 'not this one'); END");
    const std::vector<BeginRequest> requests{begin_request("a", owner(1)), begin_request("bad", owner(2)),
                                             begin_request("c", owner(3))};
    std::vector<Result<BeginOutcome>> out(3, Error(ErrorKind::internal, "not set"));
    session_->begin(requests, out, soon());
    EXPECT_EQ(out[0]->kind, BeginOutcome::Kind::acquired);
    EXPECT_FALSE(out[1]);
    EXPECT_EQ(out[2]->kind, BeginOutcome::Kind::acquired);
    EXPECT_TRUE(there("a") && there("c") && !there("bad"));
}

TEST_F(SqliteRows, trigger_that_rolls_everything_back_takes_the_whole_batch) {
    Sql(path()).run(
        "CREATE TRIGGER no_bad BEFORE INSERT ON idempotent_record WHEN NEW.trace_id = CAST('bad' AS BLOB)"
        " BEGIN SELECT RAISE(ROLLBACK, 'nobody'); END");
    const std::vector<BeginRequest> requests{begin_request("a", owner(1)), begin_request("bad", owner(2)),
                                             begin_request("c", owner(3))};
    std::vector<Result<BeginOutcome>> out(3, Error(ErrorKind::internal, "not set"));
    session_->begin(requests, out, soon());
    for (const auto& one : out) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::misconfigured);
    }
    EXPECT_FALSE(there("a") || there("bad") || there("c"));
}

TEST_F(SqliteRows, S15_second_table_and_second_file_are_worlds_of_their_own) {
    acquire("k", owner(1));
    const auto refunds = sqlite::store(database_, "refund_record");
    ASSERT_TRUE(refunds->create_schema(soon()));
    EXPECT_EQ(begin(*open(*refunds), "k", owner(2))->kind, BeginOutcome::Kind::acquired);
    sqlite::Options options;
    options.path = folder_.file("second.db");
    options.create_schema = true;
    const auto second = sqlite::store(options);
    EXPECT_EQ(begin(*open(*second), "k", owner(3))->kind, BeginOutcome::Kind::acquired);
    EXPECT_EQ(begin(*session_, "k", owner(4))->owner, owner(1));
}

TEST_F(SqliteRows, C50_clean_up_gives_the_write_lock_back_between_small_commits) {
    Sql db(path());
    db.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO idempotent_record "
        "SELECT"
        " CAST('old' || i AS BLOB), 'o', 1, i, zeroblob(16), 1, zeroblob(33), 1, 2, 1, 1, '', '', NULL, NULL FROM n");
    const int before = db.number("PRAGMA data_version");
    CleanRequest all;
    all.limit = 1000;
    EXPECT_EQ(*session_->clean(all, soon()), 1000U);
    EXPECT_NE(db.number("PRAGMA data_version"), before);
    EXPECT_EQ(db.number("SELECT value FROM idempotent_meta WHERE name = 'idempotent_record/version_floor'"), 1000);
}

TEST_F(SqliteRows, version_grows_over_deletes_even_when_the_clock_steps_back) {
    const auto first = acquire("k", owner(1));
    ASSERT_TRUE(*session_->purge("k", first, soon()));
    sqlite::Options options;
    options.path = path();
    options.clock = [] { return StoreMillis{1'600'000'000'000}; };
    auto session = open(*sqlite::store(options));
    EXPECT_GT(begin(*session, "k", owner(2))->version, first);
}

}  // namespace
