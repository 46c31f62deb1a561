// SPDX-License-Identifier: Apache-2.0
#include "shop.hpp"

namespace nebis::http {
namespace {

class HttpRoutes : public ShopTest {};

TEST_F(HttpRoutes, B054_unprotected_routes_pass) {
    open().get("/orders/{id}", [this](const Request& request) {
        return Reply{200,
                     "order " + std::string(request.parameter("id")) + " run " + std::to_string(++runs),
                     {{"Set-Cookie", "a=1"}}};
    });
    web->put("/notes", [this](const Request& request) { return Reply{200, request.body + std::to_string(++runs)}; });
    serve();
    EXPECT_EQ(request("GET", "/orders/7%20b", {{"Idempotency-Key", "k"}}).body, "order 7 b run 1");
    EXPECT_EQ(request("GET", "/orders/7%20b", {{"Idempotency-Key", "k"}}).body, "order 7 b run 2");
    EXPECT_EQ(request("HEAD", "/orders/7").header("Content-Length"), "13");
    EXPECT_EQ(request("PUT", "/notes", {}, "a").body, "a4");
    EXPECT_EQ(request("GET", "/orders/7").header("Set-Cookie"), "a=1");
}

TEST_F(HttpRoutes, B055_options_and_unknown_routes) {
    serve_orders();
    const auto options = request("OPTIONS", "/orders", {{"Origin", "http://x"}});
    EXPECT_EQ(options.status, 204);
    EXPECT_EQ(options.header("Allow"), "POST, OPTIONS");
    EXPECT_EQ(request("OPTIONS", "*").status, 204);
    const auto wrong = request("DELETE", "/orders");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.header("Allow"), "POST, OPTIONS");
    EXPECT_EQ(word(wrong), "method-not-allowed");
    EXPECT_EQ(word(post("k", "tea", "/nowhere")), "not-found");
    EXPECT_EQ(runs, 0);
}

TEST_F(HttpRoutes, B056_a_method_override_is_refused) {
    serve_orders();
    for (const auto* name : {"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"})
        EXPECT_EQ(post("k", "tea", "/orders", {{name, "PUT"}}).status, 400) << name;
    EXPECT_EQ(runs, 0);
}

TEST_F(HttpRoutes, B048_B049_body_limits_are_those_of_the_operation) {
    auto policy = by_header("createOrder");
    policy.max_request_bytes = 100;
    serve_orders(policy);
    EXPECT_EQ(post("k", std::string(100, 'x')).status, 201);
    const auto reply = post("l", std::string(101, 'x'));
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(word(reply), "body-too-large");
    EXPECT_NE(reply.body.find("100"), std::string::npos);
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpRoutes, B050_half_a_request_leaves_the_record_untouched) {
    serve_orders();
    auto one = client();
    ASSERT_TRUE(one.send("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 10\r\n\r\nte"));
    one.close();
    EXPECT_FALSE(replayed(post("k", "something else")));
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpRoutes, operation_is_named_after_the_route_unless_the_policy_names_it) {
    open();
    EXPECT_EQ(
        web->protect("POST", "/orders/{id}", by_header(), detail::handler_of([](const Request&) { return Reply{}; }))
            .name(),
        "POST /orders/{id}");
    EXPECT_EQ(web->protect("POST", "/orders", by_header("createOrder"),
                           detail::handler_of([](const Request&) { return Reply{}; }))
                  .name(),
              "createOrder");
}

TEST_F(HttpRoutes, wrong_routes_and_policies_are_refused_when_they_are_added) {
    open().post("/a", by_header(), [](const Request&) { return Reply{}; });
    EXPECT_THROW(web->post("/a", by_header(), [](const Request&) { return Reply{}; }), IdempotentException);
    EXPECT_THROW(web->get("/b/", [](const Request&) { return Reply{}; }), IdempotentException);
    EXPECT_THROW(web->post("/c", {.operation = "c", .key = "#request.("}, [](const Request&) { return Reply{}; }),
                 IdempotentException);
    EXPECT_THROW(web->post("/d", by_header(), Handler::later([](const nebis::Request&, Execution, Completion) {})),
                 IdempotentException);
}

TEST_F(HttpRoutes, key_may_be_optional_and_then_the_answer_says_that_nothing_protects_it) {
    auto policy = by_header("createOrder");
    policy.key_required = false;
    serve_orders(policy);
    const auto bare = post("");
    EXPECT_EQ(bare.status, 201);
    EXPECT_EQ(bare.header("Idempotency-Status"), "unprotected");
    EXPECT_EQ(post("k").header("Idempotency-Status"), "");
    EXPECT_TRUE(replayed(post("k")));
    EXPECT_EQ(runs, 2);
}

TEST_F(HttpRoutes, S50_observe_mode_lets_through_and_says_so) {
    auto policy = by_header("createOrder");
    policy.enforcement = Enforcement::observe;
    serve_orders(policy);
    EXPECT_EQ(post("k").status, 201);
    const auto again = post("k");
    EXPECT_EQ(again.body, "order 2 [tea]");
    EXPECT_EQ(again.header("Idempotency-Status"), "unprotected");
    EXPECT_EQ(again.header("Set-Cookie"), "s=1");
}

TEST_F(HttpRoutes, metrics_health_and_S39) {
    open().post("/orders", by_header("createOrder"), [this](const Request& request) { return order(request); });
    web->metrics();
    web->health();
    serve();
    EXPECT_EQ(post("k").status, 201);
    const auto metrics = request("GET", "/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_TRUE(metrics.header("Content-Type").starts_with("text/plain"));
    EXPECT_NE(metrics.body.find("createOrder"), std::string::npos);
    EXPECT_EQ(request("GET", "/healthz").body, "ok\n");
    EXPECT_EQ(request("HEAD", "/healthz").status, 200);
}

// I-05, I-06: the rules are published, expiry included
TEST_F(HttpRoutes, I05_I06_the_server_tells_its_rules) {
    auto policy = by_header("createOrder");
    policy.retention = std::chrono::hours(36);
    serve_orders(policy);
    const auto page = request("GET", "/idempotency");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
    for (const auto* text :
         {"POST /orders", "createOrder", "header Idempotency-Key", "36 h", "id=\"key-missing\"", "id=\"mismatch\""})
        EXPECT_NE(page.body.find(text), std::string::npos) << text;
}

TEST_F(HttpRoutes, presentation_comes_from_the_configuration) {
    const auto configured = engine(
        "nebis:\n  idempotent:\n    http:\n      documentation-url: https://shop.example/rules\n      replayed-header: "
        "Idempotent-Replayed\n"
        "      replay-headers: [Location, X-Own, Set-Cookie]\n      max-header-bytes: 2048\n");
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    web.emplace(configured, options);
    web->post("/orders", by_header(), [](const Request&) {
        return Reply{200, "x", {{"X-Own", "1"}, {"Set-Cookie", "s=1"}}};
    });
    serve();
    EXPECT_EQ(post("").header("Link"), "<https://shop.example/rules#key-missing>; rel=\"describedby\"");
    post("k");
    const auto again = post("k");
    EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
    EXPECT_EQ(again.header("X-Own"), "1");
    EXPECT_EQ(again.count("Set-Cookie"), 0u);
    EXPECT_EQ(post("k", "tea", "/orders", {{"X-Large", std::string(3000, 'x')}}).status, 431);
}

TEST_F(HttpRoutes, stop_is_graceful_and_health_says_so_first) {
    Door door;
    open().post("/orders", by_header(), [&](const Request& request) {
        door.pass();
        return order(request);
    });
    serve();
    std::thread caller([&] { EXPECT_EQ(post("k").status, 201); });
    ASSERT_TRUE(door.reached());
    std::thread stopping([&] { web->stop(); });
    EXPECT_TRUE(eventually([&] { return !client().connect(); }));
    door.open();
    caller.join();
    stopping.join();
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpRoutes, run_ends_when_stop_is_called) {
    open().get("/x", [](const Request&) { return Reply{200, "x"}; });
    std::thread running([&] { web->run(); });
    EXPECT_TRUE(eventually([&] { return web->port() != 0; }));
    EXPECT_EQ(request("GET", "/x").body, "x");
    web->stop();
    running.join();
}

}  // namespace
}  // namespace nebis::http
