// SPDX-License-Identifier: Apache-2.0
#include "support/servers.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

namespace {

using nebis::test::Server;
using nebis::test::ServerError;

bool accepts(const Server& server) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    ::inet_pton(AF_INET, server.host().c_str(), &address.sin_addr);
    const bool connected = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return connected;
}

class Servers : public testing::TestWithParam<const char*> {};

TEST_P(Servers, restart_on_the_same_port_after_a_kill_and_after_a_stop) {
    Server& server = Server::shared(GetParam());
    const auto port = server.port();
    const auto first = server.pid();
    EXPECT_TRUE(accepts(server));
    server.kill();
    EXPECT_FALSE(accepts(server));
    server.start();
    EXPECT_TRUE(accepts(server));
    EXPECT_EQ(server.port(), port);
    EXPECT_NE(server.pid(), first);
    server.pause();
    server.resume();
    server.stop();
    EXPECT_FALSE(accepts(server));
    server.start();
    EXPECT_TRUE(accepts(server));
}

INSTANTIATE_TEST_SUITE_P(kinds, Servers, testing::Values("redis", "postgres"));

TEST(Server, end_with_their_object) {
    pid_t pid = -1;
    {
        const Server server("redis", true);
        pid = server.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Server, an_impossible_one_is_a_clear_error) {
    EXPECT_THROW(Server("no-such-kind"), ServerError);
    Server& redis = Server::shared("redis");
    EXPECT_THROW(redis.start(), ServerError) << "it runs already";
}

}  // namespace
