// SPDX-License-Identifier: Apache-2.0
#include "identify/trace_id.hpp"

#include "identify/digest.hpp"
#include "support.hpp"

#include <map>
#include <tuple>

namespace nebis::identify_test {
namespace {

using identify::hashed_tag;
using identify::make_trace_id;
using identify::max_trace_id;

bool is_hashed(std::string_view id) { return id.starts_with(hashed_tag) && id.size() == hashed_tag.size() + 64; }

TEST(TraceId, short_and_clean_is_readable) {
    EXPECT_EQ(make_trace_id("acme", "u1", "payOrder", "7:3"), "acme|u1|payOrder|7:3");
    EXPECT_EQ(make_trace_id("", "", "POST /orders/{id}", "k"), "||POST /orders/{id}|k");
    EXPECT_EQ(make_trace_id("", "u1", "pay", "a|b"), "|u1|pay|a|b")
        << "the key comes last, so it may hold the separator";
}

TEST(TraceId, B026_B027_C54_operation_tenant_and_principal_keep_keys_apart) {
    const auto id = make_trace_id("t1", "u1", "pay", "k");
    EXPECT_NE(id, make_trace_id("t1", "u1", "refund", "k"));
    EXPECT_NE(id, make_trace_id("t2", "u1", "pay", "k"));
    EXPECT_NE(id, make_trace_id("t1", "u2", "pay", "k"));
    EXPECT_NE(id, make_trace_id("t1", "", "pay", "k"));
    EXPECT_NE(make_trace_id("t1", "", "pay", "k"), make_trace_id("", "t1", "pay", "k"));
}

TEST(TraceId, Z20_Z21_separators_inside_never_shift_the_parts) {
    EXPECT_NE(make_trace_id("a|b", "", "op", "k"), make_trace_id("a", "b", "op", "k"));
    EXPECT_NE(make_trace_id("a", "b|op", "x", "k"), make_trace_id("a", "b", "op|x", "k"));
    EXPECT_TRUE(is_hashed(make_trace_id("", "auth0|7", "op", "k")));
}

TEST(TraceId, Z23_long_or_unclean_is_hashed_and_fits_the_column) {
    EXPECT_TRUE(is_hashed(make_trace_id("", "", "op", std::string(255, 'k'))));
    EXPECT_EQ(make_trace_id("", "", "op", std::string(max_trace_id - 5, 'k')).size(), max_trace_id);
    EXPECT_TRUE(is_hashed(make_trace_id("", "", "op", std::string(max_trace_id - 4, 'k'))));
    for (const char* key : {"key ", " key", "caf\xc3\xa9", "a\nb", "a\x7f", "\t"})
        EXPECT_TRUE(is_hashed(make_trace_id("", "", "op", key))) << key;
    EXPECT_TRUE(is_hashed(make_trace_id("acme ", "", "op", "k")));
    EXPECT_TRUE(is_hashed(make_trace_id("", "u\xc3\xb6", "op", "k")));
    EXPECT_TRUE(is_hashed(make_trace_id("", "", "op|", "k")));
}

TEST(TraceId, C05_B018_B019_bytes_decide_not_collation) {
    const auto id = [](const char* key) { return make_trace_id("", "", "op", key); };
    EXPECT_NE(id("abcDEF"), id("ABCdef"));
    EXPECT_NE(id("key"), id("key "));
    EXPECT_NE(id("\xc3\xa9"), id("e\xcc\x81"));
    EXPECT_NE(id("\xe2\x84\xab"), id("\xc3\x85"));
    EXPECT_NE(id("stra\xc3\x9f"
                 "e"),
              id("strasse"));
}

TEST(TraceId, N09_B020_a_key_that_looks_like_a_stored_hash_is_hashed_again) {
    const std::string stored = make_trace_id("", "victim", "op", std::string(300, 'k'));
    ASSERT_TRUE(is_hashed(stored));
    for (const auto& aimed : {make_trace_id("", "", "op", stored), make_trace_id("", "victim", "op", stored),
                              make_trace_id(stored, "", "op", "k"), make_trace_id("sha256:", "", "op", "k")}) {
        EXPECT_TRUE(is_hashed(aimed));
        EXPECT_NE(aimed, stored);
    }
}

// The stored form outlives every build: other bytes here would orphan the records of a running fleet (C10).
TEST(TraceId, hashed_form_is_pinned) {
    std::string framed;
    for (const char* part : {"t", "u", "op", "k "}) identify::append_framed(framed, part);
    EXPECT_EQ(make_trace_id("t", "u", "op", "k "), "sha256:" + identify::to_hex(identify::sha256(framed)));
    EXPECT_EQ(make_trace_id("t", "u", "op", "k "),
              "sha256:30ffef209ef4781d71b8d98f8130b8a27bc4c2d222c8cba0e0c519856da0d372");
}

TEST(TraceId, property_no_two_quadruples_meet) {
    std::mt19937_64 random(7);
    using Quadruple = std::tuple<std::string, std::string, std::string, std::string>;
    std::map<std::string, Quadruple> seen;
    for (int round = 0; round < 60000; ++round) {
        const Quadruple q{random_text(random, "a| ", 2), random_text(random, "a|\xc3", 2),
                          random_text(random, "a:|", 2), random_text(random, "a|: ", 3)};
        const auto& [tenant, principal, operation, key] = q;
        const auto id = make_trace_id(tenant, principal, operation, key);
        ASSERT_LE(id.size(), max_trace_id);
        const auto [found, fresh] = seen.emplace(id, q);
        ASSERT_TRUE(fresh || found->second == q) << id;
    }
    EXPECT_GT(seen.size(), 5000u);
}

}  // namespace
}  // namespace nebis::identify_test
