// SPDX-License-Identifier: Apache-2.0
#include "wire_fixture.hpp"

/// Requests that proxies and servers read in different ways must never reach a handler. Each of these gets one refusal,
/// or silence, and the connection ends, so that no byte after it can be taken for a request.
namespace nebis::http {
namespace {

class WireStrict : public WireTest {
protected:
    void SetUp() override { start(); }
    void TearDown() override {
        EXPECT_EQ(site->served, expected_);
        WireTest::TearDown();
    }
    int post(const std::string& headers, const std::string& body = {}, bool then_eof = false) {
        return status_of("POST /echo HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body, then_eof);
    }
    int chunked(const std::string& body) { return post("Transfer-Encoding: chunked\r\n", body, true); }
    int expected_ = 0;
};

TEST_F(WireStrict, B065_B066_host) {
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: u@a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET http://b/echo HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
}

TEST_F(WireStrict, B067_paths) {
    for (const auto* path : {"/echo;x=1", "/echo%2F", "/echo%00", "/..%2fecho", "/../echo", "/echo%", "echo"})
        EXPECT_EQ(status_of(std::string("GET ") + path + " HTTP/1.1\r\nHost: a\r\n\r\n"), 400) << path;
}

TEST_F(WireStrict, B068_long_target_is_414) {
    EXPECT_EQ(status_of("GET /" + std::string(65536, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
    EXPECT_EQ(status_of("GET /" + std::string(2100, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
}

TEST_F(WireStrict, B069_header_flood_is_431) {
    std::string many;
    for (int i = 0; i < 101; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
    EXPECT_EQ(post(many), 431);
    EXPECT_EQ(post("X: " + std::string(65536, 'x') + "\r\n"), 431);
}

TEST_F(WireStrict, B087_length_and_chunks) {
    EXPECT_EQ(post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400);
    EXPECT_EQ(post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n"), 400);
}

TEST_F(WireStrict, B088_two_lengths) {
    EXPECT_EQ(post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400);
    EXPECT_EQ(post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), 400);
}

TEST_F(WireStrict, B089_lengths_that_are_no_numbers) {
    for (const auto* value :
         {"+5", "-1", "0x5", "5 5", "5,5", "", "12345678901234567890", "99999999999999999999999", "1_0"})
        EXPECT_EQ(post(std::string("Content-Length: ") + value + "\r\n", "abcde"), 400) << value;
}

TEST_F(WireStrict, B090_transfer_codings) {
    for (const auto* value : {"identity", "chunked, identity", "gzip, chunked", ",chunked", "chunkedchunked"}) {
        const int status = post(std::string("Transfer-Encoding: ") + value + "\r\n", "0\r\n\r\n");
        EXPECT_TRUE(status == 501 || status == 400) << value << ' ' << status;
    }
    EXPECT_EQ(post("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n"), 400);
    EXPECT_EQ(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400);
    EXPECT_EQ(status_of("POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST_F(WireStrict, B091_chunk_sizes) {
    for (const auto* size : {"0x3", "+3", "-2", "", "11111111111111111", " 3", "3 ", "1_0", "g"}) {
        const int status = chunked(std::string(size) + "\r\nabc\r\n0\r\n\r\n");
        EXPECT_TRUE(status == 400 || status == 413) << '"' << size << "\" " << status;
    }
}

TEST_F(WireStrict, B092_chunk_framing) {
    EXPECT_EQ(chunked("3;a=\nb\r\nabc\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3;a=\rb\r\nabc\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3\nabc\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3;a=\"b\"\nabc\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3\r\nabcX0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3\r\nabcd\r\n0\r\n\r\n"), 400);
    EXPECT_EQ(chunked("3\r\nabc\r\n"), 0);                 // the last chunk never comes: silence, and nothing executed
    EXPECT_EQ(chunked("3;a=\"b\r\nabc\r\n0\r\n\r\n"), 0);  // the quote never ends
    EXPECT_EQ(chunked("3\nabc\n0\n\n"), 0);                // the line never ends
}

TEST_F(WireStrict, B093_trailers_are_dropped) {
    auto one = client();
    ASSERT_TRUE(
        one.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Echo-T: "
                 "1\r\nHost: b\r\n\r\n"));
    const auto reply = one.read();
    ASSERT_TRUE(reply) << one.error();
    EXPECT_EQ(reply->status, 200);
    EXPECT_EQ(reply->count("X-Echo-T"), 0u);
    EXPECT_EQ(one.get("/echo")->body, "GET /echo []");  // and the next request is the next one
    expected_ = 2;
}

TEST_F(WireStrict, B094_malformed_heads) {
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\nHost: a\n\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: a\r\n\rX\r\n\r\n"), 400);
    EXPECT_EQ(post("A: b\rC: d\r\n"), 400);
    EXPECT_EQ(post("A: b\r\n folded\r\n"), 400);
    EXPECT_EQ(post("A : b\r\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\n Host: a\r\n\r\n"), 400);
    EXPECT_EQ(post("nocolon\r\n"), 400);
    EXPECT_EQ(post(": empty\r\n"), 400);
    EXPECT_EQ(post("A\x80: b\r\n"), 400);
    EXPECT_EQ(post(std::string("A\0: b\r\n", 7)), 400);
    EXPECT_EQ(post(std::string("A: b\0c\r\n", 8)), 400);  // B016
    EXPECT_EQ(post("A: b\x1b\r\n"), 400);
    EXPECT_EQ(post("A: b\x7f\r\n"), 400);
}

TEST_F(WireStrict, B095_B096_methods_versions_and_other_protocols) {
    EXPECT_EQ(status_of("get /echo HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    EXPECT_EQ(status_of("BREW /echo HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    EXPECT_EQ(status_of("G\"T /echo HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET /echo HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
    EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
    for (const auto* line : {"GET /echo HTTP/1.32", "GET /echo", "GET /echo HTTP/1.1 x", "GET  /echo HTTP/1.1",
                             "GET /echo http/1.1", "GET /echo HTTP/11"}) {
        const int status = status_of(std::string(line) + "\r\nHost: a\r\n\r\n");
        EXPECT_TRUE(status == 400 || status == 505) << line << ' ' << status;
    }
    EXPECT_EQ(status_of("GET /echo HTTP/\r1.1\r\nHost: a\r\n\r\n"), 400);
    EXPECT_EQ(status_of("{\"a\":1}\r\n\r\n"), 400);
    EXPECT_EQ(status_of("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"), 501);  // B059
}

TEST_F(WireStrict, B097_tls_on_a_plain_port_is_closed_with_one_line) {
    EXPECT_EQ(status_of(std::string("\x16\x03\x01\x02\x00\x01", 6)), 0);
    ASSERT_TRUE(eventually([&] {
        std::lock_guard lock(site->mutex);
        return site->lines.size() == 1;
    }));
}

TEST_F(WireStrict, B059_upgrade_is_ignored) {
    EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), 200);
    expected_ = 1;
}

}  // namespace
}  // namespace nebis::http
