// SPDX-License-Identifier: Apache-2.0
#include "wire_fixture.hpp"

#include <chrono>
#include <thread>

namespace nebis::http {
namespace {

using namespace std::chrono_literals;

TEST_F(WireTest, one_connection_serves_many_requests) {
    start();
    auto one = client();
    ASSERT_TRUE(one.connect());
    for (int i = 0; i < 20; ++i) {
        const auto body = std::to_string(i);
        const auto reply = one.post("/echo?n=" + body, body, {{"X-Echo-A", "1"}, {"X-Echo-B", "2"}});
        ASSERT_TRUE(reply) << one.error();
        EXPECT_EQ(reply->body, "POST /echo?n=" + body + " [" + body + ']');
        EXPECT_EQ(reply->header("X-Echo-B"), "2");
        EXPECT_EQ(reply->count("Date"), 1u);
        EXPECT_EQ(reply->count("Content-Length"), 1u);
        EXPECT_TRUE(one.connected());
    }
}

TEST_F(WireTest, chunked_bodies_and_slow_bytes_are_put_together) {
    start();
    auto one = client();
    const std::string request =
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n";
    for (const char c : request) ASSERT_TRUE(one.send({&c, 1}));
    const auto reply = one.read();
    ASSERT_TRUE(reply) << one.error();
    EXPECT_EQ(reply->body, "POST /echo [abcde]");
    EXPECT_EQ(one.get("/echo")->status, 200);
}

TEST_F(WireTest, B064_pipelined_requests_are_answered_in_order) {
    start();
    auto one = client();
    std::string requests;
    for (int i = 0; i < 50; ++i)
        requests += "POST /echo/" + std::to_string(i) +
                    " HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n";  // and a careless CRLF
    ASSERT_TRUE(one.send(requests));
    for (int i = 0; i < 50; ++i) {
        const auto reply = one.read();
        ASSERT_TRUE(reply) << one.error();
        EXPECT_EQ(reply->body, "POST /echo/" + std::to_string(i) + " [abc]");
    }
}

TEST_F(WireTest, B064_second_request_waits_for_the_answer_of_the_first) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(site->wait_for_slow(1));
    EXPECT_EQ(site->served, 1);
    site->let_go();
    EXPECT_EQ(one.read()->body, "GET /slow []");
    EXPECT_EQ(one.read()->body, "GET /echo []");
}

TEST_F(WireTest, B072_answers_without_a_body_keep_the_framing) {
    start();
    auto one = client();
    for (const auto* status : {"204", "304"}) {
        const auto reply = one.get("/echo", {{"X-Status", status}, {"X-Size", "100"}});
        ASSERT_TRUE(reply) << one.error();
        EXPECT_EQ(std::to_string(reply->status), status);
        EXPECT_EQ(reply->body, "");
        EXPECT_EQ(reply->count("Content-Length"), 0u);
    }
    const auto head = one.request("HEAD", "/echo", {{"X-Size", "100"}});
    ASSERT_TRUE(head) << one.error();
    EXPECT_EQ(head->header("Content-Length"), "100");
    EXPECT_EQ(one.get("/echo")->body, "GET /echo []");
}

TEST_F(WireTest, large_answers_arrive_whole_at_slow_readers) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("GET /echo HTTP/1.1\r\nHost: a\r\nX-Size: 20000000\r\n\r\n"));
    std::this_thread::sleep_for(50ms);  // lets the sockets' buffers fill
    const auto reply = one.read(20s);
    ASSERT_TRUE(reply) << one.error();
    EXPECT_EQ(reply->body.size(), 20'000'000u);
    EXPECT_EQ(one.get("/echo")->status, 200);
}

