// SPDX-License-Identifier: Apache-2.0
#include "nebis/token.hpp"

#include "identify/digest.hpp"
#include "support.hpp"

#include <set>

namespace nebis::identify_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const std::string secret1(32, 'a'), secret2(48, 'b');

TokenService::Clock::time_point test_now{1700000000s};

TokenService::Options options(std::chrono::milliseconds lifetime = 30min) {
    return {.lifetime = lifetime, .now = [] { return test_now; }};
}

std::shared_ptr<const TokenService> service(TokenKeys keys = {"k1", {{"k1", secret1}}},
                                            TokenService::Options with = options()) {
    return value_of(TokenService::make(std::move(keys), std::move(with)));
}

TEST(Token, S5_is_bound_and_verifies_to_its_key) {
    const auto tokens = service();
    const auto token = value_of(tokens->create("createOrder", "u1", "t1"));
    const auto key = value_of(tokens->verify(token, "createOrder", "u1", "t1"));
    EXPECT_EQ(key.size(), 22u);
    EXPECT_EQ(key, value_of(tokens->verify(token, "createOrder", "u1", "t1")))
        << "a spent token makes the same key, so it replays (B025)";
    EXPECT_THAT(token, testing::MatchesRegex("[A-Za-z0-9_-]+"));
    EXPECT_LT(token.size(), 120u);
}

TEST(Token, no_two_are_equal) {
    const auto tokens = service();
    std::set<std::string> keys;
    for (int i = 0; i < 1000; ++i)
        EXPECT_TRUE(keys.insert(value_of(tokens->verify(value_of(tokens->create("op")), "op"))).second);
}

TEST(Token, B025_Z37_foreign_is_told_apart) {
    const auto tokens = service();
    const auto token = value_of(tokens->create("createOrder", "u1", "t1"));
    EXPECT_THAT(tokens->verify(token, "refund", "u1", "t1"), Refuses("token-foreign"));
    EXPECT_THAT(tokens->verify(token, "createOrder", "u2", "t1"), Refuses("token-foreign"));
    EXPECT_THAT(tokens->verify(token, "createOrder", "u1", "t2"), Refuses("token-foreign"));
    EXPECT_THAT(tokens->verify(token, "createOrder", "u1"), Refuses("token-foreign"));
    EXPECT_THAT(tokens->verify(token, "createOrder", "t1", "u1"), Refuses("token-foreign"));
    EXPECT_THAT(tokens->verify(value_of(tokens->create("op", "ab", "c")), "op", "a", "bc"), Refuses("token-foreign"));
}

TEST(Token, B025_expired) {
    const auto before = test_now;
    const auto tokens = service({"k1", {{"k1", secret1}}}, options(10s));
    const auto token = value_of(tokens->create("op"));
    test_now = before + 9999ms;
    EXPECT_TRUE(tokens->verify(token, "op"));
    test_now = before + 10s;
    EXPECT_THAT(tokens->verify(token, "op"), Refuses("token-expired"));
    EXPECT_THAT(tokens->verify(token, "other"), Refuses("token-foreign")) << "whose it is comes first";
    test_now = before;
}

TEST(Token, B025_Z37_every_changed_bit_is_forged_or_unknown) {
    const auto tokens = service();
    std::string bytes;
    ASSERT_TRUE(identify::from_base64url(value_of(tokens->create("op")), bytes));
    for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
        std::string changed = bytes;
        changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << (i % 8)));
        const auto error = error_of(tokens->verify(identify::to_base64url(changed), "op"));
        // Version, length of the key id, key id: then it is none of ours. Everything behind is signed.
        EXPECT_EQ(error.code(), i / 8 < 4 ? "token-unknown" : "token-forged") << i;
    }
}

