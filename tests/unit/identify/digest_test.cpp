// SPDX-License-Identifier: Apache-2.0
#include "identify/digest.hpp"

#include "support.hpp"

#include <set>
#include <thread>

namespace nebis::identify_test {
namespace {

using namespace identify;

TEST(Digest, sha256_fits_the_published_vectors) {
    EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, instances_may_be_nested_and_threads_dont_share) {
    Sha256 outer;
    outer.update("a");
    {
        Sha256 inner;
        inner.update("nothing of the outer");
        EXPECT_EQ(inner.finish(), sha256("nothing of the outer"));
    }
    outer.update("bc");
    EXPECT_EQ(outer.finish(), sha256("abc"));

    Digest elsewhere{};
    std::thread([&] { elsewhere = sha256("abc"); }).join();
    EXPECT_EQ(elsewhere, sha256("abc"));
}

TEST(Digest, hmac_fits_rfc4231) {
    EXPECT_EQ(to_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, base64url_fits_rfc4648_and_round_trips) {
    EXPECT_EQ(to_base64url(""), "");
    EXPECT_EQ(to_base64url("f"), "Zg");
    EXPECT_EQ(to_base64url("fo"), "Zm8");
    EXPECT_EQ(to_base64url("foo"), "Zm9v");
    EXPECT_EQ(to_base64url("\xfb\xff\xfe"), "-__-");
    std::mt19937_64 random(1);
    for (std::size_t size = 0; size < 70; ++size) {
        std::string bytes(size, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        std::string back = "rest of before";
        EXPECT_TRUE(from_base64url(to_base64url(bytes), back));
        EXPECT_EQ(back, bytes);
    }
}

TEST(Digest, base64url_has_one_text_for_each_value) {
    std::string out;
    EXPECT_FALSE(from_base64url("Z", out)) << "a lone character";
    EXPECT_FALSE(from_base64url("Zm9vZ", out));
    EXPECT_FALSE(from_base64url("Zh", out)) << "stray bits";
    EXPECT_FALSE(from_base64url("Zg==", out)) << "padding";
    EXPECT_FALSE(from_base64url("Zm9+", out)) << "the other alphabet";
    EXPECT_FALSE(from_base64url("Zm 9", out));
    EXPECT_FALSE(from_base64url("Zm\xc3\xa4", out));
}

TEST(Digest, equality_and_chance) {
    EXPECT_TRUE(constant_time_equal("abc", "abc"));
    EXPECT_FALSE(constant_time_equal("abc", "abd"));
    EXPECT_FALSE(constant_time_equal("abc", "abcd"));
    std::set<std::array<unsigned char, 16>> seen;
    for (int i = 0; i < 100; ++i) {
        std::array<unsigned char, 16> bytes{};
        ASSERT_TRUE(fill_random(bytes));
        EXPECT_TRUE(seen.insert(bytes).second);
    }
}

TEST(Digest, framing_can_be_taken_apart_in_one_way_only) {
    std::string one, other;
    append_framed(one, "ab"), append_framed(one, "c");
    append_framed(other, "a"), append_framed(other, "bc");
    EXPECT_NE(one, other);
    EXPECT_EQ(one.size(), 2 * 8 + 3u);
}

}  // namespace
}  // namespace nebis::identify_test
