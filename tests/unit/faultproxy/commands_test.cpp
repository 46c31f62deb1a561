// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/commands.hpp"

#include "echo_server.hpp"

#include <gtest/gtest.h>

namespace {

using namespace nebis::faultproxy;

TEST(FaultProxyCommands, each_line_has_its_answer_and_its_effect) {
    const nebis::test::EchoServer server;
    FaultProxy proxy(server.port());
    for (const char* line :
         {"delay to-client 20", "slice to-client 3", "throttle to-client 1000", "drop to-server on", "black-hole on",
          "black-hole off", "lose-next keep", "lose 2 reset SELECT 1; COMMIT", "cut", "reset", "wait lost 0"})
        EXPECT_EQ(obey(proxy, line), "ok") << line;
    const Faults to_client = proxy.faults(Way::to_client);
    EXPECT_EQ(to_client.delay.count(), 20);
    EXPECT_EQ(to_client.slice, 3U);
    EXPECT_EQ(to_client.bytes_per_second, 1000U);
    EXPECT_TRUE(proxy.faults(Way::to_server).drop);
    EXPECT_EQ(obey(proxy, "heal"), "ok");
    EXPECT_FALSE(proxy.faults(Way::to_server).drop);
    EXPECT_EQ(obey(proxy, "counts"), "connections 0 open 0 requests 0 lost 0 swallowed-bytes 0");
}

TEST(FaultProxyCommands, what_is_not_understood_changes_nothing) {
    const nebis::test::EchoServer server;
    FaultProxy proxy(server.port());
    for (const char* line : {"",
                             " ",
                             "dance",
                             "delay",
                             "delay to-client",
                             "delay to-client x",
                             "delay to-client -1",
                             "delay to-client 60001",
                             "delay sideways 1",
                             "delay to-client 1 2",
                             "delay to-client 99999999999999999999",
                             "drop to-client maybe",
                             "drop to-client on x",
                             "lose",
                             "lose 1 cut",
                             "lose 0 cut x",
                             "lose x cut y",
                             "lose 1 hang y",
                             "lose-next",
                             "lose-next cut x",
                             "black-hole",
                             "black-hole on x",
                             "cut x",
                             "wait lost",
                             "wait luck 1"})
        EXPECT_TRUE(obey(proxy, line).starts_with("error: ")) << line << " → " << obey(proxy, line);
    EXPECT_FALSE(proxy.faults(Way::to_client).drop);
    EXPECT_EQ(proxy.faults(Way::to_client).delay.count(), 0);
}

}  // namespace
