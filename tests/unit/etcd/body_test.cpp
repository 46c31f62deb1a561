// SPDX-License-Identifier: Apache-2.0
#include "base64.hpp"
#include "driver/lock_mark.hpp"
#include "errors.hpp"
#include "http.hpp"
#include "nebis/etcd.hpp"
#include "wire.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

// What goes to etcd and comes back, byte by byte.
namespace {

using namespace nebis;
using namespace nebis::etcd;

TEST(EtcdBase64, every_length_comes_back_and_nonsense_does_not) {
    std::string bytes;
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
        bytes.push_back(static_cast<char>(i * 7));
    }
    EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");  // RFC 4648, 10
    EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
    for (const char* bad : {"A", "AB", "ABC", " ABC", "ABC ", "AB\n=", "A===", "====", "AB=C", "AB-_", "Zm9v\nZg="})
        EXPECT_FALSE(from_base64(bad)) << bad;
}

TEST(LockMark, comes_back_and_later_ones_of_one_owner_are_greater) {
    Owner one;
    one.bytes.fill(0xAB);
    const driver::LockMark mark{one, 1'234'567'890'123};
    const auto read = driver::decode_mark(driver::encode(mark));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->owner, one);
    EXPECT_EQ(read->until_millis, mark.until_millis);
    EXPECT_LT(driver::encode({one, 255}), driver::encode({one, 256}));
    EXPECT_LT(driver::encode({one, std::numeric_limits<std::int64_t>::max()}), driver::encode({one, -1}));
    EXPECT_FALSE(driver::decode_mark(driver::encode({one, -1}))) << "no end lies so far";
    EXPECT_FALSE(driver::decode_mark(""));
    EXPECT_FALSE(driver::decode_mark(driver::encode(mark) + "x"));
    EXPECT_EQ(driver::end_of_lease(5, std::numeric_limits<std::int64_t>::min()), 6);
    EXPECT_GT(driver::end_of_lease(5, std::numeric_limits<std::int64_t>::max()), 5);
}

TEST(LockMark, names_hold_no_byte_of_a_caller) {
    const std::string name = driver::lock_name("shop:", "tenant\nkey/../x");
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef", name.rfind(':') + 1), std::string::npos);
    EXPECT_EQ(name.substr(0, name.rfind(':') + 1), "shop:idempotent:lock:");
    EXPECT_TRUE(driver::check_prefix("Shop-1.a_b:", "w"));
    for (const std::string& bad :
         {std::string("{a}"), std::string("a b"), std::string("\xC3\xA9"), std::string(65, 'a')})
        EXPECT_EQ(driver::check_prefix(bad, "w").error().code(), "w");
}

TEST(EtcdWire, replies_of_a_real_etcd_are_read) {
    const std::string header = R"({"header":{"cluster_id":"12","revision":"2","raft_term":"2"},)";
    const std::string row = R"({"key":"a2V5","create_revision":"2","mod_revision":"3","value":"dmFs","lease":"55"})";
    const auto put = read_txn(header + R"("succeeded":true,"responses":[{"response_put":{"header":{}}}]})", "key");
    ASSERT_TRUE(put) << put.error().text();
    EXPECT_TRUE(put->succeeded && !put->kept);
    for (const std::string& operation :
         {R"("responses":[{"response_range":{"kvs":[)" + row + R"(],"count":"1"}}]})",
          R"("succeeded":true,"responses":[{"response_put":{"prev_kv":)" + row + "}}]}",
          R"("succeeded":true,"responses":[{"response_delete_range":{"deleted":"1","prev_kvs":[)" + row + "]}}]}"}) {
        const auto read = read_txn(header + operation, "key");
        ASSERT_TRUE(read && read->kept) << operation;
        EXPECT_EQ(read->kept->value, "val");
        EXPECT_EQ(read->kept->mod_revision, 3);
        EXPECT_EQ(read->kept->lease, 55);
        EXPECT_EQ(read_txn(header + operation, "other").error().code(), "etcd-reply") << "another key's row";
    }
    EXPECT_FALSE(read_txn(R"({"header":{}})", "key")->succeeded);
    EXPECT_EQ(*read_lease_id(R"({"ID":"9041999043848214022","TTL":"2"})"), 9'041'999'043'848'214'022);
    EXPECT_EQ(*read_ttl(R"({"result":{"header":{},"ID":"55","TTL":"2"}})"), 2);
    EXPECT_EQ(*read_ttl(R"({"result":{"header":{},"ID":"77"}})"), 0) << "no such lease";
    EXPECT_EQ(*read_token(R"({"token":"abc.12"})"), "abc.12");
}

