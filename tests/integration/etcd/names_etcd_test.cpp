// SPDX-License-Identifier: Apache-2.0
#include "nebis/etcd.hpp"
#include "support/lock_calls.hpp"

#include <gtest/gtest.h>

#include <netdb.h>

#include <atomic>
#include <thread>

// In place of the C library's, for this program: a name server that doesn't answer.
namespace {
std::atomic<bool> asked{false};
std::atomic<bool> released{false};
}  // namespace

extern "C" int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
    asked = true;
    while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return EAI_AGAIN;
}

namespace {

using namespace nebis;

TEST(EtcdNames, a_name_server_that_hangs_is_left_at_the_deadline) {
    etcd::Options options;
    options.addresses = {"etcd.example:2379"};
    options.connect_timeout = std::chrono::seconds(30);
    {
        const test::LockCalls lock(etcd::lock(options).value());
        const auto started = std::chrono::steady_clock::now();
        const auto rest = lock.acquire("k", 1, std::chrono::seconds(60), std::chrono::milliseconds(300));
        EXPECT_EQ(test::said(rest), "unavailable etcd-timeout");
        EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
        EXPECT_TRUE(asked) << "else this test proves nothing";
    }
    released = true;
}

}  // namespace
