// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/fault_proxy.hpp"
#include "support/servers.hpp"
#include "support/tcp_client.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace nebis::faultproxy;
using nebis::test::Server;
using nebis::test::TcpClient;

std::string ask(TcpClient& client, const std::string& command, std::size_t size) {
    client.send(command + "\r\n");
    return client.receive(size);
}

TEST(FaultProxyRedis, the_reply_of_one_SET_is_lost_though_it_was_applied) {
    const Server& server = Server::shared("redis");
    TcpClient direct(server.port());
    ASSERT_EQ(ask(direct, "DEL lost", 4).front(), ':');
    FaultProxy proxy(server.port(), Server::host());
    TcpClient client(proxy.port());
    ASSERT_EQ(ask(client, "PING", 7), "+PONG\r\n");
    proxy.lose_reply_to("SET lost", After::cut);
    ASSERT_EQ(ask(client, "PING", 7), "+PONG\r\n") << "other requests are left alone";
    client.send("SET lost yes\r\n");
    EXPECT_EQ(client.receive(5), "");
    EXPECT_EQ(client.end(), TcpClient::End::orderly);
    EXPECT_EQ(proxy.counts().lost_replies, 1U);
    EXPECT_EQ(ask(direct, "GET lost", 9), "$3\r\nyes\r\n") << "it was applied";
    TcpClient next(proxy.port());
    EXPECT_EQ(ask(next, "SET lost again", 5), "+OK\r\n") << "only one reply is lost";
}

TEST(FaultProxyRedis, the_reply_of_one_EVALSHA_is_lost_though_it_was_applied_and_the_connection_kept) {
    const Server& server = Server::shared("redis");
    FaultProxy proxy(server.port(), Server::host());
    TcpClient client(proxy.port()), direct(server.port());
    ASSERT_EQ(ask(direct, "DEL counted", 4).front(), ':');
    const std::string sha = ask(client, "SCRIPT LOAD \"return redis.call('INCR', KEYS[1])\"", 47).substr(5, 40);
    ASSERT_EQ(sha.size(), 40U);
    ASSERT_EQ(ask(client, "EVALSHA " + sha + " 1 counted", 4), ":1\r\n");
    proxy.lose_reply_to(sha, After::keep);
    client.send("EVALSHA " + sha + " 1 counted\r\n");
    ASSERT_TRUE(proxy.wait_until([](const Counts& counts) { return counts.lost_replies == 1; }));
    EXPECT_EQ(ask(direct, "GET counted", 7), "$1\r\n2\r\n") << "it was applied";
    EXPECT_EQ(ask(client, "EVALSHA " + sha + " 1 counted", 4), ":3\r\n") << "the next one gets its own reply";
}

}  // namespace