TEST_F(WireTest, http10_and_connection_close) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("GET /echo HTTP/1.0\r\n\r\n"));
    EXPECT_EQ(one.read()->header("Connection"), "close");
    EXPECT_TRUE(one.closed());
    ASSERT_TRUE(one.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    EXPECT_EQ(one.read()->header("Connection"), "keep-alive");
    ASSERT_TRUE(one.send("GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    EXPECT_EQ(one.read()->header("Connection"), "close");
    EXPECT_TRUE(one.closed());
}

TEST_F(WireTest, B057_expect_continue_reads_the_body_or_refuses_before_it) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
    EXPECT_EQ(one.read()->status, 100);
    ASSERT_TRUE(one.send("abc"));
    EXPECT_EQ(one.read()->body, "POST /echo [abc]");

    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\nExpect: 100-continue\r\n\r\n"));
    EXPECT_EQ(one.read()->status, 413);  // no 100 first, and never half read
    EXPECT_TRUE(one.closed());

    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"));
    EXPECT_EQ(one.read()->status, 200);  // the body came along: nobody waits for a 100
}

TEST_F(WireTest, B058_unknown_expectation_is_417) {
    start();
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: magic\r\n\r\n"), 417);
    EXPECT_EQ(site->served, 0);
}

TEST_F(WireTest, B048_declared_body_over_the_limit_is_413_before_it_is_read) {
    start();
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"), 413);
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x')),
              200);
    EXPECT_EQ(site->served, 1);
}

TEST_F(WireTest, B049_chunked_body_over_the_limit_is_413_while_it_is_read) {
    start();
    std::string request = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 11; ++i) request += "64\r\n" + std::string(100, 'x') + "\r\n";
    EXPECT_EQ(status_of(request), 413);
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\nxxx"), 413);
    EXPECT_EQ(site->served, 0);
}

TEST_F(WireTest, B049_the_refusal_reaches_a_client_that_goes_on_sending) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"));
    for (int i = 0; i < 10 && one.connected(); ++i) one.send(std::string(100'000, 'x'));
    const auto reply = one.read();
    ASSERT_TRUE(reply) << one.error();
    EXPECT_EQ(reply->status, 413);
}

TEST_F(WireTest, B050_half_a_body_executes_nothing) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"));
    one.half_close();
    EXPECT_FALSE(one.read());
    ASSERT_TRUE(one.connect());
    ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
    one.half_close();
    EXPECT_FALSE(one.read());
    EXPECT_EQ(site->served, 0);
}

TEST_F(WireTest, B051_B098_slow_heads_and_bodies_are_408) {
    auto options = quick();
    options.read_timeout = 150ms;
    start(options);
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nX"), 408);
    EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"), 408);
    EXPECT_EQ(site->served, 0);

    auto one = client();  // a byte now and then doesn't buy more time
    ASSERT_TRUE(one.connect());
    std::string dripping = "GET /echo HTTP/1.1\r\nX: ";
    const auto until = std::chrono::steady_clock::now() + 10s;
    ASSERT_TRUE(one.send(dripping));
    std::optional<test::HttpReply> reply;
    while (!reply && std::chrono::steady_clock::now() < until) {
        one.send("x");
        reply = one.read(20ms);
    }
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 408);
}

TEST_F(WireTest, idle_connections_are_closed_without_a_word) {
    auto options = quick();
    options.idle_timeout = 100ms;
    start(options);
    auto one = client();
    ASSERT_EQ(one.get("/echo")->status, 200);
    EXPECT_FALSE(one.read());
    EXPECT_TRUE(one.closed());
    ASSERT_TRUE(one.connect());
    EXPECT_TRUE(one.closed());  // never said anything
}

TEST_F(WireTest, B098_who_never_reads_is_left) {
    auto options = quick();
    options.write_timeout = 100ms;
    start(options);
    auto one = client();
    ASSERT_TRUE(one.send("GET /echo HTTP/1.1\r\nHost: a\r\nX-Size: 50000000\r\n\r\n"));
    ASSERT_TRUE(eventually([&] { return site->served == 1; }));
    std::this_thread::sleep_for(500ms);  // the time-out of a write, many times over
    EXPECT_FALSE(one.read(10s));         // cut off
}