TEST(Token, B025_unknown) {
    const auto tokens = service();
    const auto token = value_of(tokens->create("op"));
    for (const std::string& text :
         {std::string(), std::string("any string"), std::string("!!"), token + "A", token.substr(1), token + token,
          std::string(5000, 'A'), token + "=", std::string("AQ"), std::string("AQA"), std::string("AQIAAA")}) {
        EXPECT_THAT(tokens->verify(text, "op"), Refuses("token-unknown")) << text;
    }
    EXPECT_THAT(service({"k2", {{"k2", secret2}}})->verify(token, "op"), Refuses("token-unknown"));
    EXPECT_THAT(service({"k1", {{"k1", secret2}}})->verify(token, "op"), Refuses("token-forged"))
        << "the same id with another secret";
}

TEST(Token, S5_keys_rotate) {
    const auto old_one = service();
    const auto token = value_of(old_one->create("op"));
    const auto both = service({"k2", {{"k1", secret1}, {"k2", secret2}}});
    EXPECT_EQ(value_of(both->verify(token, "op")), value_of(old_one->verify(token, "op")))
        << "the key doesn't change with the rotation";
    const auto fresh = value_of(both->create("op"));
    EXPECT_TRUE(both->verify(fresh, "op"));
    EXPECT_THAT(old_one->verify(fresh, "op"), Refuses("token-unknown"));
    EXPECT_THAT(service({"k2", {{"k2", secret2}}})->verify(token, "op"), Refuses("token-unknown"));
}

TEST(Token, keys_are_checked) {
    const auto bad = [](TokenKeys keys, std::chrono::milliseconds lifetime = 1min) {
        const auto error = error_of(TokenService::make(std::move(keys), options(lifetime)));
        EXPECT_EQ(error.kind(), ErrorKind::misconfigured);
        EXPECT_THAT(error.text(), Not(HasSubstr(secret1.substr(0, 31))));
        return error.message();
    };
    EXPECT_THAT(bad({"k1", {}}), HasSubstr("no key"));
    EXPECT_THAT(bad({"k2", {{"k1", secret1}}}), HasSubstr("current"));
    EXPECT_THAT(bad({"", {{"", secret1}}}), HasSubstr("key id"));
    EXPECT_THAT(bad({"a b", {{"a b", secret1}}}), HasSubstr("key id"));
    EXPECT_THAT(bad({"k", {{std::string(17, 'k'), secret1}}}), HasSubstr("key id"));
    EXPECT_THAT(bad({"k1", {{"k1", secret1.substr(1)}}}), HasSubstr("32 bytes"));
    EXPECT_THAT(bad({"k1", {{"k1", secret1}, {"k1", secret2}}}), HasSubstr("twice"));
    EXPECT_THAT(bad({"k1", {{"k1", secret1}}}, 999ms), HasSubstr("lifetime"));
    EXPECT_TRUE(TokenService::make({"A-z_9", {{"A-z_9", secret1}}}));
}

TEST(Token, S5_lifetime_must_be_shorter_than_the_retention) {
    EXPECT_TRUE(service()->check_retention(31min));
    EXPECT_EQ(error_of(service()->check_retention(30min)).kind(), ErrorKind::misconfigured);
    EXPECT_EQ(error_of(service()->check_retention(1min)).kind(), ErrorKind::misconfigured);
    EXPECT_EQ(service()->lifetime(), 30min);
}

TEST(Token, without_randomness_there_is_no_token) {
    auto with = options();
    with.fill_random = [](std::span<unsigned char>) { return false; };
    EXPECT_EQ(error_of(service({"k1", {{"k1", secret1}}}, with)->create("op")).kind(), ErrorKind::unavailable);
}

TEST(Token, uses_the_machines_clock_and_generator_by_default) {
    const auto tokens = value_of(TokenService::make({"k1", {{"k1", secret1}}}));
    EXPECT_TRUE(tokens->verify(value_of(tokens->create("op")), "op"));
}

TEST(Token, C56_errors_hold_nothing_of_the_token) {
    const auto tokens = service();
    const auto token = value_of(tokens->create("op"));
    for (const auto& error : {error_of(tokens->verify(token, "x")), error_of(tokens->verify(token + "A", "op")),
                              error_of(service({"k1", {{"k1", secret2}}})->verify(token, "op"))}) {
        EXPECT_THAT(error.text(), Not(HasSubstr(token.substr(10, 8))));
    }
}

}  // namespace
}  // namespace nebis::identify_test
