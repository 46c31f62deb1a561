// SPDX-License-Identifier: Apache-2.0
#include "echo_server.hpp"
#include "faultproxy/fault_proxy.hpp"
#include "support/tcp_client.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace {

using namespace nebis::faultproxy;
using nebis::test::EchoServer;
using nebis::test::TcpClient;
using std::chrono::milliseconds;
using std::chrono::seconds;
using End = TcpClient::End;
using Clock = std::chrono::steady_clock;

/// Long enough that something which isn't to come would have come.
constexpr milliseconds moment{150};

class FaultProxies : public testing::Test {
protected:
    std::string ask(TcpClient& to, const std::string& text) const {
        to.send(text);
        return to.receive(text.size());
    }
    static bool eventually(const std::function<bool()>& holds) {
        const auto until = Clock::now() + seconds(20);
        while (!holds()) {
            if (Clock::now() >= until) return false;
            std::this_thread::sleep_for(milliseconds(5));
        }
        return true;
    }

    EchoServer server;
    FaultProxy proxy{server.port()};
    TcpClient client{proxy.port()};
};

TEST_F(FaultProxies, without_a_fault_everything_passes_and_is_counted) {
    EXPECT_EQ(proxy.address(), "127.0.0.1:" + std::to_string(proxy.port()));
    EXPECT_EQ(ask(client, "one"), "one");
    EXPECT_EQ(ask(client, "two"), "two");
    TcpClient other(proxy.port());
    EXPECT_EQ(ask(other, "three"), "three");
    const Counts counts = proxy.counts();
    EXPECT_EQ(counts.connections, 2U);
    EXPECT_EQ(counts.open, 2U);
    EXPECT_EQ(counts.requests, 3U);
    EXPECT_EQ(counts.lost_replies + counts.swallowed_bytes, 0U);
}

TEST_F(FaultProxies, large_streams_pass_unchanged_and_an_end_of_one_way_leaves_the_other) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += std::to_string(i);
    std::string back;
    std::thread reader([&] { back = client.receive(text.size()); });
    client.send(text);
    client.end_sending();
    reader.join();
    EXPECT_TRUE(back == text);
    EXPECT_EQ(client.end(), End::orderly);
    EXPECT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.open == 0; }));
}

TEST_F(FaultProxies, delay_of_a_live_connection_each_way_and_healed_what_is_held_goes_at_once) {
    ASSERT_EQ(ask(client, "a"), "a");
    for (const Way way : {Way::to_server, Way::to_client}) {
        Faults late;
        late.delay = milliseconds(200);
        proxy.set(way, late);
        const auto started = Clock::now();
        EXPECT_EQ(ask(client, "b"), "b");
        EXPECT_GE(Clock::now() - started, milliseconds(200));
        late.delay = milliseconds(60'000);
        proxy.set(way, late);
        client.send("c");
        EXPECT_EQ(client.receive(1, moment), "");
        proxy.heal();
        EXPECT_EQ(client.receive(1), "c");
    }
}

TEST_F(FaultProxies, drop_to_the_server_swallows_from_now_on) {
    ASSERT_EQ(ask(client, "a"), "a");
    Faults dropping;
    dropping.drop = true;
    proxy.set(Way::to_server, dropping);
    client.send("lost");
    EXPECT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.swallowed_bytes == 4; }));
    proxy.heal();
    EXPECT_EQ(ask(client, "b"), "b");
    EXPECT_EQ(server.heard(), "ab");
}

TEST_F(FaultProxies, drop_to_the_client_swallows_the_answers_alone) {
    Faults dropping;
    dropping.drop = true;
    proxy.set(Way::to_client, dropping);
    client.send("lost");
    EXPECT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.swallowed_bytes == 4; }));
    EXPECT_EQ(server.heard(), "lost");
    proxy.heal();
    EXPECT_EQ(ask(client, "b"), "b");
}

TEST_F(FaultProxies, the_next_reply_is_lost_and_the_connection_kept) {
    ASSERT_EQ(ask(client, "a"), "a");
    proxy.lose_next_reply(After::keep);
    client.send("lost");
    EXPECT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.lost_replies == 1; }));
    EXPECT_EQ(server.heard(), "alost");
    EXPECT_EQ(ask(client, "b"), "b") << "and only that one";
    EXPECT_EQ(proxy.counts().swallowed_bytes, 4U);
}

TEST_F(FaultProxies, the_nth_reply_to_a_marker_is_lost_and_the_connection_cut) {
    proxy.lose_reply_to("COMMIT", After::cut, 2);
    EXPECT_EQ(ask(client, "COMMIT COMMIT"), "COMMIT COMMIT") << "one request counts once";
    EXPECT_EQ(ask(client, "other"), "other");
    EXPECT_EQ(ask(client, "x COM"), "x COM");
    EXPECT_EQ(ask(client, "MIT"), "MIT") << "two requests hold no marker together";
    client.send("COMMIT");
    EXPECT_EQ(client.receive(1), "");
    EXPECT_EQ(client.end(), End::orderly);
    EXPECT_EQ(proxy.counts().lost_replies, 1U);
    EXPECT_TRUE(server.heard().ends_with("MITCOMMIT")) << "the request reached the server";
    TcpClient next(proxy.port());
    EXPECT_EQ(ask(next, "COMMIT"), "COMMIT");
}

