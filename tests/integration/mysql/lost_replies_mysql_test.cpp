// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/fault_proxy.hpp"
#include "nebis/nebis.hpp"
#include "table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

// Replies that never come though what was asked for is done. A batch is one text with its COMMIT in it, so one reply
// decides: a begin's text holds an INSERT, a finish's an UPDATE of the response.
namespace {

using namespace nebis;
using faultproxy::After;
using faultproxy::Counts;
using faultproxy::FaultProxy;
using nebis::test::begin_of;
using nebis::test::eventually;
using nebis::test::finish_of;
using nebis::test::MariadbServer;
using nebis::test::owner_of;
using nebis::test::soon;
using nebis::test::Table;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = BeginOutcome::Kind;

constexpr const char *begin_statement = "INSERT INTO `", *finish_statement = ",response_body=x";

const Response made{201, {}, "made", false};

class MysqlLostReplies : public testing::Test {
protected:
    static MariadbServer& server() {
        static MariadbServer one;
        return one;
    }
    mysql::Options through_proxy() const {
        auto options = server().options();
        options.addresses = {proxy.address()};
        return options;
    }
    FaultProxy proxy{server().port()};
};

TEST_F(MysqlLostReplies, fault_13_of_a_begin_is_maybe_applied_and_its_owner_alone_goes_on) {
    const Table table(through_proxy());
    int number = 0;
    for (const After after : {After::keep, After::cut, After::reset}) {
        const std::string key = "k" + std::to_string(number++);
        proxy.lose_reply_to(begin_statement, after);
        const auto out =
            table.begin(key, 1, after == After::keep ? nebis::test::in(milliseconds(500)) : nebis::test::soon());
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << out.error().text();
        EXPECT_TRUE(proxy.wait_until(
            [&](const Counts& counts) { return counts.lost_replies == static_cast<std::uint64_t>(number); }));
        const auto other = table.begin(key, 2);
        ASSERT_TRUE(other && other->kind == Kind::in_progress) << "it was applied";
        EXPECT_EQ(other->owner, owner_of(1));
        const auto own = table.begin(key, 1);
        ASSERT_TRUE(own && own->kind == Kind::in_progress);
        EXPECT_TRUE(table.finish(finish_of(key, own->version, made)).value().applied) << "the version read back counts";
    }
}

TEST_F(MysqlLostReplies, fault_15_of_a_finish_is_maybe_applied_and_said_twice_it_shows_itself) {
    const Table table(through_proxy());
    for (const After after : {After::cut, After::reset}) {
        const std::string key = after == After::cut ? "a" : "b";
        const auto begun = table.begin(key);
        ASSERT_TRUE(begun);
        proxy.lose_reply_to(finish_statement, after);
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

TEST_F(MysqlLostReplies, of_a_shared_commit_leaves_every_row_of_both_kinds_maybe_applied) {
    const Table table(through_proxy());
    const auto begun = table.begin({begin_of("a"), begin_of("b")});
    ASSERT_TRUE(begun[0] && begun[1]);
    const std::vector finishes{finish_of("a", begun[0]->version, made), finish_of("b", begun[1]->version, made)};
    const std::vector begins{begin_of("c"), begin_of("d")};
    std::vector<Result<FinishOutcome>> finished(2, Result<FinishOutcome>(FinishOutcome{}));
    std::vector<Result<BeginOutcome>> started(2, Result<BeginOutcome>(BeginOutcome{}));
    proxy.lose_reply_to(finish_statement, After::cut);
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

TEST_F(MysqlLostReplies, of_a_take_over_is_maybe_applied_and_read_back) {
    const Table table(through_proxy());
    auto first = begin_of("k");
    first.lease_millis = 1;
    ASSERT_TRUE(table.begin(std::vector{first})[0]);
    std::this_thread::sleep_for(milliseconds(5));  // the store's clock passes the lease
    auto second = begin_of("k", 2);
    second.take_over_lease = true;
    proxy.lose_reply_to(",response_body=NULL", After::cut);
    const auto lost = table.begin(std::vector{second})[0];
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().kind(), ErrorKind::maybe_applied) << lost.error().text();
    const auto own = table.find("k");
    ASSERT_TRUE(own && own->record);
    EXPECT_EQ(own->record->owner, owner_of(2));
    EXPECT_EQ(own->record->attempts, 2U);
}

// Two instances, 64 clients who insist, and the replies of begins and finishes (each a commit) lost in turn.
TEST_F(MysqlLostReplies, faults_13_15_under_64_clients_no_key_runs_twice_and_every_client_gets_its_answer) {
    constexpr std::size_t clients = 64, keys = 240, losses = 24;
    struct Instance {
        Engine engine;
        Operation operation;
    };
    const auto instance = [&] {
        Engine::Parts parts;
        auto options = through_proxy();
        options.create_schema = true;
        parts.store = mysql::store(std::move(options), "lost_replies");
        parts.configuration = "nebis: { idempotent: { local-cache-millis: 0 } }";
        parts.options.use_environment = false;
        parts.log = [](const std::string&) {};
        Engine engine = Engine::make(std::move(parts)).value();
        Operation operation = engine.operation({.operation = "order", .key = header("Idempotency-Key")}).value();
        return Instance{std::move(engine), std::move(operation)};
    };
    const Instance one = instance(), two = instance();
    std::array<std::atomic<int>, keys> runs{};
    std::array<std::atomic<int>, keys> answers{};
    std::atomic<int> strange{0};
    std::atomic<std::size_t> next{0};
    const auto run = [&](const Instance& at, std::size_t key) {
        Request request;
        request.method = "POST";
        request.path = "/orders";
        request.headers = {{"Idempotency-Key", "k" + std::to_string(key)}};
        const Handler handler([&, key](const Request&, Execution&) {
            return Response{201, {}, std::to_string(key) + "/" + std::to_string(++runs.at(key)), false};
        });
        return at.engine.run(at.operation, request, handler);
    };
    {
        std::vector<std::jthread> all;
        for (std::size_t client = 0; client < clients; ++client)
            all.emplace_back([&, client] {
                // Four clients share a key, two on either instance.
                for (std::size_t turn; (turn = next++) < 4 * keys;) {
                    const std::size_t key = turn / 4;
                    const auto until = std::chrono::steady_clock::now() + seconds(120);
                    Answer answer;
                    for (;;) {
                        answer = run(client % 2 ? one : two, key);
                        if (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed ||
                            std::chrono::steady_clock::now() >= until)
                            break;
                        std::this_thread::sleep_for(milliseconds(10));  // as clients do before they ask again
                    }
                    if (answer.response.body != std::to_string(key) + "/1") ++strange;
                    ++answers.at(key);
                }
            });
        for (std::size_t lost = 1; lost <= losses && next < 4 * keys; ++lost) {
            proxy.lose_reply_to(lost % 2 ? begin_statement : finish_statement,
                                lost % 4 < 2 ? After::cut : After::reset);
            proxy.wait_until([&](const Counts& counts) { return counts.lost_replies >= lost || next >= 4 * keys; });
        }
    }
    EXPECT_GE(proxy.counts().lost_replies, losses / 2) << "replies were lost while they worked";
    EXPECT_EQ(strange, 0);
    for (std::size_t key = 0; key < keys; ++key) {
        EXPECT_EQ(runs.at(key), 1) << key;
        EXPECT_EQ(answers.at(key), 4) << key;
    }
}

}  // namespace
