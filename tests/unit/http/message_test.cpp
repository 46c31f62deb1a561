// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include <gtest/gtest.h>

namespace nebis::http {
namespace {

/// "incomplete", "whole <n>" or the word of the fault.
std::string scanned(std::string_view bytes, HeadLimits limits = {}) {
    const auto tell = [](const HeadScanner::Found& found) {
        if (const auto* size = std::get_if<std::size_t>(&found)) return "whole " + std::to_string(*size);
        if (const auto* fault = std::get_if<Fault>(&found)) return std::string(fault->word);
        return std::string("incomplete");
    };
    const auto at_once = tell(HeadScanner(limits).scan(bytes));
    HeadScanner slow(limits);  // the same answer when the bytes come one by one
    std::string piecewise = "incomplete";
    for (std::size_t i = 1; i <= bytes.size() && piecewise == "incomplete"; ++i)
        piecewise = tell(slow.scan(bytes.substr(0, i)));
    EXPECT_EQ(at_once, piecewise) << bytes;
    return at_once;
}

TEST(HttpHead, the_end_is_found) {
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody"), "whole 27");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\r\n"), "incomplete");
    EXPECT_EQ(scanned("GET"), "incomplete");
    EXPECT_EQ(scanned(""), "incomplete");
}

TEST(HttpHead, B094_line_ends_and_blanks_that_parsers_disagree_about) {
    EXPECT_EQ(scanned("GET / HTTP/1.1\nHost: a\n\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\n\r\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\r\n\rX\r\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\nHost: a\r\n\tfolded\r\n\r\n"), "bad-request");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), "bad-request");
    EXPECT_EQ(scanned(std::string_view("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 27)), "bad-request");
}

TEST(HttpHead, B068_long_targets) {
    const HeadLimits limits{.max_bytes = 4096, .max_lines = 10, .max_target = 1000};
    EXPECT_EQ(scanned("GET /" + std::string(900, 'a') + " HTTP/1.1\r\n\r\n", limits), "whole 918");
    EXPECT_EQ(scanned("GET /" + std::string(2000, 'a'), limits), "target-too-long");
    EXPECT_EQ(scanned("GET /" + std::string(65536, 'a') + " HTTP/1.1\r\n\r\n", limits), "target-too-long");
}

TEST(HttpHead, B069_many_and_large_headers) {
    const HeadLimits limits{.max_bytes = 4096, .max_lines = 3, .max_target = 1000};
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n", limits), "whole 36");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n\r\n", limits), "headers-too-large");
    EXPECT_EQ(scanned("GET / HTTP/1.1\r\na: " + std::string(5000, 'x'), limits), "headers-too-large");
}

std::string checked(std::string_view method, std::string_view target, std::vector<Header> headers,
                    unsigned version = 11) {
    const auto found = check_head({method, target, version, &headers});
    if (const auto* fault = std::get_if<Fault>(&found)) return std::string(fault->word);
    return "ok " + std::get<HeadFacts>(found).target.path;
}

TEST(HttpHead, B065_host) {
    EXPECT_EQ(checked("GET", "/", {{"Host", "a"}}), "ok /");
    EXPECT_EQ(checked("GET", "/", {}), "bad-request");
    EXPECT_EQ(checked("GET", "/", {}, 10), "ok /");
    EXPECT_EQ(checked("GET", "/", {{"Host", "a"}, {"host", "a"}}), "bad-request");
    EXPECT_EQ(checked("GET", "/", {{"Host", ""}}), "bad-request");
    EXPECT_EQ(checked("GET", "/", {{"Host", "a/b"}}), "bad-request");
    EXPECT_EQ(checked("GET", "/", {{"Host", "u:p@a"}}), "bad-request");
    EXPECT_EQ(checked("GET", "http://a/x", {{"Host", "A"}}), "ok /x");
    EXPECT_EQ(checked("GET", "http://b/x", {{"Host", "a"}}), "bad-request");  // B066
}

TEST(HttpHead, B087_B088_B089_content_length) {
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Length", "5"}}), "ok /");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Length", "5"}, {"Content-Length", "5"}}), "bad-request");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Length", "5"}, {"Content-Length", "6"}}), "bad-request");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}),
              "bad-request");
    for (const auto* value : {"+5", "-1", "0x5", "5 5", "5,5", "", "12345678901234567890", "1_0"})
        EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Length", value}}), "bad-request") << value;
}

TEST(HttpHead, B090_transfer_codings) {
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Transfer-Encoding", "Chunked"}}), "ok /");
    for (const auto* value :
         {"identity", "chunked, identity", "gzip, chunked", ",chunked", "\vchunked", "chunkedchunked", ""})
        EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Transfer-Encoding", value}}), "not-implemented") << value;
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}),
              "bad-request");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Transfer-Encoding", "chunked"}}, 10), "bad-request");
}

TEST(HttpHead, B058_B059_expectations_versions_and_methods) {
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Expect", "100-Continue"}}), "ok /");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Expect", "200-maybe"}}), "expectation-failed");
    EXPECT_EQ(checked("POST", "/", {{"Expect", "x"}}, 10), "ok /");  // HTTP/1.0 has no Expect
    EXPECT_EQ(checked("", "/", {{"Host", "a"}}), "not-implemented");
    EXPECT_EQ(checked("CONNECT", "a:1", {{"Host", "a"}}), "not-implemented");
    EXPECT_EQ(checked("GET", "/", {{"Host", "a"}}, 20), "version-not-supported");
    EXPECT_EQ(checked("GET", "/", {{"Host", "a"}}, 12), "version-not-supported");
    EXPECT_EQ(checked("OPTIONS", "*", {{"Host", "a"}}), "ok *");
    EXPECT_EQ(checked("POST", "/", {{"Host", "a"}, {"Content-Type", "a/b"}, {"Content-Type", "c/d"}}), "bad-request");
}

TEST(HttpHead, B072_framing_is_the_servers) {
    const Response created{201, {{"Location", "/orders/1"}}, "12345", false};
    const auto head = response_head(created, true, 11);
    EXPECT_TRUE(head.starts_with("HTTP/1.1 201 Created\r\nDate: ")) << head;
    EXPECT_NE(head.find("\r\nLocation: /orders/1\r\nContent-Length: 5\r\n\r\n"), std::string::npos) << head;
    const Response empty{204, {}, "not for the wire", false};
    EXPECT_EQ(response_head(empty, true, 11).find("Content-Length"), std::string::npos);
    EXPECT_FALSE(has_body(204, "POST"));
    EXPECT_FALSE(has_body(304, "GET"));
    EXPECT_FALSE(has_body(200, "HEAD"));
    EXPECT_TRUE(has_body(200, "GET"));
    EXPECT_NE(response_head(created, false, 11).find("Connection: close"), std::string::npos);
    EXPECT_TRUE(response_head(created, true, 10).starts_with("HTTP/1.0 201"));
    EXPECT_NE(response_head(created, true, 10).find("Connection: keep-alive"), std::string::npos);
    EXPECT_TRUE(response_head({299, {}, "", false}, true, 11).starts_with("HTTP/1.1 299 \r\n"));
}

}  // namespace
}  // namespace nebis::http