TEST_F(FaultProxies, cut_is_orderly_on_both_sides) {
    ASSERT_EQ(ask(client, "a"), "a");
    proxy.cut();
    EXPECT_EQ(client.end(), End::orderly);
    EXPECT_TRUE(eventually([&] { return server.ends(true) == 1; }));
    EXPECT_EQ(server.ends(false), 0);
    EXPECT_EQ(proxy.counts().open, 0U);
    TcpClient next(proxy.port());
    EXPECT_EQ(ask(next, "b"), "b");
}

TEST_F(FaultProxies, reset_is_RST_on_both_sides) {
    ASSERT_EQ(ask(client, "a"), "a");
    proxy.reset();
    EXPECT_EQ(client.end(), End::reset);
    EXPECT_TRUE(eventually([&] { return server.ends(false) == 1; }));
    EXPECT_EQ(server.ends(true), 0);
    EXPECT_EQ(proxy.counts().open, 0U);
}

TEST_F(FaultProxies, slices_arrive_as_pieces_and_whole) {
    Faults sliced;
    sliced.slice = 3;
    proxy.set(Way::to_client, sliced);
    std::string text = "a reply of more than a hundred bytes, ";
    while (text.size() < 120) text += "and more, ";
    EXPECT_EQ(ask(client, text), text);
    EXPECT_GE(client.reads(), 3) << "a busy machine may join some of the forty pieces, not all";
}

TEST_F(FaultProxies, a_black_hole_takes_connections_and_moves_nothing_until_it_is_gone) {
    ASSERT_EQ(ask(client, "a"), "a");
    proxy.black_hole(true);
    client.send("b");
    TcpClient other(proxy.port());
    other.send("c");
    ASSERT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.connections == 2; }));
    EXPECT_EQ(client.receive(1, moment), "");
    EXPECT_EQ(other.receive(1, moment), "");
    EXPECT_EQ(server.heard(), "a");
    proxy.black_hole(false);
    EXPECT_EQ(client.receive(1), "b");
    EXPECT_EQ(other.receive(1), "c");
}

TEST_F(FaultProxies, throttle_takes_its_time_and_heals_at_once) {
    Faults slow;
    slow.bytes_per_second = 1'000;
    proxy.set(Way::to_client, slow);
    const auto started = Clock::now();
    const std::string text(400, 'x');
    EXPECT_EQ(ask(client, text), text);
    EXPECT_GE(Clock::now() - started, milliseconds(300)) << "the first and the last piece don't wait";
    slow.bytes_per_second = 1;
    proxy.set(Way::to_client, slow);
    client.send(text);
    EXPECT_LT(client.receive(400, moment).size(), 20U);
    proxy.heal();
    EXPECT_GE(client.receive(380).size(), 380U);
}

TEST_F(FaultProxies, who_is_not_read_from_must_wait) {
    ASSERT_EQ(ask(client, "a"), "a");
    proxy.black_hole(true);
    constexpr std::size_t most = 256U << 20U;
    EXPECT_LT(client.send_until_full(most), most / 2) << "the system's buffers are full, the proxy has none";
}

TEST_F(FaultProxies, a_server_that_is_gone_is_a_reset) {
    auto gone = std::make_unique<EchoServer>();
    FaultProxy to_nobody(gone->port());
    gone.reset();
    TcpClient lonely(to_nobody.port());
    EXPECT_EQ(lonely.end(), End::reset);
}

TEST_F(FaultProxies, values_out_of_their_limits_are_refused) {
    Faults faults;
    faults.delay = milliseconds(60'001);
    EXPECT_THROW(proxy.set(Way::to_client, faults), std::invalid_argument);
    faults.delay = milliseconds(-1);
    EXPECT_THROW(proxy.set(Way::to_client, faults), std::invalid_argument);
    EXPECT_THROW(proxy.lose_reply_to("", After::cut), std::invalid_argument);
    EXPECT_THROW(proxy.lose_reply_to(std::string(257, 'x'), After::cut), std::invalid_argument);
    EXPECT_THROW(proxy.lose_reply_to("x", After::cut, 0), std::invalid_argument);
    for (int i = 0; i < 64; ++i) proxy.lose_reply_to("x", After::cut);
    EXPECT_THROW(proxy.lose_next_reply(After::cut), std::invalid_argument);
    EXPECT_THROW(FaultProxy(server.port(), "127.0.0.1", proxy.port()), std::system_error) << "that port is taken";
}

TEST_F(FaultProxies, an_end_that_is_in_the_way_of_nothing_leaves_no_thread_and_no_descriptor) {
    const auto entries = [](const char* folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    };
    ASSERT_EQ(ask(client, "a"), "a");
    const auto threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    for (int i = 0; i < 5; ++i) {
        FaultProxy doomed(server.port());
        Faults late;
        late.delay = milliseconds(60'000);
        doomed.set(Way::to_client, late);
        TcpClient waiting(doomed.port()), other(doomed.port());
        waiting.send("b");
        ASSERT_TRUE(doomed.wait_until([](const Counts& counts) { return counts.requests == 1; }));
        if (i % 2 == 0) doomed.black_hole(true);
    }
    EXPECT_TRUE(eventually([&] { return entries("/proc/self/task") <= threads && entries("/proc/self/fd") <= files; }));
}

}  // namespace
