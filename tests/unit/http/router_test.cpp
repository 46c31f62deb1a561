// SPDX-License-Identifier: Apache-2.0
#include "router.hpp"

#include <gtest/gtest.h>

namespace nebis::http {
namespace {

Route route(std::string method, std::string pattern) {
    Route made;
    made.method = std::move(method);
    made.pattern = std::move(pattern);
    return made;
}

std::string found(const Router& router, std::string_view method, std::string_view path) {
    const auto one = router.find(method, path);
    return one.route != nullptr  ? one.route->method + ' ' + one.route->pattern
           : one.allowed.empty() ? "none"
                                 : "only " + one.allowed;
}

TEST(HttpRouter, literal_segments_win_over_parameters) {
    Router router;
    for (const auto* pattern :
         {"/orders/{id}", "/orders/{id}/lines/{line}", "/orders/last", "/orders", "/", "/{any}/last"})
        ASSERT_TRUE(router.add(route("GET", pattern)));
    EXPECT_EQ(found(router, "GET", "/orders"), "GET /orders");
    EXPECT_EQ(found(router, "GET", "/orders/last"), "GET /orders/last");
    EXPECT_EQ(found(router, "GET", "/orders/7"), "GET /orders/{id}");
    EXPECT_EQ(found(router, "GET", "/x/last"), "GET /{any}/last");
    EXPECT_EQ(found(router, "GET", "/"), "GET /");
    EXPECT_EQ(found(router, "GET", "/orders/7/lines"), "none");
    EXPECT_EQ(found(router, "GET", "/ORDERS"), "none");
    const auto lines = router.find("GET", "/orders/7/lines/a%20b");
    ASSERT_EQ(lines.parameters.size(), 2u);
    EXPECT_EQ(lines.parameters[0], (Header{"id", "7"}));
    EXPECT_EQ(lines.parameters[1], (Header{"line", "a b"}));
}

TEST(HttpRouter, other_methods_of_a_path_are_named) {
    Router router;
    ASSERT_TRUE(router.add(route("GET", "/orders")));
    ASSERT_TRUE(router.add(route("POST", "/orders")));
    ASSERT_TRUE(router.add(route("POST", "/pay")));
    EXPECT_EQ(found(router, "HEAD", "/orders"), "GET /orders");
    EXPECT_EQ(found(router, "DELETE", "/orders"), "only GET, POST, HEAD, OPTIONS");
    EXPECT_EQ(found(router, "HEAD", "/pay"), "only POST, OPTIONS");
}

// B104: two routes equal, and routes that could never be met
TEST(HttpRouter, B104_contradictory_routes_are_refused) {
    Router router;
    ASSERT_TRUE(router.add(route("POST", "/a/{id}")));
    for (const auto* pattern : {"/a/{name}", "", "a", "/a/", "/a//b", "/../a", "/a;x", "/a?b", "/{id}/{id}", "/%70"}) {
        const auto added = router.add(route("POST", pattern));
        ASSERT_FALSE(added) << pattern;
        EXPECT_EQ(added.error().kind(), ErrorKind::misconfigured);
    }
    EXPECT_TRUE(router.add(route("PUT", "/a/{id}")));
}

}  // namespace
}  // namespace nebis::http
