// SPDX-License-Identifier: Apache-2.0
#include "support/eventually.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

// Users of the scheme digest.
namespace {

using namespace nebis;
using nebis::test::eventually;
using nebis::test::said;
using nebis::test::ZookeeperClient;
using nebis::test::ZookeeperServer;

class ZookeeperUsers : public testing::Test {
protected:
    zookeeper::Options as(std::string user, std::string word) const {
        auto options = server.options();
        options.credentials = {std::move(user), std::move(word), {}};
        return options;
    }
    std::string refusal(const zookeeper::Options& options) const {
        return said(ZookeeperServer::lock(options).acquire("r", 1));
    }

    ZookeeperServer server;
};

TEST_F(ZookeeperUsers, nodes_of_a_user_are_nobody_else_s) {
    const auto lock = ZookeeperServer::lock(as("shop", "word"));
    ASSERT_EQ(said(lock.acquire("k", 1)), "granted");
    EXPECT_TRUE(*lock.renew("k", 1));
    EXPECT_FALSE(ZookeeperClient(server.address(), "shop:word").is_open_to_all("/idempotent:lock"));
    EXPECT_EQ(refusal(as("shop", "wrong")), "misconfigured zookeeper-right");
    EXPECT_EQ(refusal(as("other", "word")), "misconfigured zookeeper-right");
    EXPECT_EQ(refusal(as("", "")), "misconfigured zookeeper-right");
    EXPECT_EQ(refusal(as("shop", "word")), "granted");
    EXPECT_EQ(said(lock.acquire("k", 2)), "held");
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST_F(ZookeeperUsers, without_one_the_nodes_are_everybody_s) {
    ASSERT_EQ(refusal(as("", "")), "granted");
    EXPECT_TRUE(ZookeeperClient(server.address()).is_open_to_all("/idempotent:lock"));
    EXPECT_EQ(refusal(as("shop", "word")), "granted");
}

TEST_F(ZookeeperUsers, the_log_in_is_said_again_on_each_connection) {
    const auto lock = ZookeeperServer::lock(as("shop", "word"));
    ASSERT_EQ(said(lock.acquire("k", 1)), "granted");
    server.stop();
    server.start();
    EXPECT_TRUE(eventually([&] {
        const auto renewed = lock.renew("k", 1);
        return renewed && *renewed;
    }));
    EXPECT_TRUE(*lock.release("k", 1));
}

TEST_F(ZookeeperUsers, a_password_file_is_read_for_each_session_and_only_when_it_is_private) {
    std::string folder = "/tmp/nebis-zookeeper-word-XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder.data()));
    const std::string file = folder + "/password";
    const auto write = [&](const char* word, mode_t mode) {
        std::ofstream(file) << word << "\n";
        ::chmod(file.c_str(), mode);
    };
    auto options = as("shop", "");
    options.credentials.password_file = file;
    options.connect_timeout = std::chrono::seconds(1);
    write("word", 0644);
    const auto lock = ZookeeperServer::lock(options);
    EXPECT_EQ(said(lock.acquire("k", 1)), "misconfigured zookeeper-password-file");
    write("word", 0600);
    EXPECT_TRUE(eventually([&] { return lock.acquired("k", 1); })) << "mended without a restart";
    EXPECT_EQ(refusal(as("shop", "word")), "granted") << "it was the password of the file";
    std::system(("rm -r " + folder).c_str());
}

}  // namespace
