// SPDX-License-Identifier: Apache-2.0
#include "headers.hpp"

#include <gtest/gtest.h>

namespace nebis::http {
namespace {

using Headers = std::vector<Header>;

TEST(HttpHeaders, C30_allowed_headers_are_kept_in_order_with_repeats) {
    const Headers reply = {{"Link", "</a>; rel=x"},
                           {"X-Own", "1"},
                           {"Location", "/orders/1"},
                           {"Link", "</b>; rel=y"},
                           {"Vary", "Accept"},
                           {"ETag", "\"1\""},
                           {"content-type", "text/plain; charset=utf-8"},
                           {"Date", "today"}};
    EXPECT_EQ(kept_headers(reply, {}), (Headers{{"Link", "</a>; rel=x"},
                                                {"Location", "/orders/1"},
                                                {"Link", "</b>; rel=y"},
                                                {"ETag", "\"1\""},
                                                {"content-type", "text/plain; charset=utf-8"}}));
    EXPECT_EQ(kept_headers(reply, {"x-own"}).size(), 6u);
}

// B074
TEST(HttpHeaders, C33_no_setting_keeps_cookies_challenges_or_framing) {
    for (const auto* name : {"Set-Cookie",
                             "set-cookie",
                             "Set-Cookie2",
                             "WWW-Authenticate",
                             "Proxy-Authenticate",
                             "Authentication-Info",
                             "Authorization",
                             "Cookie",
                             "Connection",
                             "Keep-Alive",
                             "Transfer-Encoding",
                             "Trailer",
                             "TE",
                             "Upgrade",
                             "Content-Length",
                             "Date",
                             "Age",
                             "X-Request-Id",
                             "Retry-After",
                             "Idempotency-Status"}) {
        EXPECT_FALSE(keeps_header(name, {name})) << name;
        EXPECT_TRUE(kept_headers({{name, "x"}}, {name}).empty()) << name;
    }
    EXPECT_TRUE(keeps_header("X-Own", {"X-Own"}));
    EXPECT_FALSE(keeps_header("X-Own", {}));
}

TEST(HttpHeaders, C30_what_the_transport_writes_never_comes_from_a_handler) {
    const Headers reply = {{"Content-Length", "3"},
                           {"Transfer-Encoding", "chunked"},
                           {"Connection", "close, X-Secret ,\tY"},
                           {"Date", "x"},
                           {"x-secret", "s"},
                           {"y", "t"},
                           {"Set-Cookie", "a=1"},
                           {"Set-Cookie", "b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT"},
                           {"X-Own", "1"}};
    EXPECT_EQ(
        end_to_end(reply),
        (Headers{{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT"}, {"X-Own", "1"}}));
}

// B079, from a handler
TEST(HttpHeaders, headers_that_would_split_the_answer_are_dropped) {
    for (const Header& bad : Headers{{"X", "a\r\nSet-Cookie: b"},
                                     {"X", "a\nb"},
                                     {"X", std::string("a\0b", 3)},
                                     {"X:Y", "a"},
                                     {"", "a"},
                                     {"X Y", "a"},
                                     {"X", "\x7f"}}) {
        EXPECT_FALSE(valid_header(bad)) << bad.name;
        EXPECT_TRUE(end_to_end({bad}).empty());
        EXPECT_TRUE(kept_headers({bad}, {bad.name}).empty());
    }
    EXPECT_TRUE(valid_header({"X-A_b", "caf\xC3\xA9\t1"}));
}

TEST(HttpHeaders, S6_request_ids_are_echoed_only_if_harmless) {
    EXPECT_EQ(sane_request_id("a-B_9.:/+=@"), "a-B_9.:/+=@");
    for (const auto* bad : {"", "a b", "a\"b", "<x>", "a\x80"}) EXPECT_EQ(sane_request_id(bad), "") << bad;
    EXPECT_EQ(sane_request_id(std::string(129, 'a')), "");
    EXPECT_EQ(random_request_id().size(), 32u);
    EXPECT_NE(random_request_id(), random_request_id());
}

}  // namespace
}  // namespace nebis::http
