// SPDX-License-Identifier: Apache-2.0
#include "nebis/zookeeper.hpp"
#include "support/eventually.hpp"
#include "support/lock_calls.hpp"

#include <gtest/gtest.h>

#include <netdb.h>

#include <atomic>
#include <thread>

// In place of the C library's, for this program: a name server that doesn't answer.
namespace {
std::atomic<int> asked{0};
std::atomic<int> answered{0};
std::atomic<bool> released{false};
}  // namespace

extern "C" int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
    ++asked;
    while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++answered;
    return EAI_AGAIN;
}

namespace {

using namespace nebis;

TEST(ZookeeperNames, a_name_server_that_hangs_is_left_at_the_deadline_and_at_the_end) {
    zookeeper::Options options;
    options.addresses = {"zookeeper.example:2181"};
    options.connect_timeout = std::chrono::seconds(30);
    auto started = std::chrono::steady_clock::now();
    {
        const test::LockCalls lock(zookeeper::lock(options).value());
        const auto rest = lock.acquire("k", 1, std::chrono::seconds(60), std::chrono::milliseconds(300));
        EXPECT_EQ(test::said(rest), "unavailable zookeeper-connect");
        EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(8));
        EXPECT_GT(asked, 0) << "else this test proves nothing";
        started = std::chrono::steady_clock::now();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(25)) << "the end doesn't wait either";
    EXPECT_EQ(answered, 0);
    released = true;
    EXPECT_TRUE(test::eventually([] { return answered == asked; }));
}

}  // namespace