TEST(EtcdWire, nonsense_is_no_reply) {
    const std::string deep = std::string(100'000, '[');
    for (const std::string& bad :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"), deep,
          std::string(R"({"header":{},"succeeded":"yes"})"), std::string(R"({"header":{},"succeeded":true})"),
          std::string(R"({"header":{},"succeeded":true,"responses":[]})"),
          std::string(R"({"header":{},"responses":7})"), std::string(R"({"header":{},"responses":[7]})"),
          std::string(R"({"header":{},"responses":[{},{}]})"), std::string(R"({"header":{},"responses":[{}]})"),
          std::string(R"({"header":{},"responses":[{"response_range":{"kvs":{}}}]})"),
          std::string(R"({"header":{},"responses":[{"response_range":{"kvs":[1]}}]})"),
          std::string(R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"a2V5","value":"*"}]}}]})"),
          std::string(R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"a2V5","lease":"x"}]}}]})"),
          std::string(R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"a2V5","lease":1e99}]}}]})"),
          std::string("{\"header\":{},\"x\":\"\xFF\xFE\"}")}) {
        const auto read = read_txn(bad, "key");
        ASSERT_FALSE(read) << bad.substr(0, 80);
        EXPECT_EQ(read.error().kind(), ErrorKind::maybe_applied);
        EXPECT_EQ(read.error().code(), "etcd-reply");
    }
    for (const char* bad : {"", "{}", "7", R"({"ID":"0"})", R"({"ID":"99999999999999999999"})", R"({"ID":{}})"})
        EXPECT_FALSE(read_lease_id(bad)) << bad;
    for (const char* bad : {"", "{}", R"({"result":7})", R"({"result":{"TTL":"-1"}})", R"({"result":{"TTL":[]}})"})
        EXPECT_FALSE(read_ttl(bad)) << bad;
    for (const char* bad : {"", "{}", R"({"token":""})", R"({"token":"a\r\nX: y"})", R"({"token":7})"})
        EXPECT_FALSE(read_token(bad)) << bad;
}

TEST(EtcdErrors, each_report_says_what_to_do) {
    const auto kind = [](const char* says) {
        return error_of(400, std::string(R"({"error":"etcdserver: )") + says + R"(","code":3})").kind();
    };
    EXPECT_EQ(kind("authentication failed, invalid user ID or password"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("user name is empty"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("permission denied"), ErrorKind::misconfigured);
    EXPECT_EQ(kind("mvcc: database space exceeded"), ErrorKind::overloaded);
    EXPECT_EQ(kind("too many requests"), ErrorKind::overloaded);
    EXPECT_EQ(kind("no leader"), ErrorKind::unavailable);
    EXPECT_EQ(kind("request timed out, possibly due to previous leader failure"), ErrorKind::maybe_applied);
    EXPECT_EQ(error_of(404, "Not Found\n").kind(), ErrorKind::misconfigured);
    EXPECT_EQ(error_of(502, "<html>").kind(), ErrorKind::maybe_applied);
    EXPECT_TRUE(is_lease_gone(error_of(404, R"({"error":"etcdserver: requested lease not found","code":5})")));
    EXPECT_TRUE(is_token_stale(error_of(401, R"({"error":"etcdserver: invalid auth token","code":16})")));
    EXPECT_FALSE(error_of(400, R"({"error":"a\nb","code":3})").detail().find('\n') != std::string::npos);
}

TEST(EtcdAddress, every_form_is_read_and_nonsense_is_not) {
    EXPECT_EQ(parse_address("etcd.example:2379")->text(), "etcd.example:2379");
    EXPECT_EQ(parse_address("[::1]:2379")->text(), "[::1]:2379");
    for (const char* bad : {"", "host", ":2379", "host:", "host:0", "host:65536", "host:x", "http://host:2379",
                            "host:2379/path", "user@host:2379", "::1:2379", "a b:1"})
        EXPECT_EQ(parse_address(bad).error().kind(), ErrorKind::misconfigured) << bad;
}

TEST(EtcdSettings, driver_reads_its_settings) {
    Drivers drivers;
    etcd::add_to(drivers);
    const auto& make = drivers.gates.at("etcd");
    const auto with = [](std::map<std::string, std::string> values) {
        DriverSettings settings;
        settings.values = std::move(values);
        return settings;
    };
    const auto made = make(with({{"address", "127.0.0.1:1, [::1]:2"},
                                 {"username", "shop"},
                                 {"password", "s3cret"},
                                 {"tls", "true"},
                                 {"tls-server-name", "etcd.example"},
                                 {"key-prefix", "prod:"},
                                 {"connect-timeout-millis", "50"}}));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ((*made)->name(), "etcd");
    for (const auto& bad : {with({{"address", "127.0.0.1"}}), with({{"tls", "yes"}}), with({{"key-prefix", "{}"}}),
                            with({{"connect-timeout-millis", "0"}}), with({{"password", "s3cret"}}),
                            with({{"username", "a"}, {"password", "s3cret"}, {"password-file", "c"}}),
                            with({{"tls-cert-file", "only-half"}})}) {
        const auto refused = make(bad);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind(), ErrorKind::misconfigured);
        EXPECT_EQ(refused.error().text().find("s3cret"), std::string::npos)
            << "no secret in " << refused.error().text();
    }
}

}  // namespace
