// SPDX-License-Identifier: Apache-2.0
#include "nebis/zookeeper.hpp"
#include "support/eventually.hpp"
#include "support/fake_zookeeper.hpp"
#include "support/lock_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>

// The client asks for as much memory as a frame says it is long, and bears a refusal; sanitizers end the process
// instead.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

// A ZooKeeper that isn't as it should be. What the client itself can't bear (see the README of the driver) is left out.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::FakeZookeeper;
using nebis::test::LockCalls;
using nebis::test::said;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Heard = FakeZookeeper::Heard;
using Says = FakeZookeeper::Says;

constexpr std::int32_t make = 1, look = 4, exists = -110;

zookeeper::Options at(const FakeZookeeper& server) {
    zookeeper::Options options;
    options.addresses = {server.address()};
    options.connect_timeout = seconds(5);
    return options;
}
LockCalls lock_at(const FakeZookeeper& server) { return LockCalls(zookeeper::lock(at(server)).value()); }

/// Opens sessions as it should.
FakeZookeeper::Script after_a_greeting(std::function<Says(const Heard&)> script) {
    return [script = std::move(script)](const Heard& heard) {
        return heard.greeting ? Says{FakeZookeeper::greeting(), false} : script(heard);
    };
}

TEST(ZookeeperHostile, what_is_no_greeting_opens_no_session) {
    for (const std::string& bytes :
         {std::string(), std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), FakeZookeeper::number(0x7FFFFFFF) + "xxxx",
          FakeZookeeper::number(-5) + "xxxx", std::string(30, '\0')}) {
        FakeZookeeper server([&](const Heard&) { return Says{bytes, true}; });
        const auto started = Clock::now();
        EXPECT_EQ(said(lock_at(server).acquire("k", 1, seconds(60), milliseconds(500))),
                  "unavailable zookeeper-connect");
        EXPECT_LT(Clock::now() - started, seconds(20));
    }
}

TEST(ZookeeperHostile, what_is_no_reply_is_maybe_applied) {
    const std::vector<std::function<Says(const Heard&)>> scripts = {
        [](const Heard&) {
            return Says{"", true};
        },
        [](const Heard&) {
            return Says{FakeZookeeper::number(100) + "cut off", true};
        },
        [](const Heard& heard) {
            return Says{FakeZookeeper::reply(heard.number + 5, 0), false};
        },
        [](const Heard& heard) {
            return Says{FakeZookeeper::reply(heard.number, -9999), false};
        },
        [](const Heard&) {
            return Says{FakeZookeeper::number(-7) + "xxx", false};
        },
        [](const Heard&) {
            return Says{FakeZookeeper::number(64 << 20) + "xxx", false};
        },
        [](const Heard&) {
            return Says{"", false};
        },
    };
    for (std::size_t i = 0; i < scripts.size(); ++i) {
        FakeZookeeper server(after_a_greeting(scripts[i]));
        const auto lock = lock_at(server);
        const auto rest = lock.acquire("k", 1, seconds(60), seconds(1));
        ASSERT_FALSE(rest) << i;
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << i << rest.error().text();
        const auto released = lock.release("k", 1, milliseconds(300));
        ASSERT_FALSE(released) << i;
        EXPECT_EQ(released.error().kind(), ErrorKind::unavailable) << i << released.error().text();
    }
}

TEST(ZookeeperHostile, refusals_are_sorted_by_what_to_do_about_them) {
    for (const auto& [code, meaning] : {
             std::pair(-102, "misconfigured zookeeper-right"),
             std::pair(-114, "misconfigured zookeeper-right"),
             std::pair(-108, "misconfigured zookeeper-root"),
             std::pair(-118, "unavailable zookeeper-session"),
             std::pair(-119, "unavailable zookeeper-session"),
             std::pair(-127, "overloaded zookeeper-busy"),
             std::pair(-1, "maybe_applied zookeeper-lost"),
             std::pair(-4, "maybe_applied zookeeper-lost"),
         }) {
        FakeZookeeper server(after_a_greeting([code = code](const Heard& heard) {
            return Says{FakeZookeeper::reply(heard.number, code), false};
        }));
        EXPECT_EQ(said(lock_at(server).acquire("k", 1)), meaning) << code;
    }
}

TEST(ZookeeperHostile, a_log_in_that_is_refused_is_told_and_tried_again) {
    constexpr std::int32_t log_in = 100, failed = -115;
    FakeZookeeper server(after_a_greeting([](const Heard& heard) {
        return heard.kind == log_in ? Says{FakeZookeeper::reply(-4, failed), false} : Says{"", false};
    }));
    auto with = at(server);
    with.credentials = {"shop", "s3cret-word", {}};
    const LockCalls lock(zookeeper::lock(with).value());
    EXPECT_TRUE(eventually([&] {
        return said(lock.acquire("customer-key", 1, seconds(60), milliseconds(200))) == "misconfigured zookeeper-login";
    }));
    const auto rest = lock.acquire("customer-key", 1, seconds(60), milliseconds(200));
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().text().find("s3cret"), std::string::npos) << rest.error().text();
    EXPECT_EQ(rest.error().text().find("customer"), std::string::npos) << rest.error().text();
    const auto heard = server.heard();
    EXPECT_TRUE(std::ranges::any_of(heard, [](const Heard& one) {
        return one.kind == log_in && one.rest.find("shop:s3cret-word") != std::string::npos;
    })) << "it was sent";
    EXPECT_TRUE(eventually([&] {
        (void)lock.acquire("customer-key", 1, seconds(60), milliseconds(10));
        return std::ranges::count_if(server.heard(), &Heard::greeting) > 2;
    })) << "a new session for each try";
}

TEST(ZookeeperHostile, a_node_that_comes_and_goes_ends_in_held) {
    FakeZookeeper server(after_a_greeting([](const Heard& heard) {
        return Says{FakeZookeeper::reply(heard.number, heard.kind == make ? exists : -101), false};
    }));
    EXPECT_EQ(said(lock_at(server).acquire("k", 1)), "held");
    const auto heard = server.heard();
    EXPECT_EQ(std::ranges::count_if(heard, [](const Heard& one) { return one.kind == look; }), 4) << "and has an end";
}

TEST(ZookeeperHostile, a_session_that_expires_in_the_middle_is_followed_by_another) {
    std::atomic<int> greetings{0};
    FakeZookeeper server([&](const Heard& heard) {
        if (!heard.greeting) return Says{"", true};  // the connection breaks at the first request
        ++greetings;
        // The client comes back with its session; a new number says that it is over.
        auto hello = FakeZookeeper::greeting();
        hello[19] = static_cast<char>(greetings.load());
        return Says{hello, false};
    });
    const auto lock = lock_at(server);
    EXPECT_FALSE(lock.acquire("k", 1, seconds(60), seconds(2)));
    EXPECT_TRUE(eventually([&] { return greetings >= 3; })) << "again, refused, and anew";
}

TEST(ZookeeperHostile, a_deadline_that_is_over_asks_nobody) {
    FakeZookeeper server(after_a_greeting([](const Heard&) { return Says{"", false}; }));
    const auto rest = lock_at(server).acquire("k", 1, seconds(60), milliseconds(-5));
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().kind(), ErrorKind::unavailable) << rest.error().text();
}

}  // namespace