TEST_F(WireTest, a_waiting_request_has_no_timeout_of_the_wire) {
    auto options = quick();
    options.read_timeout = options.idle_timeout = options.write_timeout = 50ms;
    start(options);
    auto one = client();
    ASSERT_TRUE(one.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(site->wait_for_slow(1));
    std::this_thread::sleep_for(300ms);
    site->let_go();
    const auto reply = one.read();
    ASSERT_TRUE(reply) << one.error();
    EXPECT_EQ(reply->status, 200);
}

TEST_F(WireTest, B062_hanging_up_is_noticed_while_the_request_is_in_hand) {
    start();
    auto one = client();
    auto other = client();
    auto third = client();
    for (auto* each : {&one, &other, &third}) ASSERT_TRUE(each->send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(site->wait_for_slow(3));
    one.close();
    EXPECT_TRUE(eventually([&] { return site->left == 1; }));
    other.reset();
    EXPECT_TRUE(eventually([&] { return site->left == 2; }));
    third.half_close();  // may still read: it gets its answer
    EXPECT_TRUE(eventually([&] { return site->left == 3; }));
    site->let_go();
    EXPECT_EQ(third.read()->status, 200);
    EXPECT_EQ(client().get("/echo")->status, 200);
}

TEST_F(WireTest, B061_an_answer_for_a_client_that_left_harms_nobody) {
    start();
    for (int i = 0; i < 20; ++i) {
        auto one = client();
        ASSERT_TRUE(one.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
        ASSERT_TRUE(site->wait_for_slow(1));
        one.reset();
        site->let_go();
    }
    EXPECT_EQ(client().get("/echo")->status, 200);
}

TEST_F(WireTest, refusal_of_the_site_keeps_the_connection_if_the_request_was_whole) {
    start();
    auto one = client();
    EXPECT_EQ(one.get("/none")->status, 404);
    EXPECT_TRUE(one.connected());
    ASSERT_TRUE(one.send("POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"));
    EXPECT_EQ(one.read()->status, 404);  // and the body is never waited for
    EXPECT_TRUE(one.closed());
}

TEST_F(WireTest, too_many_connections_are_turned_away_with_503) {
    auto options = quick();
    options.max_connections = 2;
    start(options);
    auto one = client();
    auto two = client();
    ASSERT_EQ(one.get("/echo")->status, 200);
    ASSERT_EQ(two.get("/echo")->status, 200);
    auto three = client();
    ASSERT_TRUE(three.connect());
    const auto reply = three.read();
    ASSERT_TRUE(reply) << three.error();
    EXPECT_EQ(reply->status, 503);
    three.close();
    one.close();
    EXPECT_TRUE(eventually([&] {
        auto four = client();
        const auto served = four.get("/echo");
        return served && served->status == 200;
    }));
}

TEST_F(WireTest, stop_lets_busy_connections_end_and_closes_idle_ones) {
    start();
    auto idle = client();
    auto busy = client();
    ASSERT_EQ(idle.get("/echo")->status, 200);
    ASSERT_TRUE(busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(site->wait_for_slow(1));
    std::thread stopping([this] { wire->stop(10s); });
    EXPECT_TRUE(idle.closed());
    site->let_go();
    const auto reply = busy.read();
    EXPECT_TRUE(reply && reply->status == 200 && reply->header("Connection") == "close");
    stopping.join();
    EXPECT_FALSE(client().connect());
}

TEST_F(WireTest, an_answer_after_the_end_of_the_server_goes_nowhere) {
    start();
    auto one = client();
    ASSERT_TRUE(one.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"));
    ASSERT_TRUE(site->wait_for_slow(1));
    wire->stop(0ms);
    wire.reset();
    EXPECT_TRUE(one.closed());
    site->let_go();
}

TEST_F(WireTest, addresses_that_cannot_be_had_are_errors) {
    for (const auto* listen : {"", "8080", "nowhere:80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "[::1:80"}) {
        WireOptions options;
        options.listen = listen;
        const auto started = Wire(site, options).start();
        ASSERT_FALSE(started) << listen;
        EXPECT_EQ(started.error().kind(), ErrorKind::misconfigured) << listen;
    }
    start();
    WireOptions taken;
    taken.listen = "127.0.0.1:" + std::to_string(wire->port());
    const auto started = Wire(site, taken).start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().kind(), ErrorKind::unavailable);
}

}  // namespace
}  // namespace nebis::http
