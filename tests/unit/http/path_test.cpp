// SPDX-License-Identifier: Apache-2.0
#include "path.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace nebis::http {
namespace {

std::string path_of(std::string_view target) {
    auto parsed = parse_target(target);
    return parsed ? parsed->path : "refused";
}

// N28, C09.6
TEST(HttpPath, B067_spellings_of_one_path_are_one_path) {
    for (const auto* spelling :
         {"/pay", "//pay", "/./pay", "/%70ay", "/pay/", "/pay//", "/%2E/pay", "///./pay/./", "/p%61%79"})
        EXPECT_EQ(path_of(spelling), "/pay") << spelling;
    EXPECT_EQ(path_of("/"), "/");
    EXPECT_EQ(path_of("//"), "/");
    EXPECT_EQ(path_of("/."), "/");
    EXPECT_EQ(path_of("/a%c3%a9"), "/a%C3%A9");  // one spelling of the escapes that stay
    EXPECT_EQ(path_of("/a/.b/...x"), "/a/.b/...x");
    EXPECT_EQ(path_of("/x/a:b@c,d"), "/x/a:b@c,d");
}

TEST(HttpPath, B067_what_can_be_read_in_two_ways_is_refused) {
    for (const auto* spelling :
         {"/pay;x=1",    "/pay%2F",   "/pay%2f1", "/pay%00", "/..%2f",     "/../pay", "/a/../pay",
          "/%2e%2e/pay", "/.%2E/pay", "/pay%5C",  "/pay\\",  "/pay%0d%0a", "/pay%7f", "/pay%",
          "/pay%4",      "/pay%zz",   "/pay#x",   "/p ay",   "/pay\x80",   "/p<y",    "/p|y"})
        EXPECT_EQ(path_of(spelling), "refused") << spelling;
}

TEST(HttpPath, B067_case_is_kept) { EXPECT_EQ(path_of("/PAY"), "/PAY"); }

TEST(HttpPath, B066_absolute_targets_are_taken_apart) {
    auto parsed = parse_target("http://shop.example:8080/orders?a=1");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->authority, "shop.example:8080");
    EXPECT_EQ(parsed->path, "/orders");
    EXPECT_EQ(parsed->query, "a=1");
    EXPECT_EQ(path_of("HTTP://shop.example"), "/");
    for (const auto* target : {"ftp://x/y", "http:///y", "http://u@x/y", "x/y", "*", "", "http://x:99999999/"})
        EXPECT_EQ(path_of(target), "refused") << target;
}

// C09.5: the query is part of the request hash exactly as it came
TEST(HttpPath, C09_query_is_kept_as_it_came) {
    EXPECT_EQ(parse_target("/x?b=2&a=%61")->query, "b=2&a=%61");
    EXPECT_EQ(parse_target("/x?")->query, "");
    EXPECT_EQ(parse_target("/x?/?;")->query, "/?;");
    EXPECT_FALSE(parse_target(std::string_view("/x?a\0b", 6)));
    EXPECT_FALSE(parse_target("/x?a b"));
    EXPECT_FALSE(parse_target("/x?a\x01"));
}

TEST(HttpPath, B065_authority) {
    for (const auto* good : {"a", "a.b-c_d:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "host:"})
        EXPECT_TRUE(valid_authority(good)) << good;
    for (const auto* bad :
         {"", "a/b", "u@a", "a b", "a:b", "[::1", "[]", "[g]", "a?b", "a#b", ":80", "a,b", "[::1]x", "a:123456"})
        EXPECT_FALSE(valid_authority(bad)) << bad;
}

TEST(HttpPath, segments_are_unescaped) {
    EXPECT_EQ(unescaped("a%20b%C3%A9"), "a b\xC3\xA9");
    EXPECT_EQ(unescaped("100%"), "100%");
}

}  // namespace
}  // namespace nebis::http
