// SPDX-License-Identifier: Apache-2.0
#include "locks/redis/scripts.hpp"
#include "nebis/redis.hpp"
#include "support/fake_redis.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

// A server that isn't as it should be.
namespace {

using namespace nebis;
using nebis::test::FakeRedis;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = EnterOutcome::Kind;

Deadline in(milliseconds span) { return std::chrono::steady_clock::now() + span; }

Owner owner(unsigned char number) {
    Owner made;
    made.bytes.fill(number);
    return made;
}

std::unique_ptr<GateSession> session_at(const std::string& address) {
    return redis::gate({.addresses = {address}, .connect_timeout = seconds(5)}).value()->open(in(seconds(5))).value();
}

Result<EnterOutcome> enter(GateSession& session, Deadline deadline = in(seconds(20)), std::string_view key = "k") {
    const EnterRequest request{key, owner(1), RequestHash(), 60'000};
    Result<EnterOutcome> out = Error(ErrorKind::internal, "not set");
    session.enter({&request, 1}, {&out, 1}, deadline);
    return out;
}

bool is_script(const FakeRedis::Command& command) { return command[0] == "EVALSHA" || command[0] == "EVAL"; }

/// Says `bytes` to scripts.
FakeRedis::Script to_scripts(FakeRedis::Says says) {
    return [says](const FakeRedis::Command& command) { return is_script(command) ? says : FakeRedis::Says(); };
}

TEST(RedisWire, sliced_replies_are_put_together) {
    FakeRedis server(to_scripts(":1234\r\n"), 1);
    const auto out = enter(*session_at(server.address()));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->kind, Kind::held);
    EXPECT_EQ(out->remaining_millis, 1234);
}

TEST(RedisWire, fault_22_NOSCRIPT_is_answered_with_the_text_for_these_rows_only) {
    int known = 0;
    FakeRedis server([&](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (command[0] == "EVALSHA") return ++known % 2 == 0 ? ":0\r\n" : "-NOSCRIPT No matching script.\r\n";
        return command[0] == "EVAL" ? ":7\r\n" : "+OK\r\n";
    });
    auto session = session_at(server.address());
    const std::array<std::string, 4> keys{"a", "b", "c", "d"};
    std::vector<EnterRequest> requests;
    for (const auto& key : keys) requests.push_back({key, owner(1), RequestHash(), 60'000});
    std::vector<Result<EnterOutcome>> out(4, Error(ErrorKind::internal, "not set"));
    session->enter(requests, out, in(seconds(20)));
    for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_TRUE(out[i]) << out[i].error().text();
        EXPECT_EQ(out[i]->kind, i % 2 == 0 ? Kind::held : Kind::granted);
    }
    std::size_t texts = 0;
    for (const auto& command : server.heard())
        if (command[0] == "EVAL") texts += command[1] == redis::Scripts::all().enter.text ? 1 : 0;
    EXPECT_EQ(texts, 2U);
}

TEST(RedisWire, a_connection_with_an_unread_reply_is_never_used_again) {
    std::atomic<int> scripts{0};
    FakeRedis server([&](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (!is_script(command)) return {};
        return ++scripts == 1 ? "" : ":0\r\n";  // the first one's reply never comes
    });
    auto session = session_at(server.address());
    const auto lost = enter(*session, in(milliseconds(60)));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().kind(), ErrorKind::maybe_applied);
    const auto next = enter(*session);
    ASSERT_TRUE(next) << next.error().text();
    EXPECT_EQ(server.connections(), 2);
}

TEST(RedisWire, a_reply_that_nobody_asked_for_ends_the_connection) {
    std::atomic<int> scripts{0};
    FakeRedis server([&](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (!is_script(command)) return {};
        return ++scripts == 1 ? ":0\r\n:99\r\n" : ":5\r\n";
    });
    auto session = session_at(server.address());
    ASSERT_EQ(enter(*session)->kind, Kind::granted);
    const auto next = enter(*session);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->remaining_millis, 5) << "not the 99 that was left over";
    EXPECT_EQ(server.connections(), 2);
}

