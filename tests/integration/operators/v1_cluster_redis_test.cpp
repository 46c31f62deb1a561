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

TEST(V1Cluster, S40_keys_with_braces_find_their_master_and_version_1_s_lock) {
    using namespace nebis;
    Server cluster("redis-cluster", true);
    const TemporaryFolder folder;
    const std::string first = cluster.members().front();
    // A hash tag by Redis' rule, and what looks like one.
    const auto key_of = [](int i) {
        constexpr const char* shapes[] = {"pay-", "pay{a}{b}-", "pay{}{c}-", "pay}{d-", "{{e}}-"};
        return shapes[i % 5] + std::to_string(i);
    };
    {
        std::ofstream commands(folder.file("commands"));
        for (int i = 0; i < 40; i += 2) commands << "SET idempotent:" << key_of(i) << " request-1 PX 600000\n";
    }
    const std::string cli = "redis-cli -c -p " + std::to_string(cluster.port(first)) + " < " + folder.file("commands") +
                            " > " + folder.file("replies");
    ASSERT_EQ(std::system(cli.c_str()), 0);
    redis::Options options;
    options.addresses = {cluster.address(first)};
    options.topology = redis::Topology::cluster;
    options.connect_timeout = std::chrono::seconds(5);
    options.v1_compat = true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto session = redis::gate(options).value()->open(deadline).value();
    for (int i = 0; i < 40; ++i) {
        const std::string key = key_of(i);
        const EnterRequest enter{key, Owner(), RequestHash(), 60'000, key};
        Result<EnterOutcome> out = Error(ErrorKind::internal, "not set");
        session->enter({&enter, 1}, {&out, 1}, deadline);
        ASSERT_TRUE(out) << key << ": " << out.error().text();
        EXPECT_EQ(out->kind, i % 2 == 0 ? EnterOutcome::Kind::held : EnterOutcome::Kind::granted) << key;
        EXPECT_EQ(out->remaining_millis > 60'000, i % 2 == 0) << key;
        const LeaveRequest leave{key, Owner(), nullptr, 0, key};
        Result<bool> left = false;
        session->leave({&leave, 1}, {&left, 1}, deadline);
        EXPECT_EQ(left.value(), i % 2 != 0) << key;
    }
}

}  // namespace
