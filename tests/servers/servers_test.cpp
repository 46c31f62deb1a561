// SPDX-License-Identifier: Apache-2.0
#include "support/servers.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace {

using nebis::test::Server;
using nebis::test::ServerError;

bool accepts(const Server& server, const std::string& member = {}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port(member));
    ::inet_pton(AF_INET, Server::host(), &address.sin_addr);
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

INSTANTIATE_TEST_SUITE_P(kinds, Servers, testing::Values("redis", "postgres", "mariadb"));

TEST(Server, end_with_their_object) {
    pid_t pid = -1;
    {
        const Server server("redis", true);
        pid = server.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Server, members_of_a_group_die_and_start_alone) {
    Server sentinel("redis-sentinel", true);
    ASSERT_EQ(sentinel.members().size(), 5U);
    sentinel.kill("redis-sentinel-2");
    EXPECT_FALSE(accepts(sentinel, "redis-sentinel-2"));
    EXPECT_TRUE(accepts(sentinel, "redis-sentinel-primary"));
    sentinel.start("redis-sentinel-2");
    EXPECT_TRUE(accepts(sentinel, "redis-sentinel-2"));
    EXPECT_THROW(sentinel.kill("redis-sentinel-9"), ServerError);
}

TEST(Server, a_cluster_has_six_members) {
    const Server cluster("redis-cluster", true);
    EXPECT_EQ(cluster.members().size(), 6U);
    for (const auto& member : cluster.members()) EXPECT_TRUE(accepts(cluster, member)) << member;
}

TEST(Server, a_replicated_postgres_has_a_primary_and_a_replica) {
    Server group("postgres-replicated", true);
    ASSERT_EQ(group.members().size(), 2U);
    group.kill("postgres-replicated-primary");
    EXPECT_FALSE(accepts(group, "postgres-replicated-primary"));
    EXPECT_TRUE(accepts(group, "postgres-replicated-replica"));
}

TEST(Server, an_impossible_one_is_a_clear_error) {
    EXPECT_THROW(Server("no-such-kind"), ServerError);
    Server& redis = Server::shared("redis");
    EXPECT_THROW(redis.start(), ServerError) << "it runs already";
}

}  // namespace
