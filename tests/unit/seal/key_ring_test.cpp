// SPDX-License-Identifier: Apache-2.0
#include "seal/key_ring.hpp"

#include "identify/digest.hpp"
#include "seal/aead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

using nebis::ErrorKind;
using nebis::seal::aead_open;
using nebis::seal::aead_seal;
using nebis::seal::AeadKey;
using nebis::seal::KeyRing;
using nebis::seal::RingKey;

namespace {

std::string from_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
    return bytes;
}

AeadKey key_of(const std::string& bytes) {
    AeadKey key{};
    std::ranges::copy(bytes, reinterpret_cast<char*>(key.data()));
    return key;
}

KeyRing ring_of(std::vector<std::string> ids, std::string current) {
    std::vector<RingKey> keys;
    for (auto& id : ids) keys.push_back({id, id + std::string(32, 's')});
    return KeyRing::make(std::move(keys), std::move(current)).value();
}

// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 16.
TEST(Aead, S52_published_vectors) {
    std::string out;
    ASSERT_TRUE(aead_seal({}, std::string(12, '\0'), {}, {}, out));
    EXPECT_EQ(out, from_hex("530f8afbc74536b9a963b4f1c4cb738b"));
    EXPECT_TRUE(aead_open({}, std::string(12, '\0'), {}, std::string(out), out));

    const AeadKey key = key_of(from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"));
    const std::string nonce = from_hex("cafebabefacedbaddecaf888");
    const std::string bound = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    const std::string plain = from_hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        "b16aedf5aa0de657ba637b39");
    const std::string sealed = from_hex(
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        "c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b");
    out = "kept";
    ASSERT_TRUE(aead_seal(key, nonce, bound, plain, out));
    EXPECT_EQ(out, "kept" + sealed);
    ASSERT_TRUE(aead_open(key, nonce, bound, sealed, out));
    EXPECT_EQ(out, plain);
    EXPECT_FALSE(aead_open(key, nonce, bound + "x", sealed, out));
    EXPECT_EQ(out, "");
}

// Made by another implementation (Python's cryptography and hmac) from the description of the format.
TEST(KeyRing, S57_opens_what_another_implementation_sealed) {
    const KeyRing ring = KeyRing::make({{"k1", "0123456789abcdef0123456789abcdef"}}, "").value();
    const std::string sealed = from_hex(
        "e702026b31000102030405060708090a0b0c0d0e0f6465666768696a6b6c6d6e6fc0f592928706003dfafc5008a03b05561135a8a1"
        "8c31cb0d16a4");
    EXPECT_EQ(ring.open(sealed, "row 7").value(), "the answer");
    EXPECT_EQ(ring.open(sealed, "row 8").error().code(), "snapshot-damaged");
}

TEST(KeyRing, S52_what_is_sealed_opens_with_any_key_of_the_ring_and_is_never_the_same) {
    const KeyRing before = ring_of({"old"}, "old");
    const KeyRing after = ring_of({"old", "new"}, "new");
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1'000U, 300'000U}) {
        const std::string plain(size, 'p');
        const std::string old = before.seal(plain, "row").value();
        EXPECT_EQ(nebis::seal::key_id_of(old), "old");
        EXPECT_EQ(after.open(old, "row").value(), plain);
        const std::string fresh = after.seal(plain, "row").value();
        EXPECT_EQ(nebis::seal::key_id_of(fresh), "new");
        const auto refused = before.open(fresh, "row");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind(), ErrorKind::corrupt);
        EXPECT_EQ(refused.error().code(), "snapshot-key-missing");
        EXPECT_NE(refused.error().text().find("new"), std::string::npos);
    }
    std::set<std::string> all;
    for (int i = 0; i < 200; ++i) all.insert(before.seal("same", "row").value());
    EXPECT_EQ(all.size(), 200U);
    EXPECT_EQ(all.begin()->find("same"), std::string::npos);
}

TEST(KeyRing, S52_every_single_bit_every_cut_and_every_other_place_is_refused) {
    const KeyRing ring = ring_of({"k", "j"}, "k");
    const std::string sealed = ring.seal("an answer with some length", "row 1 version 5").value();
    for (std::size_t at = 0; at < sealed.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string flipped = sealed;
            flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
            const auto opened = ring.open(flipped, "row 1 version 5");
            ASSERT_FALSE(opened) << at << '.' << bit;
            EXPECT_EQ(opened.error().kind(), ErrorKind::corrupt);
        }
    for (std::size_t size = 0; size < sealed.size(); ++size)
        EXPECT_FALSE(ring.open(sealed.substr(0, size), "row 1 version 5")) << size;
    EXPECT_FALSE(ring.open(sealed + "x", "row 1 version 5"));
    EXPECT_FALSE(ring.open(sealed, "row 2 version 5"));
    EXPECT_FALSE(ring.open(sealed, "row 1 version 6"));
    EXPECT_FALSE(ring.open(sealed, ""));
    EXPECT_TRUE(ring.open(sealed, "row 1 version 5"));
    // The same id with another secret: a key that was made anew under an old name.
    EXPECT_FALSE(KeyRing::make({{"k", std::string(32, 'x')}}, "").value().open(sealed, "row 1 version 5"));
    EXPECT_FALSE(KeyRing().open(sealed, "row 1 version 5"));
}

TEST(KeyRing, any_bytes_are_refused_without_harm) {
    const KeyRing ring = ring_of({"k"}, "k");
    std::mt19937 chance(7);
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes = "\xE7\x02";
        bytes.push_back(static_cast<char>(chance() % 20));
        bytes.push_back('k');
        const std::size_t more = chance() % 90;
        for (std::size_t at = 0; at < more; ++at) bytes.push_back(static_cast<char>(chance()));
        EXPECT_FALSE(ring.open(bytes, "row"));
    }
}

TEST(KeyRing, a_ring_that_cannot_be_used_is_refused_without_telling_a_secret) {
    const std::string secret(32, 'S');
    EXPECT_FALSE(KeyRing::make({{"k", "short"}}, ""));
    EXPECT_FALSE(KeyRing::make({{"k", secret}, {"k", secret}}, "k"));
    EXPECT_FALSE(KeyRing::make({{"k", secret}}, "other"));
    EXPECT_FALSE(KeyRing::make({{"k", secret}, {"j", secret}}, ""));
    EXPECT_FALSE(KeyRing::make({{"k k", secret}}, ""));
    const auto refused = KeyRing::make({{"k", "hunter2"}}, "");
    EXPECT_EQ(refused.error().text().find("hunter2"), std::string::npos);
    EXPECT_TRUE(KeyRing::make({}, "")->empty());
    EXPECT_FALSE(KeyRing().seal("x", "row"));
}

}  // namespace
