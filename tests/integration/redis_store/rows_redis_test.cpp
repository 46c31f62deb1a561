// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

// What somebody else wrote where our rows lie, and versions that must grow whatever the clock does.
namespace {

using namespace nebis;
using nebis::test::acquired;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::is;
using nebis::test::owner_of;
using nebis::test::RedisServer;
using nebis::test::soon;
using nebis::test::Table;
using std::chrono::milliseconds;
using Kind = BeginOutcome::Kind;

const Response made{201, {}, "made", false};
constexpr std::uint64_t greatest = 9'007'199'253'740'991;  // as in common.lua

RedisServer& server() {
    static RedisServer one;
    return one;
}

constexpr const char* key = "secret-key-of-a-customer";

/// Nothing runs, nothing is told, and the key isn't shown.
template <class Outcome>
void expect_damaged(const Result<Outcome>& out, const std::string& how) {
    ASSERT_FALSE(out) << how;
    EXPECT_EQ(out.error().kind(), ErrorKind::corrupt) << how << ": " << out.error().text();
    EXPECT_EQ(out.error().code(), "record-damaged") << how;
    EXPECT_EQ(out.error().text().find("secret"), std::string::npos) << out.error().text();
    EXPECT_NE(out.error().text().find("can't be trusted"), std::string::npos) << out.error().text();
    EXPECT_FALSE(out.error().hint().empty());
}

/// The damaged row between two sound ones, in every kind of batch.
void expect_harmless(const Table& table, std::uint64_t version, const std::string& how) {
    expect_damaged(table.find(key), how);
    const auto begun = table.begin({begin_of("a", 2), begin_of(key, 2), begin_of("z", 2)});
    EXPECT_TRUE(is(begun[0], Kind::in_progress) && is(begun[2], Kind::finished)) << how;
    expect_damaged(begun[1], how);
    const auto renewed = table.renew({{"a", table.find("a")->record->version, owner_of(1), 60'000, false},
                                      {key, version, owner_of(1), 60'000, false}});
    EXPECT_EQ(renewed[0].value().kind, RenewOutcome::Kind::renewed) << how;
    expect_damaged(renewed[1], how);
    expect_damaged(table.finish(finish_of(key, version, made)), how);
    const auto cleaned = table.session().clean({}, soon());
    EXPECT_TRUE(cleaned) << how << ": " << cleaned.error().text();
    const auto recovered = table.session().recover({}, soon());
    EXPECT_TRUE(recovered && recovered->empty()) << how;
}

TEST(RedisStoreRows, damaged_ones_are_named_by_hash_never_run_and_harm_no_other) {
    const std::string rubbish("\x00\xff\r\n$-1\r\n*3\r\n\x01\x80", 16), long_number(40, '9');
    const std::vector<std::string> no_number{rubbish, "",    " 1",  "1 ",  "+1",       "-1",
                                             "0x1",   "1e3", "1.5", "nan", long_number};
    struct Damage {
        const char* field;
        std::vector<std::string> values;
    };
    const auto and_also = [&](std::vector<std::string> more) {
        more.insert(more.end(), no_number.begin(), no_number.end());
        return more;
    };
    const std::vector<Damage> damages{
        {"trace_id", {rubbish, "", "another key"}},
        {"status", and_also({"6", "255"})},
        {"version", and_also({"0", std::to_string(greatest + 1)})},
        {"owner", {rubbish.substr(0, 15), "", std::string(17, 'x')}},
        {"attempts", and_also({"0", "4294967295"})},
        {"request_hash", {rubbish, "", std::string(34, 'x')}},
        {"lease_expire_time", and_also({std::to_string(greatest + 1)})},
        {"expire_time", and_also({std::to_string(greatest + 1)})},
        {"create_time", no_number},
        {"update_time", no_number},
    };
    for (const auto& [field, values] : damages) {
        std::vector<std::optional<std::string>> all{std::nullopt};  // gone
        all.insert(all.end(), values.begin(), values.end());
        for (const auto& value : all) {
            const Table table(server());
            table.begin("a").value();
            const auto z = table.begin("z");
            ASSERT_TRUE(table.finish(finish_of("z", z->version, made)).value().applied);
            const auto version = table.begin(key).value().version;
            if (value)
                server().ask({"HSET", table.row(key), field, *value});
            else
                server().ask({"HDEL", table.row(key), field});
            expect_harmless(table, version, std::string(field) + "=" + value.value_or("(gone)"));
        }
    }
    for (const std::vector<std::string>& what :
         {std::vector<std::string>{"SET", "x"}, {"LPUSH", "x"}, {"SADD", "x"}, {"SET", rubbish}}) {
        const Table table(server());
        table.begin("a").value();
        const auto z = table.begin("z");
        ASSERT_TRUE(table.finish(finish_of("z", z->version, made)).value().applied);
        const auto version = table.begin(key).value().version;
        server().ask({"DEL", table.row(key)});
        server().ask({what[0], table.row(key), what[1]});
        expect_harmless(table, version, what[0]);
    }
}

TEST(RedisStoreRows, a_damaged_answer_is_never_replayed) {
    const std::string rubbish("\x00\xff\x80{\"status\":", 12);
    const Table table(server());
    const auto begun = table.begin(key);
    ASSERT_TRUE(table.finish(finish_of(key, begun->version, made)).value().applied);
    const std::string whole = server().ask({"HGET", table.row(key), "response_body"}).text;
    ASSERT_GT(whole.size(), 4U);
    std::vector<std::string> bodies{"", rubbish, std::string(1, '\0'), whole.substr(1), std::string(300, '\xff')};
    for (std::size_t cut = 0; cut < whole.size(); ++cut) bodies.push_back(whole.substr(0, cut));
    int refused = 0;
    for (const auto& body : bodies) {
        server().ask({"HSET", table.row(key), "response_body", body});
        const auto again = table.begin(key, 2);
        if (again) {
            // The last bytes are the body, which has no mark of its end.
            ASSERT_TRUE(is(again, Kind::finished));
            EXPECT_TRUE(std::string_view("made").starts_with(again->record->response->body));
            continue;
        }
        ++refused;
        expect_damaged(again, "a response of " + std::to_string(body.size()) + " bytes");
    }
    EXPECT_GT(refused, 5);
    server().ask({"HSET", table.row(key), "response_body", whole});
    EXPECT_EQ(table.begin(key, 2)->record->response->body, "made");
}

TEST(RedisStoreRows, a_spoilt_index_or_floor_costs_its_bucket_alone_and_no_row_its_recovery) {
    for (const auto which : {&Table::leases, &Table::expiries}) {
        const Table table(server());
        auto brief = begin_of(key);
        brief.lease_millis = 1;
        const auto begun = table.begin(std::vector{brief})[0];
        ASSERT_TRUE(acquired(begun));
        std::vector<BeginRequest> others;
        std::vector<std::string> names;
        for (int i = 0; i < 64; ++i) names.push_back("other " + std::to_string(100 + i));
        for (const auto& name : names) {
            others.push_back(begin_of(name));
            others.back().lease_millis = 1;
        }
        table.begin(others);
        const std::string index = (table.*which)(key);
        const auto kept = server().ask({"TYPE", index}).text == "zset"
                              ? server().ask({"ZRANGE", index, "0", "-1"}).elements
                              : std::vector<redis::Reply>{};
        server().ask({"DEL", index});
        server().ask({"SET", index, "rubbish"});
        std::this_thread::sleep_for(milliseconds(5));
        expect_damaged(table.finish(finish_of(key, begun->version, made)), index);
        EXPECT_EQ(table.find(key)->record->status, RecordStatus::processing) << "and nothing of it was written";
        // Other buckets are looked after.
        std::size_t recovered = 0;
        for (int round = 0; round < 3; ++round) {
            auto some = table.session().recover({}, soon());
            if (some) recovered += some->size();
        }
        EXPECT_GE(recovered, 60U);
        // Mended, and all goes on.
        server().ask({"DEL", index});
        for (const auto& member : kept) server().ask({"ZADD", index, "1", member.text});
        if (which == &Table::expiries) {
            EXPECT_EQ(table.find(key)->record->status, RecordStatus::unknown) << "it was in its index still";
        }
        EXPECT_TRUE(table.finish(finish_of(key, begun->version, made)).value().applied);
    }
    const Table table(server());
    server().ask({"SET", table.floor(key), "rubbish"});
    expect_damaged(table.begin(key), "floor");
    EXPECT_FALSE(table.find(key)->record) << "nothing was written";
    server().ask({"DEL", table.floor(key)});
    server().ask({"LPUSH", table.floor(key), "1"});
    expect_damaged(table.begin(key), "floor");
    server().ask({"DEL", table.floor(key)});
    EXPECT_TRUE(acquired(table.begin(key)));
}

TEST(RedisStoreRows, versions_grow_over_purges_and_over_a_clock_that_steps_back) {
    constexpr std::uint64_t hour = 3'600'000'000;
    const Table table(server());
    const auto begun = table.begin(key);
    ASSERT_TRUE(acquired(begun));
    // As if the clock had stood an hour later when that was given out.
    const std::string later = std::to_string(begun->version + hour);
    server().ask({"HSET", table.row(key), "version", later});
    server().ask({"SET", table.floor(key), later});
    auto back = finish_of(key, begun->version + hour, made);
    back.status = RecordStatus::fail;
    ASSERT_TRUE(table.finish(back).value().applied);
    const auto second = table.begin(key, 2);
    ASSERT_TRUE(acquired(second));
    EXPECT_EQ(second->version, begun->version + hour + 1) << "over the row";
    ASSERT_TRUE(table.session().purge(key, second->version, soon()).value());
    const auto third = table.begin(key, 3);
    ASSERT_TRUE(acquired(third));
    EXPECT_EQ(third->version, second->version + 1) << "over a row that is gone";
    const auto elsewhere = table.begin("in another bucket");
    ASSERT_TRUE(acquired(elsewhere));
    EXPECT_LT(elsewhere->version, third->version) << "by the clock";
    EXPECT_FALSE(table.finish(finish_of(key, second->version, made, 2)).value().applied) << "fenced off";
}

TEST(RedisStoreRows, a_version_or_count_that_cannot_grow_is_refused_and_stays_readable) {
    const Table table(server());
    const auto begun = table.begin(key);
    auto back = finish_of(key, begun->version, made);
    back.status = RecordStatus::fail;
    ASSERT_TRUE(table.finish(back).value().applied);
    const std::string was = server().ask({"HGET", table.row(key), "version"}).text;

    server().ask({"HSET", table.row(key), "version", std::to_string(greatest)});
    expect_damaged(table.begin(key, 2), "version");
    EXPECT_EQ(table.find(key).value().record->version, greatest) << "as it was";
    EXPECT_EQ(table.find(key).value().record->status, RecordStatus::fail);
    server().ask({"HSET", table.row(key), "version", was, "attempts", "4294967294"});
    expect_damaged(table.begin(key, 2), "attempts");
    server().ask({"HSET", table.row(key), "attempts", "1"});

    server().ask({"SET", table.floor(key), std::to_string(greatest)});
    expect_damaged(table.begin(key, 2), "floor");
    server().ask({"SET", table.floor(key), was});
    EXPECT_TRUE(acquired(table.begin(key, 2)));
}

TEST(RedisStoreRows, a_key_rule_that_is_no_text_is_somebody_else_s) {
    const Table table(server());
    const std::string rule = table.names().rule("order");
    server().ask({"LPUSH", rule, "x"});
    const auto out = table.session().key_rule("order", "digest", false, soon());
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::misconfigured) << out.error().text();
    server().ask({"DEL", rule});
    EXPECT_EQ(table.session().key_rule("order", "digest", false, soon()).value(), "digest");
}

}  // namespace
