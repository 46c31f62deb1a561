// SPDX-License-Identifier: Apache-2.0
#include "shop.hpp"

namespace nebis::http {
namespace {

class HttpCallers : public ShopTest {
protected:
    void SetUp() override {
        ServerOptions options;
        options.principal = [this](const Request& request) -> Result<std::optional<Principal>> {
            const auto who = request.header("X-User");
            if (!who) return who.error();
            if (*who == nullptr) return std::optional<Principal>{};
            if (**who == "barred" || (**who == "alice" && alice_barred))
                return Error(ErrorKind::rejected_input, "you may not").with_code("forbidden");
            if (**who == "nobody") return Error(ErrorKind::rejected_input, "who are you?");
            if (**who == "thrower") throw std::runtime_error("secret");
            if (**who == "waits") return Error(ErrorKind::unavailable, "the directory is away");
            const auto at = (*who)->find('@');
            return std::optional<Principal>(
                Principal{(*who)->substr(0, at), at == std::string::npos ? "" : (*who)->substr(at + 1)});
        };
        serve_orders(by_header("createOrder"), std::move(options));
    }
    test::HttpReply as(const std::string& user, const std::string& body = "tea") {
        return post("k", body, "/orders", {{"X-User", user}});
    }
    std::atomic<bool> alice_barred = false;
};

// C54, B027, I-17
TEST_F(HttpCallers, C54_B027_I17_one_key_of_two_callers_is_two_records) {
    EXPECT_EQ(as("alice").body, "order 1 [tea]");
    EXPECT_EQ(as("bob").body, "order 2 [tea]");
    EXPECT_EQ(as("bob@other").body, "order 3 [tea]");
    EXPECT_EQ(as("carol", "coffee").status, 201);  // no mismatch: unrelated
    EXPECT_TRUE(replayed(as("alice")));
    EXPECT_TRUE(replayed(as("bob")));
    EXPECT_EQ(runs, 4);
}

TEST_F(HttpCallers, C54_I13_authorization_comes_before_replay) {
    EXPECT_EQ(as("alice").status, 201);
    EXPECT_TRUE(replayed(as("alice")));
    alice_barred = true;
    EXPECT_EQ(as("alice").status, 403);
    EXPECT_EQ(word(as("alice")), "forbidden");
    EXPECT_EQ(as("alice").count("Idempotency-Replayed"), 0u);
    EXPECT_EQ(runs, 1);
}

TEST_F(HttpCallers, faults_of_the_check_are_told_apart) {
    EXPECT_EQ(as("nobody").status, 401);
    EXPECT_EQ(word(as("nobody")), "unauthenticated");
    EXPECT_EQ(as("barred").status, 403);
    EXPECT_EQ(as("waits").status, 503);
    EXPECT_EQ(as("waits").header("Retry-After"), "1");
    EXPECT_EQ(as("thrower").status, 500);
    EXPECT_EQ(as("thrower").body.find("secret"), std::string::npos);
    EXPECT_EQ(runs, 0);
}

// S59
TEST_F(HttpCallers, S59_a_caller_with_too_many_new_keys_gets_a_429_of_its_own) {
    ServerOptions options;
    options.principal = [](const Request& request) -> Result<std::optional<Principal>> {
        return std::optional<Principal>(Principal{**request.header("X-User"), ""});
    };
    open(std::move(options), engine("nebis: {idempotent: {quota: {new-keys: 2, window-millis: 3600000}}}"))
        .post("/orders", by_header("createOrder"), [this](const Request& request) { return order(request); });
    serve();
    const auto send = [this](const std::string& user, const std::string& key) {
        return post(key, "tea", "/orders", {{"X-User", user}});
    };
    EXPECT_EQ(send("alice", "1").status, 201);
    EXPECT_EQ(send("alice", "2").status, 201);
    const auto refused = send("alice", "3");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(word(refused), "too-many-new-keys");
    EXPECT_GT(std::stoi(refused.header("Retry-After")), 1'000);
    EXPECT_EQ(send("bob", "3").status, 201);
    EXPECT_TRUE(replayed(send("alice", "1"))) << "what she sent before is answered as ever";
    EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace nebis::http
