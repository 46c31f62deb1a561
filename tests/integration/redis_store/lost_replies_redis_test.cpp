// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/fault_proxy.hpp"
#include "service.hpp"
#include "stores/redis/scripts.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

// Replies that never come though what was asked for is done.
namespace {

using namespace nebis;
using faultproxy::After;
using faultproxy::Counts;
using faultproxy::FaultProxy;
using nebis::test::acquired;
using nebis::test::begin_of;
using nebis::test::finish_of;
using nebis::test::Instance;
using nebis::test::is;
using nebis::test::owner_of;
using nebis::test::RedisServer;
using nebis::test::soon;
using nebis::test::store_at;
using nebis::test::Table;
using nebis::test::Witness;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

const Response made{201, {}, "made", false};

const std::string& begin_script() { return redis::records::Scripts::all().begin.sha1; }
const std::string& finish_script() { return redis::records::Scripts::all().finish.sha1; }

class RedisStoreLostReplies : public testing::Test {
protected:
    redis::StoreOptions through_proxy() const { return store_at(proxy.address()); }
    /// From here on a script is one EVALSHA and one reply.
    static void warm(const Table& table) {
        const auto begun = table.begin("warm");
        ASSERT_TRUE(table.finish(finish_of("warm", begun->version, made)).value().applied);
    }

    RedisServer server;
    FaultProxy proxy{server.port()};
};

TEST_F(RedisStoreLostReplies, fault_13_of_a_begin_is_maybe_applied_and_its_owner_alone_goes_on) {
    const Table table(through_proxy());
    warm(table);
    std::uint64_t number = 0;
    for (const After after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(number++);
        proxy.lose_reply_to(begin_script(), after);
        const auto out = table.begin(key, 1, after == After::keep ? nebis::test::in(milliseconds(500)) : soon());
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << out.error().text();
        EXPECT_TRUE(proxy.wait_until([&](const Counts& counts) { return counts.lost_replies == number; }));
        const auto other = table.begin(key, 2);
        ASSERT_TRUE(is(other, Kind::in_progress)) << "it was applied";
        EXPECT_EQ(other->owner, owner_of(1));
        const auto own = table.begin(key, 1);
        ASSERT_TRUE(is(own, Kind::in_progress));
        EXPECT_TRUE(table.finish(finish_of(key, own->version, made)).value().applied) << "the version read back counts";
    }
}

TEST_F(RedisStoreLostReplies, fault_15_of_a_finish_is_maybe_applied_and_said_twice_it_shows_itself) {
    const Table table(through_proxy());
    warm(table);
    for (const After after : {After::cut, After::reset}) {
        const std::string key = after == After::cut ? "a" : "b";
        const auto begun = table.begin(key);
        ASSERT_TRUE(begun);
        proxy.lose_reply_to(finish_script(), after);
        const auto lost = table.finish(finish_of(key, begun->version, made));
        ASSERT_FALSE(lost);
        EXPECT_EQ(lost.error().kind(), ErrorKind::maybe_applied) << lost.error().text();
        const auto again = table.finish(finish_of(key, begun->version, made));
        ASSERT_TRUE(again && again->current);
        EXPECT_FALSE(again->applied);
        EXPECT_EQ(again->current->status, RecordStatus::success);
        EXPECT_EQ(again->current->owner, owner_of(1)) << "its own work";
    }
}

TEST_F(RedisStoreLostReplies, of_a_shared_pipeline_leaves_every_row_of_both_kinds_maybe_applied) {
    const Table table(through_proxy());
    warm(table);
    const auto begun = table.begin({begin_of("a"), begin_of("b")});
    ASSERT_TRUE(begun[0] && begun[1]);
    const std::vector finishes{finish_of("a", begun[0]->version, made), finish_of("b", begun[1]->version, made)};
    const std::vector begins{begin_of("c"), begin_of("d")};
    std::vector<Result<FinishOutcome>> finished(2, Result<FinishOutcome>(FinishOutcome{}));
    std::vector<Result<BeginOutcome>> started(2, Result<BeginOutcome>(BeginOutcome{}));
    proxy.lose_reply_to(finish_script(), After::cut);
    table.session().write(finishes, finished, begins, started, soon());
    for (const auto& one : finished) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::maybe_applied);
    }
    for (const auto& one : started) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().kind(), ErrorKind::maybe_applied);
    }
    for (const auto* key : {"a", "b"}) EXPECT_EQ(table.find(key)->record->status, RecordStatus::success);
    for (const auto* key : {"c", "d"}) EXPECT_EQ(table.find(key)->record->status, RecordStatus::processing);
}

TEST_F(RedisStoreLostReplies, of_a_take_over_is_maybe_applied_and_read_back) {
    const Table table(through_proxy());
    warm(table);
    auto first = begin_of("k");
    first.lease_millis = 1;
    ASSERT_TRUE(acquired(table.begin(std::vector{first})[0]));
    std::this_thread::sleep_for(milliseconds(5));  // the store's clock passes the lease
    auto second = begin_of("k", 2);
    second.take_over_lease = true;
    proxy.lose_reply_to(begin_script(), After::cut);
    const auto lost = table.begin(std::vector{second})[0];
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().kind(), ErrorKind::maybe_applied) << lost.error().text();
    const auto own = table.find("k");
    ASSERT_TRUE(own && own->record);
    EXPECT_EQ(own->record->owner, owner_of(2));
    EXPECT_EQ(own->record->attempts, 2U);
}

