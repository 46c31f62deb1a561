// SPDX-License-Identifier: Apache-2.0
#include "shop.hpp"

/// Which headers a replay carries, over real connections (C30, C33).
namespace nebis::http {
namespace {

class HttpReplay : public ShopTest {
protected:
    /// All that a handler may answer, what isn't its business included.
    static Reply talkative(int run) {
        return {201,
                "{\"id\":" + std::to_string(run) + "}",
                {{"Location", "/orders/1"},
                 {"ETag", "\"v1\""},
                 {"Link", "</a>; rel=\"next\""},
                 {"X-Shop", "1"},
                 {"Link", "</b>; rel=\"prev\""},
                 {"Content-Type", "application/json; charset=utf-8"},
                 {"Last-Modified", "Wed, 09 Jun 2027 10:18:14 GMT"},
                 {"Content-Length", "7777"},
                 {"Transfer-Encoding", "chunked"},
                 {"Connection", "close, X-Hop"},
                 {"X-Hop", "1"},
                 {"Keep-Alive", "timeout=5"},
                 {"Date", "Thu, 01 Jan 1970 00:00:00 GMT"},
                 {"Vary", "Accept"},
                 {"X-RateLimit-Remaining", "3"},
                 {"Set-Cookie", "session=s1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly"},
                 {"Set-Cookie", "csrf=c1"},
                 {"WWW-Authenticate", "Bearer realm=\"shop\""},
                 {"Authorization", "Bearer s1"},
                 {"Authentication-Info", "nextnonce=\"n1\""},
                 {"Proxy-Authenticate", "Basic"}}};
    }
    void serve_talkative(const std::string& configuration, ServerOptions options = {}) {
        options.listen = "127.0.0.1:0";
        shop.emplace(engine(configuration));
        web.emplace(*shop, std::move(options));
        web->post("/orders", by_header("createOrder"), [this](const Request&) { return talkative(++runs); });
        serve();
    }
    static std::vector<std::string> all(const test::HttpReply& reply, std::string_view name) {
        std::vector<std::string> values;
        for (const auto& [header, value] : reply.headers)
            if (header == name) values.push_back(value);
        return values;
    }

    std::optional<Engine> shop;
};

TEST_F(HttpReplay, C30_B071_allowed_headers_come_back_in_order_and_framing_is_made_anew) {
    serve_talkative("nebis: {idempotent: {http: {replay-headers: [X-Shop]}}}");
    auto one = client();  // one connection for all of it
    const auto first = one.post("/orders", "tea", {{"Idempotency-Key", "k"}});
    ASSERT_TRUE(first) << one.error();
    const auto again = one.post("/orders", "tea", {{"Idempotency-Key", "k"}});
    ASSERT_TRUE(again) << one.error();
    EXPECT_TRUE(replayed(*again));
    for (const auto* reply : {&*first, &*again}) {
        EXPECT_EQ(reply->status, 201);
        EXPECT_EQ(reply->body, "{\"id\":1}");
        EXPECT_EQ(reply->header("Location"), "/orders/1");
        EXPECT_EQ(reply->header("ETag"), "\"v1\"");
        EXPECT_EQ(reply->header("Last-Modified"), "Wed, 09 Jun 2027 10:18:14 GMT");
        EXPECT_EQ(reply->header("Content-Type"), "application/json; charset=utf-8");
        EXPECT_EQ(reply->header("X-Shop"), "1");
        EXPECT_EQ(all(*reply, "Link"), (std::vector<std::string>{"</a>; rel=\"next\"", "</b>; rel=\"prev\""}));
        // The transport's own: one each, and true.
        EXPECT_EQ(all(*reply, "Content-Length"), std::vector<std::string>{"8"});
        EXPECT_EQ(reply->count("Date"), 1u);
        EXPECT_EQ(reply->header("Date").find("1970"), std::string::npos);
        for (const auto* hop : {"Transfer-Encoding", "Connection", "Keep-Alive", "X-Hop"})
            EXPECT_EQ(reply->count(hop), 0u) << hop;
    }
    // Not configured, so the first caller's alone.
    for (const auto* once : {"Vary", "X-RateLimit-Remaining"}) {
        EXPECT_EQ(first->count(once), 1u) << once;
        EXPECT_EQ(again->count(once), 0u) << once;
    }
    // The order among the kept ones is the handler's; this client's parser puts repeats of a name side by side.
    std::vector<std::string> order;
    for (const auto& [name, value] : again->headers)
        if (name == "Location" || name == "ETag" || name == "Link" || name == "X-Shop") order.push_back(name);
    EXPECT_EQ(order, (std::vector<std::string>{"Location", "ETag", "Link", "Link", "X-Shop"}));
    EXPECT_EQ(one.get("/nowhere")->status, 404) << "and the connection is in order";
    EXPECT_TRUE(one.connected());
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpReplay, C33_B074_cookies_and_challenges_reach_the_first_caller_and_are_never_stored_or_replayed) {
    // Whoever lists them wins nothing: the deny list stands above.
    ServerOptions options;
    options.principal = [](const Request& request) -> Result<std::optional<Principal>> {
        return std::optional<Principal>(Principal{**request.header("X-User"), ""});
    };
    serve_talkative(
        "nebis: {idempotent: {http: {replay-headers: [Set-Cookie, WWW-Authenticate, Authorization, "
        "Authentication-Info, Proxy-Authenticate, Connection, Content-Length, Date]}}}",
        std::move(options));
    const auto as = [&](const std::string& user, const std::string& session) {
        return post("k", "tea", "/orders", {{"X-User", user}, {"Cookie", "session=" + session}});
    };
    const auto first = as("alice", "s0");
    EXPECT_EQ(all(first, "Set-Cookie"),
              (std::vector<std::string>{"session=s1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly", "csrf=c1"}));
    EXPECT_EQ(first.header("WWW-Authenticate"), "Bearer realm=\"shop\"");
    const auto expect_bare = [](const test::HttpReply& reply) {
        EXPECT_TRUE(replayed(reply));
        EXPECT_EQ(reply.body, "{\"id\":1}");
        for (const auto* secret :
             {"Set-Cookie", "WWW-Authenticate", "Authorization", "Authentication-Info", "Proxy-Authenticate"})
            EXPECT_EQ(reply.count(secret), 0u) << secret;
    };
    expect_bare(as("alice", "s1"));
    expect_bare(as("alice", "rotated"));  // another session of the same caller
    EXPECT_EQ(as("bob", "s1").body, "{\"id\":2}") << "another caller's key is another record (C54)";
    // Nothing of it lies in the store either.
    nebis::Request alices;
    alices.headers = {{"Idempotency-Key", "k"}};
    alices.principal = "alice";
    const auto row = shop->inspect(shop->operation(by_header("createOrder")).value(), alices).value();
    ASSERT_TRUE(row && row->response);
    for (const auto& [name, value] : row->response->headers)
        for (const auto* part : {"session=", "csrf=", "Bearer", "nonce", "Basic"})
            EXPECT_EQ(value.find(part), std::string::npos) << name;
    EXPECT_EQ(row->response->headers.size(), 6u) << "Location, ETag, two of Link, Content-Type, Last-Modified";
}

}  // namespace
}  // namespace nebis::http
