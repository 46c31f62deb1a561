// SPDX-License-Identifier: Apache-2.0
#include "nebis/etcd.hpp"
#include "support/fake_http.hpp"
#include "support/lock_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

// An etcd that isn't as it should be.
namespace {

using namespace nebis;
using nebis::test::FakeHttp;
using nebis::test::http_says;
using nebis::test::LockCalls;
using nebis::test::said;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

etcd::Options at(const std::string& address) {
    etcd::Options options;
    options.addresses = {address};
    options.connect_timeout = seconds(5);
    return options;
}
LockCalls lock_at(const std::string& address) { return LockCalls(etcd::lock(at(address)).value()); }

bool is(const FakeHttp::Heard& request, const std::string& path) {
    return request.head.starts_with("POST " + path + " ");
}

/// Grants leases as it should; to anything else it says `bytes`.
FakeHttp::Script after_a_grant(FakeHttp::Says says) {
    return [says = std::move(says)](const FakeHttp::Heard& request) {
        return is(request, "/v3/lease/grant") ? http_says(R"({"ID":"7","TTL":"61"})") : says;
    };
}

const std::string granted = R"({"header":{},"succeeded":true,"responses":[{"response_put":{}}]})";

TEST(EtcdHostile, sliced_replies_are_put_together) {
    FakeHttp server(after_a_grant(http_says(granted)), 1);
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1)), "granted");
}

TEST(EtcdHostile, what_is_no_reply_is_maybe_applied_and_harms_nothing) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: ";
    for (const FakeHttp::Says& says : {
             FakeHttp::Says{"", true, false},
             FakeHttp::Says{"nonsense\r\n\r\n", true, false},
             FakeHttp::Says{"HTTP/1.1 200 OK\r\n", true, false},
             FakeHttp::Says{head + "100\r\n\r\n{\"header\"", true, false},
             FakeHttp::Says{head + "-5\r\n\r\n{}", true, false},
             FakeHttp::Says{head + "99999999999999999999\r\n\r\n{}", true, false},
             FakeHttp::Says{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n", true, false},
             FakeHttp::Says{"HTTP/1.1 999 \xFF\xFE\r\nContent-Length: 0\r\n\r\n", true, false},
             FakeHttp::Says{std::string("\0\0\0\0\0\0\0\0\r\n\r\n", 12), true, false},
             http_says("{}"),
             http_says("[[[["),
             http_says(std::string(200'000, '[')),
             http_says("<html>", "503 Service Unavailable"),
             http_says(R"({"error":"etcdserver: something new","code":13})", "500 Internal Server Error"),
             http_says(R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"b3RoZXI="}]}}]})"),
         }) {
        FakeHttp server(after_a_grant(says));
        const auto lock = lock_at(server.address());
        const auto rest = lock.acquire("k", 1, seconds(60), seconds(5));
        ASSERT_FALSE(rest) << says.bytes.substr(0, 200);
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << says.bytes.substr(0, 80) << rest.error().text();
        EXPECT_FALSE(lock.renew("k", 1)) << says.bytes.substr(0, 80);
        EXPECT_FALSE(lock.release("k", 1)) << says.bytes.substr(0, 80);
    }
}

TEST(EtcdHostile, replies_without_an_end_meet_a_limit) {
    for (const FakeHttp::Says& says : {
             FakeHttp::Says{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, false},
             FakeHttp::Says{"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + std::string(4096, 'x'), false,
                            true},
             FakeHttp::Says{"HTTP/1.1 200 OK\r\n" + std::string("X-Y: z\r\n"), false, true},
         }) {
        FakeHttp server(after_a_grant(says), says.for_ever ? 17 : 0);  // the status line is a piece of its own
        const auto started = Clock::now();
        const auto rest = lock_at(server.address()).acquire("k", 1, seconds(60), seconds(1));
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().kind(), ErrorKind::maybe_applied) << rest.error().text();
        EXPECT_LT(Clock::now() - started, seconds(10));
        if (says.for_ever) {
            EXPECT_EQ(rest.error().code(), "etcd-reply") << "by the limit, not by the time";
        }
    }
}

TEST(EtcdHostile, a_lease_that_was_never_granted_is_surely_no_lock) {
    FakeHttp server([](const FakeHttp::Heard&) { return http_says("{}"); });
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1)), "unavailable etcd-reply");
}

TEST(EtcdHostile, a_request_is_never_said_twice) {
    std::atomic<int> transactions{0};
    FakeHttp server([&](const FakeHttp::Heard& request) {
        if (is(request, "/v3/lease/grant")) return http_says(R"({"ID":"7","TTL":"61"})");
        ++transactions;
        return FakeHttp::Says{"", true, false};  // on a connection that was used before
    });
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1)), "maybe_applied etcd-lost");
    EXPECT_EQ(transactions, 1);
}

