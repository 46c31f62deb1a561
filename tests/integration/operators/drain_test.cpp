// SPDX-License-Identifier: Apache-2.0
#include "nebis/starter.hpp"
#include "program.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/record_table.hpp"
#include "temporary_folder.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

// `nebis drain` (S40): nothing is left half-way before a fleet goes back, on each store that can count its leases.
namespace {

using namespace nebis;
using namespace nebis::test;
using std::chrono::milliseconds;
using testing::HasSubstr;

using Settings = std::map<std::string, std::string>;

struct Kind {
    const char* driver;
    Settings (*settings)(const TemporaryFolder&);
    void (*run)(const TemporaryFolder&, const std::string& sql);
};

Settings sqlite(const TemporaryFolder& folder) { return {{"path", folder.file("r.db")}}; }
void sqlite_run(const TemporaryFolder& folder, const std::string& sql) {
    ASSERT_EQ(std::system(("sqlite3 " + folder.file("r.db") + " \"" + sql + "\"").c_str()), 0);
}

PostgresServer& postgres_server() {
    static PostgresServer server;
    return server;
}
Settings postgres(const TemporaryFolder&) {
    return {{"address", postgres_server().address()}, {"username", "app"}, {"connect-timeout-millis", "10000"}};
}
void postgres_run(const TemporaryFolder&, const std::string& sql) {
    ForeignSession(postgres_server().address()).run(sql);
}

MariadbServer& mariadb_server() {
    static MariadbServer server;
    return server;
}
Settings mysql(const TemporaryFolder&) {
    return {{"address", mariadb_server().address()},
            {"username", "app"},
            {"password", "app-secret"},
            {"database", "app"},
            {"require-durable-commits", "false"},
            {"connect-timeout-millis", "10000"}};
}
void mysql_run(const TemporaryFolder&, const std::string& sql) { ForeignMysql(mariadb_server().address()).run(sql); }

class Draining : public testing::TestWithParam<Kind> {
protected:
    Draining() {
        static int number = 0;
        name_ = "drained_" + std::to_string(++number);
        const Settings settings = GetParam().settings(folder_);
        auto store = standard_drivers().stores.at(GetParam().driver)({"primary", name_, settings}).value();
        store->create_schema(soon()).value();
        table_ = std::make_unique<RecordTable>(std::move(store), name_);
        std::ofstream file(folder_.file("nebis.yaml"));
        file << "nebis:\n  idempotent:\n    table-name: " << name_
             << "\n    datasources:\n      primary:\n        driver: " << GetParam().driver << "\n";
        for (const auto& [key, value] : settings) file << "        " << key << ": '" << value << "'\n";
    }
    std::uint64_t begin(const std::string& key, milliseconds lease) const {
        BeginRequest request = begin_of(key);
        request.lease_millis = lease.count();
        auto begun = table_->begin(std::vector{request}).front();
        return begun.value().version;
    }
    RecordStatus status(const std::string& key) const { return table_->find(key).value().record.value().status; }
    Ended drain(const std::string& wait_seconds) const {
        return Program(folder_.path(),
                       {"drain", "--config", folder_.file("nebis.yaml"), "--wait-seconds", wait_seconds})
            .wait();
    }

    TemporaryFolder folder_;
    std::string name_;
    std::unique_ptr<RecordTable> table_;
};

TEST_P(Draining, S40_refuses_and_settles_nothing_while_a_lease_lives) {
    const std::uint64_t version = begin("alive", std::chrono::minutes(10));
    for (int i = 0; i < 3; ++i) begin("dead " + std::to_string(i), milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20));
    const Ended refused = drain("0");
    EXPECT_EQ(refused.code, 4) << refused.err;
    EXPECT_EQ(refused.out, name_ + ": 0 settled as UNKNOWN, 1 at work, 3 abandoned\n");
    EXPECT_EQ(status("alive"), RecordStatus::processing);
    EXPECT_EQ(status("dead 0"), RecordStatus::processing);

    const Response made{201, {}, "made", false};
    ASSERT_TRUE(table_->finish(finish_of("alive", version, made)).value().applied);
    const Ended done = drain("20");
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, name_ + ": 3 settled as UNKNOWN, 0 at work, 0 abandoned\n");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(status("dead " + std::to_string(i)), RecordStatus::unknown);
    EXPECT_EQ(status("alive"), RecordStatus::success);
    EXPECT_EQ(drain("0").out, name_ + ": 0 settled as UNKNOWN, 0 at work, 0 abandoned\n") << "again: nothing to do";
}

TEST_P(Draining, S40_waits_for_the_leases_of_those_that_died_and_settles_more_than_a_batch) {
    for (int i = 0; i < 120; ++i) begin("dead " + std::to_string(i), milliseconds(1));
    begin("died just now", milliseconds(4'000));
    const Ended done = drain("60");
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out, name_ + ": 121 settled as UNKNOWN, 0 at work, 0 abandoned\n");
    EXPECT_THAT(done.err, HasSubstr("1 at work, for ")) << "whoever waits is told for what";
    EXPECT_EQ(status("died just now"), RecordStatus::unknown);
}

TEST_P(Draining, S40_an_attempt_without_an_end_counts_as_one_at_work) {
    begin("by hand", milliseconds(1));
    // As rows from elsewhere may have it: it lasts as long as the record.
    GetParam().run(folder_, "UPDATE " + name_ + " SET lease_expire_time = 0");
    const Ended refused = drain("0");
    EXPECT_EQ(refused.code, 4) << refused.err;
    EXPECT_EQ(refused.out, name_ + ": 0 settled as UNKNOWN, 1 at work, 0 abandoned\n");
}

INSTANTIATE_TEST_SUITE_P(On, Draining,
                         testing::Values(Kind{"sqlite", sqlite, sqlite_run}, Kind{"postgres", postgres, postgres_run},
                                         Kind{"mysql", mysql, mysql_run}),
                         [](const auto& info) { return info.param.driver; });

TEST(Drain, S40_a_store_that_can_not_count_says_what_to_do_instead) {
    const TemporaryFolder folder;
    std::ofstream(folder.file("nebis.yaml")) << "nebis:\n  idempotent:\n    datasources: {primary: {driver: memory}}\n";
    const Ended ended = Program(folder.path(), {"drain", "--config", folder.file("nebis.yaml")}).wait();
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("can't count its leases"));
    EXPECT_THAT(ended.err, HasSubstr("stop all instances"));
}

}  // namespace
