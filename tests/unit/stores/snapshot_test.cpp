// SPDX-License-Identifier: Apache-2.0
#include "runtime/snapshot.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace {

using nebis::ErrorKind;
using nebis::Response;
using nebis::runtime::decode_response;
using nebis::runtime::encode_response;

Response sample() {
    Response response;
    response.status = 201;
    response.headers = {{"Content-Type", "text/plain"}, {"X", ""}, {"X", std::string("a\0b", 3)}};
    response.body = std::string("body\0\xFF", 6);
    return response;
}

TEST(Snapshot, comes_back_as_it_was) {
    std::vector<Response> all(4);
    all[1] = sample();
    all[2].tombstone = true;
    all[2].status = std::numeric_limits<int>::min();
    all[3].status = std::numeric_limits<int>::max();
    all[3].body = std::string(100'000, 'x');
    for (const Response& one : all) {
        const auto back = decode_response(encode_response(one));
        ASSERT_TRUE(back) << back.error().text();
        EXPECT_EQ(*back, one);
    }
}

TEST(Snapshot, S57_format_1_is_read_for_ever) {
    // Golden bytes: written by the first version, they must be read by every later one.
    Response response;
    response.status = 200;
    response.headers = {{"A", "b"}};
    response.body = "ok";
    const std::string bytes = encode_response(response);
    EXPECT_EQ(bytes.substr(0, bytes.size() - 4), std::string("\xE7\x01\x00\x90\x03\x01\x01"
                                                             "A\x01"
                                                             "b\x02"
                                                             "ok",
                                                             13));
    EXPECT_EQ(*decode_response(bytes), response);
}

/// CRC-32C from its definition, bit by bit.
std::uint32_t slow_checksum(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
    }
    return ~crc;
}

TEST(Snapshot, S57_its_checksum_is_the_same_on_every_machine) {
    ASSERT_EQ(slow_checksum("123456789"), 0xE3069283) << "the value everybody publishes";
    Response response = sample();
    for (int size = 0; size < 300; ++size) {
        response.body.push_back(static_cast<char>(size * 37));
        const std::string bytes = encode_response(response);
        std::uint32_t told = 0;
        for (std::size_t i = 0; i < 4; ++i)
            told |= std::uint32_t{static_cast<unsigned char>(bytes[bytes.size() - 4 + i])} << (8 * i);
        ASSERT_EQ(told, slow_checksum(std::string_view(bytes).substr(0, bytes.size() - 4))) << size;
    }
}

TEST(Snapshot, B105_every_cut_and_every_flipped_bit_is_found) {
    const std::string bytes = encode_response(sample());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto cut = decode_response(bytes.substr(0, size));
        ASSERT_FALSE(cut) << size;
        EXPECT_EQ(cut.error().kind(), ErrorKind::corrupt);
    }
    for (std::size_t at = 0; at < bytes.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string flipped = bytes;
            flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
            EXPECT_FALSE(decode_response(flipped)) << at << '.' << bit;
        }
    EXPECT_FALSE(decode_response(bytes + "x"));
}

TEST(Snapshot, bodies_of_a_table_that_was_taken_over_are_read_as_they_are) {
    for (const std::string& body : {std::string(), std::string("{\"a\":1}"), std::string("\xE7\x01\0", 3)}) {
        const auto read = nebis::runtime::decode_response(nebis::runtime::bare_response(body));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->status, 200);
        EXPECT_EQ(read->body, body);
        EXPECT_FALSE(read->tombstone);
    }
}

}  // namespace
