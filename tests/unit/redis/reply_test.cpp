// SPDX-License-Identifier: Apache-2.0
#include "redis_client/reply.hpp"

#include "locks/redis/entry.hpp"
#include "redis_client/address.hpp"
#include "redis_client/errors.hpp"
#include "redis_client/script.hpp"
#include "redis_client/slots.hpp"

#include <gtest/gtest.h>

#include <string>

// What comes from a server, byte by byte, and what is made of it.
namespace {

using namespace nebis;
using namespace nebis::redis;
using Kind = Reply::Kind;

Reply parsed(std::string_view bytes) {
    ReplyReader reader;
    reader.feed(bytes);
    auto next = reader.next();
    return next && *next ? **next : Reply();
}

bool refused(std::string_view bytes, ReplyLimits limits = {}) {
    ReplyReader reader(limits);
    reader.feed(bytes);
    const auto next = reader.next();
    return !next && next.error().kind() == ErrorKind::corrupt;
}

TEST(RedisReply, every_kind_is_read) {
    EXPECT_EQ(parsed("+OK\r\n").kind, Kind::status);
    EXPECT_EQ(parsed("-READONLY no\r\n").error_word(), "READONLY");
    EXPECT_EQ(parsed(":-42\r\n").integer, -42);
    EXPECT_EQ(parsed(std::string_view("$3\r\na\0b\r\n", 9)).text, std::string("a\0b", 3));
    EXPECT_EQ(parsed("$-1\r\n").kind, Kind::nil);
    const Reply nested = parsed("*3\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n+s\r\n");
    ASSERT_EQ(nested.elements.size(), 3U);
    ASSERT_EQ(nested.elements[1].elements.size(), 2U);
    EXPECT_EQ(nested.elements[1].elements[0].text, "x");
    EXPECT_EQ(nested.elements[2].text, "s");
}

TEST(RedisReply, slices_of_any_size_are_put_together) {
    const std::string bytes = "*2\r\n$5\r\nhello\r\n:7\r\n+OK\r\n";
    for (std::size_t slice = 1; slice < bytes.size(); ++slice) {
        ReplyReader reader;
        std::vector<Reply> all;
        for (std::size_t at = 0; at < bytes.size(); at += slice) {
            reader.feed(std::string_view(bytes).substr(at, slice));
            for (auto next = reader.next(); next && *next; next = reader.next()) all.push_back(**next);
        }
        ASSERT_EQ(all.size(), 2U) << slice;
        EXPECT_EQ(all[0].elements[0].text, "hello");
        EXPECT_EQ(all[1].text, "OK");
        EXPECT_TRUE(reader.at_rest());
    }
}

TEST(RedisReply, hostile_replies_meet_a_limit) {
    const ReplyLimits small{.depth = 2, .elements = 10, .text_bytes = 8, .reply_bytes = 64};
    EXPECT_TRUE(refused("*1\r\n*1\r\n*1\r\n:1\r\n", small)) << "depth";
    EXPECT_TRUE(refused("*11\r\n", small)) << "length, before anything is kept for it";
    EXPECT_TRUE(refused("*5\r\n*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*1\r\n:1\r\n", small)) << "of all arrays together";
    EXPECT_TRUE(refused("*2147483647\r\n"));
    EXPECT_TRUE(refused("*99999999999999999999\r\n"));
    EXPECT_TRUE(refused("$9\r\nabcdefghi\r\n", small)) << "text";
    EXPECT_TRUE(refused("$1000000\r\n" + std::string(64, 'x'), small)) << "bytes of one reply";
    EXPECT_TRUE(refused("+" + std::string(64, 'x'), small)) << "a line without an end";
    EXPECT_TRUE(refused("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_TRUE(refused(":12x\r\n"));
    EXPECT_TRUE(refused("$-2\r\n"));
}

TEST(RedisReply, limits_are_of_each_reply) {
    const ReplyLimits small{.depth = 2, .elements = 10, .text_bytes = 8, .reply_bytes = 64};
    ReplyReader reader(small);
    for (int i = 0; i < 100; ++i) {
        reader.feed("*6\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
        auto next = reader.next();
        ASSERT_TRUE(next && *next) << i;
    }
}

TEST(RedisReply, a_spent_reader_stays_spent) {
    ReplyReader reader;
    reader.feed("?");
    EXPECT_FALSE(reader.next());
    reader.feed("+OK\r\n");
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.at_rest());
}

TEST(RedisSlots, crc16_is_the_published_one) {
    EXPECT_EQ(crc16("123456789"), 0x31C3);  // Redis Cluster specification, appendix A
    EXPECT_EQ(slot_of("foo"), 12182);       // CLUSTER KEYSLOT foo
    EXPECT_EQ(slot_of("somekey"), 11058);   // CLUSTER KEYSLOT somekey
}

TEST(RedisSlots, a_tag_is_what_Redis_takes_for_one) {
    // Examples of the Redis Cluster specification, "Hash tags".
    EXPECT_EQ(tag_of("{user1000}.following"), "user1000");
    EXPECT_EQ(tag_of("foo{}{bar}"), "foo{}{bar}");
    EXPECT_EQ(tag_of("foo{{bar}}zap"), "{bar");
    EXPECT_EQ(tag_of("foo{bar}{zap}"), "bar");
    for (const char* whole : {"", "foo", "foo{", "}foo{", "}"}) EXPECT_EQ(tag_of(whole), whole);
}

TEST(RedisSlots, both_names_of_a_key_lie_in_one_slot) {
    const Names names = names_of("prod:", "pay}{:1");
    EXPECT_EQ(names.lock.substr(0, 22), "prod:idempotent:lock:{");
    EXPECT_EQ(names.result.substr(0, 24), "prod:idempotent:record:{");
    EXPECT_EQ(tag_of(names.lock).size(), 64U);
    EXPECT_NE(names.result.find(std::string("{") + std::string(tag_of(names.lock)) + "}"), std::string::npos);
    EXPECT_EQ(names.lock.find("pay"), std::string::npos) << "never a caller's bytes";
}

TEST(RedisSlots, the_map_is_read_and_nonsense_is_not) {
    const Address teller{"10.0.0.1", 7000};
    const auto map = SlotMap::from(parsed("*2\r\n"
                                          "*3\r\n:0\r\n:99\r\n*3\r\n$0\r\n\r\n:7000\r\n$2\r\nid\r\n"
                                          "*3\r\n:100\r\n:16383\r\n*3\r\n$8\r\n10.0.0.2\r\n:7001\r\n$2\r\nid\r\n"),
                                   teller);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->owner(0)->text(), "10.0.0.1:7000") << "an empty host is the one that told";
    EXPECT_EQ(map->owner(16383)->text(), "10.0.0.2:7001");
    for (const char* const bad :
         {"+OK\r\n", "*1\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:4\r\n*2\r\n$1\r\nh\r\n:1\r\n",
          "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n", "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:99999\r\n"})
        EXPECT_FALSE(SlotMap::from(parsed(bad), teller)) << bad;
}

TEST(RedisSlots, redirections_are_read_and_nonsense_is_not) {
    const Address teller{"10.0.0.1", 7000};
    const auto moved = redirection_of(parsed("-MOVED 3999 127.0.0.1:6381\r\n"), teller);
    ASSERT_TRUE(moved);
    EXPECT_TRUE(moved->moved);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->to.text(), "127.0.0.1:6381");
    const auto ask = redirection_of(parsed("-ASK 1 :6381\r\n"), teller);
    ASSERT_TRUE(ask);
    EXPECT_FALSE(ask->moved);
    EXPECT_EQ(ask->to.text(), "10.0.0.1:6381");
    for (const char* const bad :
         {"-MOVED\r\n", "-MOVED 1\r\n", "-MOVED x h:1\r\n", "-MOVED 99999 h:1\r\n", "-MOVED 1 h\r\n", "-ASK 1 h:\r\n",
          "-ASK 1 h:0\r\n", "-ERR MOVED 1 h:1\r\n", "+MOVED 1 h:1\r\n"})
        EXPECT_FALSE(redirection_of(parsed(bad), teller)) << bad;
}

TEST(RedisAddress, every_form_is_read_and_nonsense_is_not) {
    EXPECT_EQ(parse_address("localhost")->text(), "localhost:6379");
    EXPECT_EQ(parse_address("[::1]:7000")->text(), "[::1]:7000");
    EXPECT_EQ(parse_address("unix:/run/redis.sock")->text(), "unix:/run/redis.sock");
    for (const std::string bad :
         {"", ":1", "h:", "h:0", "h:65536", "h:x", "::1", "[::1]", "a b:1", "unix:rel", "h:1:2"})
        EXPECT_EQ(parse_address(bad).error().kind(), ErrorKind::misconfigured) << bad;
    EXPECT_FALSE(parse_address("unix:/" + std::string(200, 'x')));
}

TEST(RedisErrors, each_refusal_says_what_to_do) {
    const auto kind = [](const char* text) { return error_of(parsed(text), "x").kind(); };
    EXPECT_EQ(kind("-LOADING Redis is loading the dataset in memory\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-READONLY You can't write against a read only replica.\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-CLUSTERDOWN The cluster is down\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-MASTERDOWN Link with MASTER is down\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-BUSY Redis is busy running a script.\r\n"), ErrorKind::unavailable);
    EXPECT_EQ(kind("-OOM command not allowed when used memory > 'maxmemory'.\r\n"), ErrorKind::overloaded);
    EXPECT_EQ(kind("-ERR max number of clients reached\r\n"), ErrorKind::overloaded);
    EXPECT_EQ(kind("-NOAUTH Authentication required.\r\n"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("-WRONGPASS invalid username-password pair\r\n"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("-NOPERM this user has no permissions\r\n"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("-SOMETHING new\r\n"), ErrorKind::maybe_applied) << "what isn't known is never called unapplied";
    EXPECT_TRUE(wants_another_server(parsed("-READONLY x\r\n")));
    EXPECT_FALSE(wants_another_server(parsed("-OOM x\r\n")));
    const Error foreign = error_of(parsed("-ERR \x01\xff"
                                          "bad\r\n"),
                                   "x");
    EXPECT_EQ(foreign.detail(), "x: ERR ??bad");
}

TEST(RedisEntry, a_result_comes_back_whole_or_not_at_all) {
    CachedResult result;
    result.status = RecordStatus::rejected;
    result.version = 0x0102030405060708;
    result.attempts = 3;
    result.request_hash.scheme = 2;
    result.request_hash.digest.fill(7);
    result.trace_id = "shop|pay|42";
    result.response.status = 422;
    result.response.headers = {{"Content-Type", "text/plain"}};
    result.response.body = std::string("no\0", 3);
    const std::string bytes = encode(result);
    EXPECT_TRUE(bytes.starts_with(beginning_of(result.request_hash)));
    EXPECT_EQ(bytes.find(result.trace_id), std::string::npos) << "a digest stands for the key";
    const auto back = decode(bytes, result.trace_id);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->status, result.status);
    EXPECT_EQ(back->version, result.version);
    EXPECT_EQ(back->attempts, result.attempts);
    EXPECT_EQ(back->request_hash, result.request_hash);
    EXPECT_EQ(back->trace_id, result.trace_id);
    EXPECT_EQ(back->response, result.response);

    EXPECT_FALSE(decode(bytes, "shop|pay|43")) << "another key's";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_FALSE(decode(bytes.substr(0, i), result.trace_id)) << "cut at " << i;
        std::string flipped = bytes;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
        EXPECT_FALSE(decode(flipped, result.trace_id)) << "altered at " << i;
    }
    result.status = RecordStatus::fail;
    EXPECT_FALSE(decode(encode(result), result.trace_id)) << "only what is terminal is a result";
}

}  // namespace
