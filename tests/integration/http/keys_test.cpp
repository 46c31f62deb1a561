// SPDX-License-Identifier: Apache-2.0
#include "shop.hpp"

/// The key over real HTTP: bad inputs B001 to B046 as far as they come in through headers and bodies.
namespace nebis::http {
namespace {

class HttpKeys : public ShopTest {
protected:
    /// Sends these header lines as they are.
    test::HttpReply raw(const std::string& lines, const std::string& body = "tea") {
        auto one = client();
        EXPECT_TRUE(one.send("POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n" + lines + "\r\n" + body));
        auto reply = one.read();
        EXPECT_TRUE(reply) << one.error();
        return reply ? *reply : test::HttpReply{};
    }
    void expect_refused(const std::string& lines, const std::string& expected = "key-invalid") {
        const auto reply = raw(lines);
        EXPECT_EQ(reply.status, 400) << lines;
        EXPECT_EQ(word(reply), expected) << lines;
        EXPECT_EQ(runs, 0) << lines;
    }
};

TEST_F(HttpKeys, B001_I12_missing_key_is_400_with_a_link) {
    serve_orders();
    const auto reply = post("");
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(word(reply), "key-missing");
    EXPECT_EQ(reply.header("Link"), "</idempotency#key-missing>; rel=\"describedby\"");
    EXPECT_NE(reply.body.find("Idempotency-Key"), std::string::npos) << "names the header: " << reply.body;
    EXPECT_EQ(runs, 0);
}

// B002 to B007, B011, B012, B015, B016, C07, I-01, I-17
TEST_F(HttpKeys, B002_to_B016_malformed_keys_are_400) {
    serve_orders();
    expect_refused("Idempotency-Key:\r\n");
    expect_refused("Idempotency-Key: \t \r\n");
    expect_refused("Idempotency-Key: \"\"\r\n");
    expect_refused("Idempotency-Key: a\r\nIdempotency-Key: b\r\n");
    expect_refused("Idempotency-Key: a\r\nidempotency-key: a\r\n");
    expect_refused("Idempotency-Key: a, b\r\n");
    expect_refused("Idempotency-Key: \"a\", \"b\"\r\n");
    expect_refused("Idempotency-Key: " + std::string(256, 'k') + "\r\n");
    expect_refused("Idempotency-Key: \"abc\r\n");
    expect_refused("Idempotency-Key: \"a\\b\"\r\n");
    expect_refused("Idempotency-Key: caf\xC3\xA9\r\n");
    expect_refused("Idempotency-Key: \"\xE4\xBD\x99\"\r\n");
    expect_refused("Idempotency-Key: a\x1b[0m\r\n", "bad-request");
    expect_refused("Idempotency-Key: a\x7f\r\n", "bad-request");
    expect_refused(std::string("Idempotency-Key: a\0b\r\n", 22), "bad-request");
}

TEST_F(HttpKeys, B007_the_limit_is_named) {
    serve_orders();
    EXPECT_NE(raw("Idempotency-Key: " + std::string(256, 'k') + "\r\n").body.find("255"), std::string::npos);
}

TEST_F(HttpKeys, B008_B009_B013_B014_what_is_taken_unless_strict) {
    serve_orders();
    EXPECT_EQ(raw("Idempotency-Key: " + std::string(255, 'k') + "\r\n").status, 201);
    EXPECT_EQ(raw("Idempotency-Key: k\r\n").status, 201);
    EXPECT_EQ(raw("Idempotency-Key: \"with-parameters\";v=1\r\n").status, 201);
    EXPECT_EQ(raw("Idempotency-Key: 42\r\n").status, 201);
    EXPECT_EQ(runs, 4);
}

TEST_F(HttpKeys, B013_B014_I01_strict_takes_structured_field_strings_only) {
    const auto strict = engine("nebis: {idempotent: {strict-key-header: true}}\n");
    open({}, strict).post("/orders", by_header(), [this](const Request& request) { return order(request); });
    serve();
    for (const auto* value : {"bare", "1", "?1", ":YQ==:", "\"a\";v=1", "(\"a\")", "\"a\" \"b\""})
        expect_refused(std::string("Idempotency-Key: ") + value + "\r\n");
    EXPECT_EQ(raw("Idempotency-Key: \"a\"\r\n").status, 201);
}

// One character is a key among one caller's own; where everybody shares the keys anybody would guess it.
TEST_F(HttpKeys, B009_a_key_of_one_character_is_refused_where_the_scope_is_public) {
    auto policy = by_header("createOrder");
    policy.scope = Scope::shared;
    serve_orders(policy);
    expect_refused("Idempotency-Key: k\r\n");
    EXPECT_EQ(raw("Idempotency-Key: kk\r\n").status, 201);
}

TEST_F(HttpKeys, B010_B017_B018_B021_B022_which_keys_are_one) {
    serve_orders();
    EXPECT_EQ(post("same").status, 201);
    EXPECT_TRUE(replayed(post("\"same\"")));
    EXPECT_TRUE(replayed(request("POST", "/orders", {{"IDEMPOTENCY-KEY", "same"}}, "tea")));
    EXPECT_FALSE(replayed(post("Same")));
    EXPECT_FALSE(replayed(post("\"same \"")));
    for (const auto* odd : {"{}*?[]\\:", "' OR 1=1 --", "%_", "../../x"}) {
        const auto quoted = "\"" + (std::string(odd) == "{}*?[]\\:" ? "{}*?[]\\\\:" : std::string(odd)) + "\"";
        EXPECT_FALSE(replayed(post(quoted))) << odd;
        EXPECT_TRUE(replayed(post(quoted))) << odd;
    }
}

TEST_F(HttpKeys, B029_B030_B031_I13_another_request_is_422) {
    serve_orders();
    EXPECT_EQ(post("k", "tea", "/orders?gift=1", {{"Content-Type", "text/plain"}}).status, 201);
    EXPECT_EQ(word(post("k", "coffee", "/orders?gift=1", {{"Content-Type", "text/plain"}})), "mismatch");
    EXPECT_EQ(word(post("k", "tea", "/orders?gift=2", {{"Content-Type", "text/plain"}})), "mismatch");
    EXPECT_EQ(word(post("k", "tea", "/orders?gift=1", {{"Content-Type", "application/octet-stream"}})), "mismatch");
    const auto reply = post("k", "coffee", "/orders?gift=1");
    EXPECT_EQ(reply.status, 422);
    EXPECT_EQ(reply.header("Link"), "</idempotency#mismatch>; rel=\"describedby\"");
    EXPECT_TRUE(replayed(post("k", "tea", "/orders?gift=1", {{"Content-Type", "text/plain"}})));
    EXPECT_EQ(runs, 1);
}

// C09: operation, resource, spelling of the path
TEST_F(HttpKeys, C09_B026_one_key_on_other_operations_and_resources) {
    open().post("/orders", by_header(), [this](const Request& request) { return order(request); });
    web->post("/orders/{id}/cancel", by_header(), [this](const Request& request) { return order(request); });
    web->put("/things/{id}", by_header(), [this](const Request& request) { return order(request); });
    serve();
    EXPECT_EQ(post("k").status, 201);
    EXPECT_EQ(post("k", "tea", "/orders/7/cancel").status, 201);  // another operation: its own record
    EXPECT_EQ(request("PUT", "/things/1", {{"Idempotency-Key", "k"}}, "x").status, 201);
    EXPECT_EQ(request("PUT", "/things/2", {{"Idempotency-Key", "k"}}, "x").status,
              422);  // the same operation on another thing
    EXPECT_EQ(runs, 3);
}

TEST_F(HttpKeys, B067_spellings_of_the_path_are_one_operation) {
    serve_orders();
    EXPECT_FALSE(replayed(post("k")));
    for (const auto* path : {"//orders", "/./orders", "/%6Frders", "/orders/"})
        EXPECT_TRUE(replayed(post("k", "tea", path))) << path;
    for (const auto* path : {"/orders;x=1", "/orders%2F", "/orders%00", "/..%2forders"})
        EXPECT_EQ(post("k", "tea", path).status, 400) << path;
    EXPECT_EQ(post("k", "tea", "/ORDERS").status, 404);
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpKeys, B032_to_B042_json_bodies) {
    serve_orders();
    const Headers json = {{"Content-Type", "application/json"}};
    EXPECT_EQ(post("k", R"({"a":1,"b":[2]})", "/orders", json).status, 201);
    EXPECT_TRUE(replayed(post("k", R"( { "b" : [ 2 ], "a" : 1.0 } )", "/orders", json)));
    EXPECT_EQ(post("k", R"({"a":1,"b":[3]})", "/orders", json).status, 422);
    EXPECT_EQ(post("n", R"({"a":9007199254740993})", "/orders", json).status, 201);
    EXPECT_EQ(post("n", R"({"a":9007199254740992})", "/orders", json).status, 422);
    EXPECT_EQ(word(post("x", R"({"a":1,"a":2})", "/orders", json)), "body-invalid");
    EXPECT_EQ(word(post("x", std::string(100'000, '['), "/orders", json)), "body-invalid");
    EXPECT_EQ(word(post("x", "{} trailing", "/orders", json)), "body-invalid");
    EXPECT_EQ(post("e", "", "/orders", json).status, 201);
    EXPECT_EQ(post("e", "{}", "/orders", json).status, 422);
}

TEST_F(HttpKeys, B034_to_B041_what_json_bodies_are_one_and_what_is_none) {
    serve_orders();
    const Headers json = {{"Content-Type", "application/json"}};
    const auto send = [&](const std::string& key, const std::string& body) { return post(key, body, "/orders", json); };
    EXPECT_EQ(send("k", R"({"n":[1,1e400,-0]})").status, 201);
    EXPECT_TRUE(replayed(send("k", R"({"n":[1e0,10e399,0]})")));
    EXPECT_EQ(send("k", R"({"n":[1,1e401,-0]})").status, 422);
    const std::string digits(400, '7');
    EXPECT_EQ(send("d", digits).status, 201);
    EXPECT_TRUE(replayed(send("d", digits + ".0")));
    EXPECT_EQ(send("d", digits.substr(1) + "8").status, 422);
    for (const std::string broken : {"1e100000", "\xEF\xBB\xBF{}", "\"\xFF\"", R"("\ud800")", "{} {}", "<order/>"})
        EXPECT_EQ(word(send("x", broken)), "body-invalid") << broken;
    EXPECT_EQ(runs, 2);
}

TEST_F(HttpKeys, B019_B023_a_key_in_the_body_is_a_single_value_compared_by_bytes) {
    open().post("/orders", {.operation = "createOrder", .key = fields({"/order/ref"})},
                [this](const Request& request) { return order(request); });
    serve();
    const auto send = [&](const std::string& ref) {
        return post("", ref.empty() ? "{}" : R"({"order":{"ref":)" + ref + "}}", "/orders",
                    {{"Content-Type", "application/json"}});
    };
    for (const auto& [ref, expected] :
         {std::pair("", "key-missing"), std::pair("null", "key-missing"), std::pair(R"(" ")", "key-missing"),
          std::pair("{}", "key-invalid"), std::pair("[7]", "key-invalid")}) {
        const auto reply = send(ref);
        EXPECT_EQ(reply.status, 400) << ref;
        EXPECT_EQ(word(reply), expected) << ref;
        if (std::string(ref) != R"(" ")") {
            EXPECT_NE(reply.body.find("/order/ref"), std::string::npos) << reply.body;
        }
    }
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(send("7").status, 201);
    EXPECT_TRUE(replayed(send("7.0"))) << "one number, however it is written";
    EXPECT_EQ(send("\"\u00e9\"").status, 201);
    EXPECT_FALSE(replayed(send("\"e\u0301\""))) << "the same letter in another form is another key";
    EXPECT_EQ(runs, 3);
}

TEST_F(HttpKeys, B024_a_key_expression_that_yields_nothing_is_an_error) {
    open().post("/orders", {.operation = "createOrder", .key = "#request.orderId"},
                [this](const Request& request) { return order(request); });
    serve();
    for (const auto* body : {R"({"orderId":""})", R"({"orderId":"  "})", R"({"orderId":null})", "{}"}) {
        const auto reply = post("", body, "/orders", {{"Content-Type", "application/json"}});
        EXPECT_EQ(reply.status, 400) << body;
        EXPECT_EQ(word(reply), "key-missing") << body;
    }
    EXPECT_EQ(runs, 0);
}

// The same parts between other boundaries are other bytes: refused, and told why.
TEST_F(HttpKeys, B043_a_multipart_retry_with_a_new_boundary_is_422_with_a_hint) {
    serve_orders();
    const auto send = [&](const std::string& boundary, const std::string& what) {
        return post("k",
                    "--" + boundary + "\r\nContent-Disposition: form-data; name=\"what\"\r\n\r\n" + what + "\r\n--" +
                        boundary + "--\r\n",
                    "/orders", {{"Content-Type", "Multipart/form-data; boundary=" + boundary}});
    };
    EXPECT_EQ(send("b1", "tea").status, 201);
    EXPECT_TRUE(replayed(send("b1", "tea")));
    for (const auto& other : {send("b2", "tea"), send("b1", "coffee")}) {
        EXPECT_EQ(other.status, 422);
        EXPECT_EQ(word(other), "mismatch");
        EXPECT_NE(other.body.find("boundary"), std::string::npos) << other.body;
        EXPECT_EQ(other.body.find("b1"), std::string::npos) << "nothing of the first request: " << other.body;
    }
    const auto plain = post("k", "tea");
    EXPECT_EQ(plain.status, 422);
    EXPECT_EQ(plain.body.find("boundary"), std::string::npos) << "the hint is for who needs it: " << plain.body;
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpKeys, B053_the_order_of_form_fields_says_nothing) {
    serve_orders();
    const Headers form = {{"Content-Type", "application/x-www-form-urlencoded"}};
    EXPECT_EQ(post("k", "sku=1&n=2&tag=a&tag=b", "/orders", form).status, 201);
    EXPECT_TRUE(replayed(post("k", "n=2&tag=a&sku=1&tag=b", "/orders", form)));
    EXPECT_EQ(post("k", "sku=1&n=2&tag=b&tag=a", "/orders", form).status, 422) << "of repeats the order counts";
    EXPECT_EQ(post("k", "sku=1&n=3&tag=a&tag=b", "/orders", form).status, 422);
    EXPECT_EQ(runs, 1);
}

// Compressed bodies are bytes: nothing is ever inflated, so there's no ratio to bomb with.
TEST_F(HttpKeys, B044_B045_compressed_bodies_are_neither_inflated_nor_parsed) {
    serve_orders();
    const Headers packed = {{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}};
    const std::string bomb("\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff\xff", 13);
    const auto first = post("k", bomb, "/orders", packed);
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.body, "order 1 [" + bomb + "]");
    EXPECT_TRUE(replayed(post("k", bomb, "/orders", packed)));
    const auto repacked = post("k", bomb + "x", "/orders", packed);
    EXPECT_EQ(repacked.status, 422);
    EXPECT_NE(repacked.body.find("compress it once"), std::string::npos) << repacked.body;
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpKeys, B052_protobuf_bodies_are_compared_by_their_bytes) {
    serve_orders();
    const Headers protobuf = {{"Content-Type", "application/x-protobuf"}};
    const std::string fields("\x08\x01\x10\x02", 4), other_order("\x10\x02\x08\x01", 4);
    EXPECT_EQ(post("k", fields, "/orders", protobuf).status, 201);
    EXPECT_TRUE(replayed(post("k", fields, "/orders", protobuf)));
    EXPECT_EQ(post("k", other_order, "/orders", protobuf).status, 422);
    EXPECT_EQ(runs, 1);
}

// B025: tokens, each fault its own word
TEST_F(HttpKeys, B025_S5_one_time_tokens) {
    const auto with_tokens =
        engine("nebis: {idempotent: {token: {current: k1, keys: {k1: {secret: 0123456789abcdef0123456789abcdef}}}}}\n");
    open({}, with_tokens);
    const auto orders = web->protect("POST", "/orders", {.operation = "createOrder", .key = one_time_token()},
                                     detail::handler_of([this](const Request& request) { return order(request); }));
    const auto other = with_tokens.operation({.operation = "other", .key = one_time_token()}).value();
    serve();
    const auto send = [&](const std::string& token) {
        return request("POST", "/orders", {{"X-Idempotent-Token", token}}, "tea");
    };
    const auto token = with_tokens.create_token(orders).value();
    EXPECT_EQ(send(token).status, 201);
    EXPECT_TRUE(replayed(send(token)));  // a spent token replays
    EXPECT_EQ(word(send(with_tokens.create_token(other).value())), "token-foreign");
    EXPECT_EQ(send(with_tokens.create_token(other).value()).status, 403);
    const auto alices = send(with_tokens.create_token(orders, "alice").value());
    EXPECT_EQ(alices.status, 403);
    EXPECT_EQ(word(alices), "token-foreign");
    auto forged = with_tokens.create_token(orders).value();
    forged[forged.size() / 2] = forged[forged.size() / 2] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(word(send(forged)) == "token-forged" || word(send(forged)) == "token-unknown") << word(send(forged));
    EXPECT_EQ(word(send("not-a-token")), "token-unknown");
    EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace nebis::http