TEST(RedisWire, hostile_replies_are_corrupt_or_lost_and_harm_nothing) {
    for (const auto& bytes :
         std::vector<std::string>{"$16777299\r\n" + std::string(100'000, 'x'), std::string("*2147483647\r\n"),
                                  std::string("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), std::string("\x15\x03\x01"),
                                  std::string("%1\r\n+a\r\n+b\r\n"), std::string("+granted\r\n"),
                                  std::string("*2\r\n:0\r\n:0\r\n"), std::string(":-7\r\n"), std::string("$-1\r\n")}) {
        FakeRedis server(to_scripts(FakeRedis::Says(bytes, true)));
        const auto out = enter(*session_at(server.address()));
        ASSERT_FALSE(out) << bytes.substr(0, 20);
        EXPECT_TRUE(out.error().kind() == ErrorKind::maybe_applied || out.error().kind() == ErrorKind::corrupt)
            << out.error().text();
    }
}

TEST(RedisWire, a_result_of_another_key_is_never_given) {
    CachedResult other;
    other.trace_id = "another key";
    std::atomic<int> scripts{0};
    FakeRedis server([&](const FakeRedis::Command& command) -> FakeRedis::Says {
        if (!is_script(command)) return {};
        if (++scripts > 1) return ":0\r\n";
        std::string junk = "no result of ours";
        return "$" + std::to_string(junk.size()) + "\r\n" + junk + "\r\n";
    });
    const auto out = enter(*session_at(server.address()));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->kind, Kind::granted);
    EXPECT_TRUE(out->unreadable_result) << "and it is told, to be counted";
}

TEST(RedisWire, a_server_that_is_gone_is_not_asked_in_a_storm) {
    std::string address;
    {
        FakeRedis server(to_scripts(":0\r\n"));
        address = server.address();
    }
    const auto gate = redis::gate({.addresses = {address}}).value();
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) {
        const auto session = gate->open(in(seconds(5)));
        ASSERT_FALSE(session);
        EXPECT_EQ(session.error().kind(), ErrorKind::unavailable);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(5)) << "nobody sleeps for it";
}

TEST(RedisWire, N_a_deadline_bounds_a_silent_server) {
    FakeRedis server([](const FakeRedis::Command&) { return FakeRedis::Says(""); });
    const auto gate = redis::gate({.addresses = {server.address()}, .connect_timeout = seconds(30)}).value();
    const auto started = std::chrono::steady_clock::now();
    const auto session = gate->open(in(milliseconds(100)));
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind(), ErrorKind::unavailable) << "nothing of the caller's was sent";
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(10));
}

TEST(RedisWire, secrets_are_in_no_error) {
    FakeRedis server([](const FakeRedis::Command& command) -> FakeRedis::Says {
        return command[0] == "AUTH" ? "-WRONGPASS invalid username-password pair\r\n" : "+OK\r\n";
    });
    const auto session =
        redis::gate({.addresses = {server.address()}, .credentials = {.username = "shop", .password = "s3cret-word"}})
            .value()
            ->open(in(seconds(5)));
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().kind(), ErrorKind::misconfigured);
    EXPECT_EQ(session.error().text().find("s3cret"), std::string::npos);
}

TEST(RedisSettings, driver_reads_its_settings) {
    Drivers drivers;
    redis::add_to(drivers);
    const auto& make = drivers.gates.at("redis");
    EXPECT_TRUE(make({}));
    DriverSettings settings;
    settings.values = {{"address", "a:1, b:2,[::1]:3"},
                       {"topology", "sentinel"},
                       {"wake", "false"},
                       {"connect-timeout-millis", "50"},
                       {"key-prefix", "prod:"}};
    EXPECT_TRUE(make(settings));
    const std::vector<std::pair<std::string, std::string>> bad{
        {"address", ""},        {"address", "h:1,"},   {"topology", "ring"},  {"database", "-1"},
        {"database", "x"},      {"tls", "yes"},        {"wake", ""},          {"connect-timeout-millis", "0"},
        {"key-prefix", "a{b}"}, {"key-prefix", "a b"}, {"address", "unix:x"},
    };
    for (const auto& [key, value] : bad) {
        DriverSettings one;
        one.values[key] = value;
        const auto made = make(one);
        ASSERT_FALSE(made) << key << "=" << value;
        EXPECT_EQ(made.error().kind(), ErrorKind::misconfigured);
    }
    DriverSettings both;
    both.values = {{"password", "x"}, {"password-file", "/y"}};
    EXPECT_FALSE(make(both));
    DriverSettings cluster;
    cluster.values = {{"topology", "cluster"}, {"database", "1"}};
    EXPECT_FALSE(make(cluster));
}

}  // namespace