TEST(EtcdHostile, redirections_are_not_followed) {
    FakeHttp elsewhere([](const FakeHttp::Heard&) { return http_says(R"({"ID":"7"})"); });
    FakeHttp server([&](const FakeHttp::Heard&) {
        return FakeHttp::Says{"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://" + elsewhere.address() +
                                  "/v3/lease/grant\r\nContent-Length: 0\r\n\r\n",
                              false, false};
    });
    EXPECT_FALSE(lock_at(server.address()).acquire("k", 1));
    EXPECT_TRUE(elsewhere.heard().empty());
}

TEST(EtcdHostile, a_proxy_of_the_environment_is_not_asked) {
    FakeHttp proxy([](const FakeHttp::Heard&) { return http_says(R"({"ID":"7"})"); });
    FakeHttp server(after_a_grant(http_says(granted)));
    ::setenv("http_proxy", ("http://" + proxy.address()).c_str(), 1);
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1)), "granted");
    ::unsetenv("http_proxy");
    EXPECT_TRUE(proxy.heard().empty());
}

TEST(EtcdHostile, secrets_and_keys_are_in_no_error) {
    for (const std::string& status : {std::string("400 Bad Request"), std::string("200 OK")}) {
        FakeHttp server([&](const FakeHttp::Heard&) { return http_says("{\"token\":\"\"}", status); });
        auto with = at(server.address());
        with.credentials = {"shop", "s3cret-word", {}};
        const auto rest = LockCalls(etcd::lock(with).value()).acquire("customer-key", 1);
        ASSERT_FALSE(rest);
        EXPECT_EQ(rest.error().text().find("s3cret"), std::string::npos) << rest.error().text();
        EXPECT_EQ(rest.error().text().find("customer"), std::string::npos) << rest.error().text();
        ASSERT_FALSE(server.heard().empty());
        EXPECT_NE(server.heard()[0].body.find("s3cret-word"), std::string::npos) << "it was sent";
    }
}

TEST(EtcdHostile, a_token_that_never_counts_ends_in_an_error) {
    FakeHttp server([](const FakeHttp::Heard& request) {
        if (is(request, "/v3/auth/authenticate")) return http_says(R"({"token":"old"})");
        return http_says(R"({"error":"etcdserver: invalid auth token","code":16})", "401 Unauthorized");
    });
    auto with = at(server.address());
    with.credentials = {"shop", "word", {}};
    EXPECT_EQ(said(LockCalls(etcd::lock(with).value()).acquire("k", 1)), "unavailable etcd-token");
    EXPECT_EQ(server.heard().size(), 4U) << "one more log-in, one more try";
}

TEST(EtcdHostile, the_next_member_is_asked_when_one_surely_did_nothing) {
    FakeHttp good(after_a_grant(http_says(granted)));
    FakeHttp headless([](const FakeHttp::Heard&) {
        return http_says(R"({"error":"etcdserver: no leader","code":14})", "503 Service Unavailable");
    });
    std::string gone;
    {
        FakeHttp short_lived([](const FakeHttp::Heard&) { return http_says("{}"); });
        gone = short_lived.address();
    }
    auto with = at(gone);
    with.addresses = {gone, headless.address(), good.address()};
    const LockCalls lock(etcd::lock(with).value());
    EXPECT_EQ(said(lock.acquire("k", 1)), "granted");
    const auto before = headless.heard().size();
    EXPECT_EQ(said(lock.acquire("k", 1)), "granted");
    EXPECT_EQ(headless.heard().size(), before) << "and stays with who answered";
}

TEST(EtcdHostile, a_member_that_may_have_done_it_is_not_followed_by_another) {
    FakeHttp good(after_a_grant(http_says(granted)));
    FakeHttp silent(after_a_grant(FakeHttp::Says{"", true, false}));
    auto with = at(silent.address());
    with.addresses = {silent.address(), good.address()};
    const LockCalls lock(etcd::lock(with).value());
    EXPECT_EQ(said(lock.acquire("k", 1)), "maybe_applied etcd-lost");
    EXPECT_TRUE(good.heard().empty());
    EXPECT_EQ(said(lock.acquire("k", 1)), "granted") << "the next call goes to the other";
}

TEST(EtcdHostile, a_deadline_bounds_a_silent_server) {
    FakeHttp server([](const FakeHttp::Heard&) { return FakeHttp::Says{"", false, false}; });
    const auto started = Clock::now();
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1, seconds(60), milliseconds(200))),
              "unavailable etcd-timeout");
    EXPECT_LT(Clock::now() - started, seconds(5));
    EXPECT_EQ(said(lock_at(server.address()).acquire("k", 1, seconds(60), milliseconds(-5))),
              "unavailable etcd-timeout");
}

}  // namespace