TEST_F(RedisStoreLostReplies, of_renewals_reads_and_upkeep_leave_nothing_behind) {
    const Table table(through_proxy());
    warm(table);
    const auto begun = table.begin("k");
    const RenewRequest renewal{"k", begun->version, owner_of(1), 60'000, false};
    ASSERT_TRUE(table.renew({renewal})[0] && table.find("k") && table.session().recover({}, soon()));
    proxy.lose_next_reply(After::cut);
    const auto renewed = table.renew({renewal})[0];
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().kind(), ErrorKind::maybe_applied);
    ASSERT_TRUE(table.find("k")) << "connected again";
    proxy.lose_next_reply(After::cut);
    const auto found = table.find("k");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind(), ErrorKind::unavailable) << "a read leaves nobody in doubt";
    ASSERT_TRUE(table.find("k"));
    proxy.lose_next_reply(After::cut);
    const auto recovered = table.session().recover({}, soon());
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().kind(), ErrorKind::unavailable) << "it had only looked";
    EXPECT_TRUE(table.finish(finish_of("k", begun->version, made)).value().applied);
}

// Two instances, 64 clients who insist, and the replies of begins, finishes and take-overs lost in turn.
TEST_F(RedisStoreLostReplies, faults_13_15_under_64_clients_the_checker_finds_nothing_doubled_and_nothing_lost) {
    constexpr std::size_t clients = 64, keys = 300, losses = 36;
    const auto options = through_proxy();
    Policy again;  // every third key: an owner died over it, and a successor runs
    again.operation = "resume";
    again.on_unknown = OnUnknown::retry;
    again.lease = seconds(1);
    const std::array<Instance, 2> order{Instance(options), Instance(options)};
    const std::array<Instance, 2> resume{Instance(options, again), Instance(options, again)};
    const auto resumes = [](std::size_t key) { return key % 3 == 0; };
    const auto name_of = [](std::size_t key) { return "k" + std::to_string(key); };
    Witness witness;
    // Dead before they did anything; half of them still PROCESSING with their lease over.
    const Handler dies([](const Request&, Execution&) -> Response { throw OutcomeUnknown("its owner died"); });
    for (std::size_t key = 0; key < keys; key += 3) (void)resume[0].run(name_of(key), dies);
    for (const auto& row : server.ask({"KEYS", "idempotent:row:*"}).elements) {
        const std::string member = row.text.substr(row.text.size() - 64);
        if (member[63] % 2 != 0) continue;
        const redis::records::Names names("", options.table);
        server.ask({"HSET", row.text, "status", "0", "lease_expire_time", "1"});
        server.ask({"ZADD", names.leases(redis::records::bucket_of(member)), "1", member});
    }
    std::atomic<std::size_t> next{0}, took_over{0};
    {
        std::vector<std::jthread> all;
        for (std::size_t client = 0; client < clients; ++client)
            all.emplace_back([&, client] {
                // Four clients share a key, two on either instance.
                for (std::size_t turn; (turn = next++) < 4 * keys;) {
                    const std::size_t key = turn / 4;
                    const std::string name = name_of(key);
                    const Handler handler([&, key](const Request&, Execution& execution) {
                        if (execution.attempt() > 1) ++took_over;
                        return witness.effect(name, key, execution);
                    });
                    const auto until = std::chrono::steady_clock::now() + seconds(90);
                    for (;;) {
                        const auto sent = Witness::now();
                        const Answer answer = (resumes(key) ? resume : order)[client % 2].run(name, handler);
                        witness.told(name, key, static_cast<int>(client % 2), sent, answer);
                        if (nebis::test::is_final(answer) || std::chrono::steady_clock::now() >= until) break;
                        std::this_thread::sleep_for(milliseconds(10));  // as clients do before they ask again
                    }
                }
            });
        const std::array<std::string, 3> markers{begin_script(), finish_script(), "\r\nresume\r\n"};
        for (std::size_t lost = 1; lost <= losses && next < 4 * keys; ++lost) {
            proxy.lose_reply_to(markers[lost % 3], lost % 4 < 2 ? After::cut : After::reset);
            proxy.wait_until([&](const Counts& counts) { return counts.lost_replies >= lost || next >= 4 * keys; });
        }
    }
    EXPECT_GE(proxy.counts().lost_replies, losses / 2) << "replies were lost while they worked";
    EXPECT_GE(took_over, keys / 6);
    const auto verdict = witness.verdict();
    EXPECT_EQ(verdict.keys, keys);
    EXPECT_EQ(verdict.answered, keys);
    EXPECT_EQ(verdict.doubled, 0U);
    EXPECT_EQ(verdict.lost, 0U);
    EXPECT_TRUE(verdict.clean()) << nebis::test::text_of(verdict);
    for (const auto& [key, history] : witness.histories()) {
        EXPECT_EQ(history.effects.size(), 1U) << key;
        EXPECT_EQ(
            std::ranges::count_if(history.calls, [](const auto& call) { return call.said == proof::Said::success; }), 4)
            << key;
    }
    std::cout << "lost replies: " << proxy.counts().lost_replies << ", take-overs: " << took_over << ", "
              << nebis::test::text_of(verdict) << '\n';
}

}  // namespace
