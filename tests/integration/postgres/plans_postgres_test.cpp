// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

// How much of a big table each call reads, by the server's own count.
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

constexpr int rows = 100'000, due = 1'000, batch = 64;
/// A row is looked for, locked and written: so many index entries for a batch, never the table.
constexpr long handful = 10L * batch;

std::string key_of(const char* kind, int number) {
    std::string digits = std::to_string(number);
    return kind + std::string(6 - digits.size(), '0') + digits;
}

/// 100 000 finished rows, 1 000 of them expired, and 1 000 whose owner is dead.
void fill(ForeignSession& session, const std::string& table) {
    session.run("ALTER TABLE " + table + " SET (autovacuum_enabled = false)");
    const std::string columns =
        "(trace_id, biz_type, status, version, owner, attempts, request_hash, lease_expire_time, expire_time, "
        "create_time, update_time)";
    const auto insert = [&](const std::string& kind, const char* status, int count, const std::string& expires) {
        session.run("INSERT INTO " + table + " " + columns + " SELECT ('" + kind +
                    "' || lpad(i::text, 6, '0'))::bytea, 'order', " + status +
                    ", 1, '0123456789abcdef', 1, decode(repeat('00', 33), 'hex'), 1000, " + expires +
                    ", 1000, 1000 FROM generate_series(1, " + std::to_string(count) + ") i");
    };
    insert("old", "1", rows - due, "4000000000000");
    insert("expired", "1", due, "2000");
    insert("dead", "0", due, "4000000000000");
}

struct Reads {
    long whole_table = 0;  ///< scans
    long index_entries = 0;
};

Reads reads_of(ForeignSession& session, const std::string& table) {
    return {std::stol(session.run("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = '" + table + "'")),
            std::stol(session.run("SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes WHERE relname = '" + table +
                                  "'"))};
}

/// What a call read; the server adds it up when the session ends.
template <class Call>
Reads reads_by(ForeignSession& watcher, const Table& table, Call call) {
    const auto before = reads_of(watcher, table.name());
    const auto calls = [&] {
        return watcher.run("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
    };
    const std::string sessions = calls();
    {
        const auto session = table.store().open(soon()).value();
        call(*session);
    }
    EXPECT_TRUE(eventually([&] { return calls() == sessions; })) << "the session ends";
    const auto after = reads_of(watcher, table.name());
    return {after.whole_table - before.whole_table, after.index_entries - before.index_entries};
}

class PostgresPlans : public testing::TestWithParam<bool> {};

TEST_P(PostgresPlans, no_call_reads_more_than_its_rows_among_100_000_with_and_without_statistics) {
    PostgresServer server;
    const Table table(server.options());
    ForeignSession watcher(server.address());
    fill(watcher, table.name());
    if (GetParam()) watcher.run("ANALYZE " + table.name());

    std::vector<std::string> fresh, old;
    for (int i = 1; i <= batch; ++i) {
        fresh.push_back(key_of("new", i));
        old.push_back(key_of("old", i * 1'000));
    }
    const auto begin = [](StoreSession& session, const std::vector<std::string>& keys) {
        std::vector<BeginRequest> in;
        for (const auto& key : keys) in.push_back(begin_of(key));
        std::vector<Result<BeginOutcome>> out(in.size(), Result<BeginOutcome>(BeginOutcome{}));
        session.begin(in, out, soon());
        return out;
    };
    const auto cheap = [&](const char* what, const Reads& reads, long entries = handful) {
        EXPECT_EQ(reads.whole_table, 0) << what;
        EXPECT_LE(reads.index_entries, entries) << what;
    };

    std::vector<Result<BeginOutcome>> begun;
    cheap("begin, fresh", reads_by(watcher, table, [&](StoreSession& session) { begun = begin(session, fresh); }));
    for (const auto& one : begun) ASSERT_TRUE(one && one->kind == BeginOutcome::Kind::acquired);
    cheap("begin, finished", reads_by(watcher, table, [&](StoreSession& session) {
              for (const auto& one : begin(session, old)) EXPECT_TRUE(one.has_value());
          }));
    cheap("renew", reads_by(watcher, table, [&](StoreSession& session) {
              std::vector<RenewRequest> in;
              for (int i = 0; i < batch; ++i)
                  in.push_back({fresh[static_cast<std::size_t>(i)], begun[static_cast<std::size_t>(i)]->version,
                                owner_of(1), 60'000, false});
              std::vector<Result<RenewOutcome>> out(in.size(), Result<RenewOutcome>(RenewOutcome{}));
              session.renew(in, out, soon());
              for (const auto& one : out) EXPECT_TRUE(one && one->kind == RenewOutcome::Kind::renewed);
          }));
    cheap("finish", reads_by(watcher, table, [&](StoreSession& session) {
              const Response made{201, {}, "made", false};
              std::vector<FinishRequest> in;
              for (std::size_t i = 0; i < fresh.size(); ++i) in.push_back(finish_of(fresh[i], begun[i]->version, made));
              std::vector<Result<FinishOutcome>> out(in.size(), Result<FinishOutcome>(FinishOutcome{}));
              session.finish(in, out, soon());
              for (const auto& one : out) EXPECT_TRUE(one && one->applied);
          }));
    cheap("find", reads_by(watcher, table, [&](StoreSession& session) {
              std::vector<FindRequest> in;
              for (const auto& key : old) in.push_back({key});
              std::vector<Result<FindOutcome>> out(in.size(), Result<FindOutcome>(FindOutcome{}));
              session.find(in, out, soon());
              for (const auto& one : out) EXPECT_TRUE(one && one->record);
          }));
    cheap("recover",
          reads_by(watcher, table,
                   [&](StoreSession& session) { EXPECT_EQ(session.recover({}, soon()).value().size(), 100U); }),
          10 * due);
    cheap("clean",
          reads_by(watcher, table, [&](StoreSession& session) { EXPECT_EQ(session.clean({}, soon()).value(), 500U); }),
          10 * due);
}

INSTANTIATE_TEST_SUITE_P(Statistics, PostgresPlans, testing::Bool(),
                         [](const auto& about) { return about.param ? "analyzed" : "never_analyzed"; });

}  // namespace
