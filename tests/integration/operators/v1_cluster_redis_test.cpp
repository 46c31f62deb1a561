// SPDX-License-Identifier: Apache-2.0
#include "nebis/redis_v1.hpp"
#include "program.hpp"
#include "support/servers.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

// Version 1's locks have no hash tag: in a Cluster they lie on every master.
namespace {

using namespace nebis::test;

TEST(V1Cluster, S40_every_master_is_asked) {
    Server cluster("redis-cluster", true);
    const TemporaryFolder folder;
    const std::string first = cluster.members().front();
    {
        std::ofstream commands(folder.file("commands"));
        for (int i = 0; i < 60; ++i) commands << "SET idempotent:order-" << i << " r\n";
        for (int i = 0; i < 20; ++i) commands << "SET idempotent:lock:{" << i << "} ours\n";
    }
    const std::string cli = "redis-cli -c -p " + std::to_string(cluster.port(first)) + " < " + folder.file("commands") +
                            " > " + folder.file("replies");
    ASSERT_EQ(std::system(cli.c_str()), 0);
    std::ofstream(folder.file("nebis.yaml"))
        << "nebis:\n  idempotent:\n    datasources: {primary: {driver: memory}}\n    scope: public\n"
        << "    lock: {driver: redis, topology: cluster, address: \"" << cluster.address(first) << "\"}\n";
    const auto v1 = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "v1");
        arguments.insert(arguments.end(), {"--config", folder.file("nebis.yaml")});
        return Program(folder.path(), std::move(arguments)).wait();
    };
    const Ended scanned = v1({"scan"});
    EXPECT_EQ(scanned.out, "left behind: 60\nend by themselves: 0\nnot strings: 0\n") << scanned.err;
    EXPECT_EQ(v1({"clean", "--delete", "60"}).out, "deleted: 60\n");
    EXPECT_EQ(v1({"scan"}).out, "left behind: 0\nend by themselves: 0\nnot strings: 0\n");
}

}  // namespace
